import { describe, expect, it } from "vitest";
import { newHono } from "../../../src/core/http/new-hono.ts";
import type { AdminContext, AdminEnv } from "../../../src/operators/admin/env.ts";
import { call, type Declaration, mount } from "../../../src/operators/http/call.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW } from "../../support/test-runtime.ts";

const READ = { method: "get", role: "owner", audit: [] } as const;
/** Signs everybody in as the root. */
const asRoot = async (c: AdminContext): Promise<undefined> => void c.set("ctx", contextAt(NOW));
const handler = (c: AdminContext) => c.text("done");

describe("an operators' call", () => {
  it.each([
    ["/sites/:site_id/apps", "deployment", "site"],
    ["/sites/:site_id/apps/:appid", "app", "site"],
    ["/apps/:appid", "deployment", "app"],
    ["/apps/:appid", "site", "app"],
    ["/homes/:name", "site", "deployment"],
    ["/sites", "app", "deployment"],
  ] as const)("a call cannot be declared with the path %s and the scope %s", (path, scope, subject) => {
    const declaration = { ...READ, path, scope } as Declaration & { scope: "app" };
    expect(() => call(declaration, handler)).toThrow(`get ${path} is about the ${subject}, and says ${scope}`);
  });

  it("the handler of a call about no site gets no site", async () => {
    const routes = newHono<AdminEnv>();
    const echo = call({ ...READ, path: "/seen", scope: "deployment" }, (c: AdminContext, site) => c.text(String(site)));
    mount(routes, [echo], asRoot);
    expect(await (await routes.request("/seen")).text()).toBe("undefined");
  });

  it("each path of the admin API requires a sign-in unless its call is open to anyone", async () => {
    const routes = newHono<AdminEnv>();
    const calls = [
      call({ ...READ, path: "/open", role: "anyone", scope: "deployment" }, handler),
      call({ ...READ, path: "/kept", scope: "deployment" }, handler),
    ];
    mount(routes, calls, async (c) => (c.req.header("authorization") === "ours" ? asRoot(c) : c.text("shut", 401)));
    const statusOf = async (path: string, authorization = "") =>
      (await routes.request(path, { headers: { authorization } })).status;
    expect(await Promise.all(["/open", "/kept", "/nothing"].map((path) => statusOf(path)))).toEqual([200, 401, 401]);
    expect(await Promise.all(["/open", "/kept", "/nothing"].map((path) => statusOf(path, "ours")))).toEqual([
      200, 200, 404,
    ]);
  });
});
