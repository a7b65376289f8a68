import { afterEach, describe, expect, it, vi } from "vitest";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { ADMIN_CALLS } from "../../../src/operators/admin/calls.ts";
import { CONSOLE_CALLS } from "../../../src/operators/console/calls.ts";
import { problem, read } from "../../support/admin-calls.ts";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { ADMIN_TOKEN, World } from "../../support/world.ts";

afterEach(() => void vi.restoreAllMocks());

describe("a path that is no route", () => {
  it("a path with a slash at its end is no route, so each call has one address", async () => {
    const world = await World.create();
    const answer = await world.send("create_gd/" as "create_gd", world.createBody());
    expect([answer.status, answer.envelope.msg]).toEqual([404, "接口不存在"]);
    expect(await world.stored()).toMatchObject({ sessions: [], nonces: [] });
    const { status, body } = await read(await world.admin("POST", "/admin/sites/", { name: "Another" }));
    expect({ status, body }).toEqual(problem(404, "Not found"));
  });

  it("a path without a route is answered in the form of its surface", async () => {
    const world = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    const outside = await world.fetch(new Request("http://worker/nowhere"));
    expect([outside.status, await outside.json()]).toEqual([404, { code: -1, msg: "接口不存在", data: "" }]);
    const { status, body } = await read(await world.admin("GET", "/admin/nowhere"));
    expect({ status, body }).toEqual(problem(404, "Not found"));
    const page = await visitor.get("/console/nowhere");
    expect([page.status, await page.text()]).toEqual([404, expect.stringContaining("There is no such page")]);
  });
});

/** Parts of an address that can break a parser: control characters, another host and non-ASCII, and invalid UTF-8. */
const ODD = ["%0d%0aX%00", "%2f%2fevil.example%E4%B8%AD", "%FF%"];

/** The address of every route with an odd part for each parameter, and addresses outside all routes of each surface. */
function oddAddresses(world: World): { method: string; path: string; odd: string }[] {
  const below = (prefix: string) => (call: { method: string; path: string }) =>
    `${call.method.toUpperCase()} ${prefix}${call.path}`;
  const patterns = [
    ...OPERATIONS.map(({ path }) => `POST ${path}`),
    "GET /healthz",
    ...ADMIN_CALLS.map(below("/admin")),
    ...CONSOLE_CALLS.map(below("/console")),
  ];
  const names = ["next", "back", "draft", "cursor", "q", "done", "language"];
  const ofRoutes = patterns.flatMap((pattern) => {
    const [method = "", path = ""] = pattern.split(" ");
    return ODD.map((odd) => {
      const address = path
        .replace(/:site_id/, String(world.siteId))
        .replace(/:appid/, path.endsWith(":appid") ? odd : world.appid)
        .replace(/:\w+(\{[^}]*\})?/g, odd);
      return { method, path: `${address}?${names.map((name) => `${name}=${odd}`).join("&")}`, odd };
    });
  });
  const outside = ["", "/admin", "/console", "/console/sites", "/openapi/chat"].flatMap((prefix) =>
    ODD.flatMap((odd) => ["GET", "POST"].map((method) => ({ method, path: `${prefix}/${odd}/`, odd }))),
  );
  return [...ofRoutes, ...outside];
}

describe("an address of odd characters", () => {
  it.each(["%0d%0aX", "%0aSet-Cookie:x=y", "%E4%B8%AD", "%00", "%FF"])(
    "an odd address without a page is redirected to the same address without the slash: /console/%s/",
    async (odd) => {
      const world = await World.create();
      const visitor = await ConsoleVisitor.signedIn(world);
      const redirect = await visitor.get(`/console/${odd}/?a=%0d%0a`);
      expect([redirect.status, redirect.headers.get("location")]).toEqual([301, `/console/${odd}?a=%0d%0a`]);
      expect(redirect.headers.has("set-cookie")).toBe(false);
      expect((await visitor.get(`/console/${odd}`)).status).toBe(404);
    },
  );

  it("an address with many slashes is never redirected to another host", async () => {
    const world = await World.create();
    const visitor = new ConsoleVisitor(world);
    for (const path of ["/console//evil.example/", "/console///", `/console/${"/".repeat(10_000)}x/`]) {
      const location = (await visitor.get(path)).headers.get("location") ?? "";
      expect(new URL(location, "https://worker").host).toBe("worker");
    }
  });

  it("an odd address is a fault of the service on no surface and by no method, signed in or not", async () => {
    const world = await World.create();
    const errorSpy = vi.spyOn(console, "error").mockImplementation(() => {});
    const cookies = (await ConsoleVisitor.signedIn(world)).cookies;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const own = { origin: "https://worker", "content-type": "application/x-www-form-urlencoded" };
    const token = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };
    const broken: string[] = [];
    // A sign-out ends the session that the other pages need.
    const endsIt = ({ path }: { path: string }) => Number(path.includes("/sign-out"));
    const addresses = oddAddresses(world).toSorted((a, b) => endsIt(a) - endsIt(b));
    expect(addresses.length).toBeGreaterThan(250);
    const signedOut = { ...own, cookie: "__Host-zone=%0d; __Host-language=%0d" };
    for (const { method, path, odd } of addresses) {
      // Without a sign-in no route reads its parameters, so one odd part for each route is enough.
      const visitors = odd === ODD[0] ? [{ ...own, cookie }, signedOut] : [{ ...own, cookie }];
      const surfaces = path.startsWith("/admin") ? [token] : visitors;
      for (const headers of surfaces) {
        const body =
          method === "GET" || method === "DELETE"
            ? null
            : path.startsWith("/console")
              ? "next=%0d%0a&kept=%0d%0a&back=%0d%0a&language=%0d%0a"
              : "{}";
        const { status } = await world.fetch(
          new Request(`https://worker${path}`, { method, headers, body, redirect: "manual" }),
        );
        if (status >= 500) broken.push(`${status} ${method} ${path}`);
      }
    }
    expect(broken).toEqual([]);
    expect(errorSpy).not.toHaveBeenCalled();
  });
});
