import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { CONSOLE_CALLS } from "../../../src/operators/console/calls.ts";
import type { Declaration } from "../../../src/operators/http/call.ts";
import { pathOf as adminPathOf, prepared } from "../../support/admin-calls.ts";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { signedInPerson } from "../../support/new-person.ts";
import { tablesOf } from "../../support/read-store.ts";
import { World } from "../../support/world.ts";

const ROLES = ["viewer", "operator"] as const;

const OTHERS = { session: "0".repeat(16), erasure_id: "none" };

const titleOf = ({ method, path }: Declaration) => `${method.toUpperCase()} ${path}`;

const pathOf = (call: Declaration, world: World, parameters: Record<string, string> = {}) =>
  adminPathOf(call, world, { ...OTHERS, ...parameters })
    .replace("/admin", "/console")
    .replace(/\/$/, "");

const send = async (visitor: ConsoleVisitor, { method }: Declaration, path: string, form: string) => {
  const answer = method === "get" ? await visitor.get(path) : await visitor.post(path, { form });
  return { status: answer.status, text: await answer.text() };
};

/** Two sites in one home, each with everything that a site has, and a person who sees the first one alone. */
async function start(role: (typeof ROLES)[number], home = "main") {
  const ownWorld = await prepared(await World.create({}, home));
  const other = await prepared(await World.create({}, home));
  const hidden = { site: `Hidden site ${other.siteId}`, app: `Hidden app ${other.siteId}` };
  await other.admin("PATCH", `/admin/sites/${other.siteId}`, { name: hidden.site });
  await other.admin("POST", `/admin/sites/${other.siteId}/apps`, { name: hidden.app });
  const { visitor, token } = await signedInPerson(ownWorld, { role, siteId: ownWorld.siteId });
  // With a second session, the page of the first one has a form.
  await new ConsoleVisitor(ownWorld).post("/console/sign-in", { token });
  const form = (await visitor.open("/console/access")).value("form");
  /** What a page must not show of the other site. */
  const secrets = [hidden.site, hidden.app, other.appid, `/console/sites/${other.siteId}`];
  return { ownWorld, other, visitor, form, secrets };
}

const isOfSite = ({ scope }: Declaration) => scope === "site";

/** A page without the ids that its address has, which it shows. */
const withoutIds = (text: string, world: World, site: string | number) =>
  text
    .replaceAll(`/sites/${site}`, "/sites/ID")
    .replaceAll(`%2Fsites%2F${site}`, "%2Fsites%2FID")
    .replaceAll(world.appid, "APPID")
    .replaceAll(/name="form" value="[^"]*"/g, "")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g, "REQUEST");

describe.each(ROLES)("a %s of one site in the console", (role) => {
  it("a person of one site gets from every console call about another site what an unknown site gives, and changes nothing", async () => {
    const { other, visitor, form, secrets } = await start(role);
    const before = await tablesOf(env.DB);
    const calls = CONSOLE_CALLS.filter(isOfSite);
    expect(calls.length).toBeGreaterThan(50);
    for (const call of calls) {
      const hidden = await send(visitor, call, pathOf(call, other), form);
      const unknown = await send(visitor, call, pathOf(call, other, { site_id: "987654321" }), form);
      expect([titleOf(call), hidden.status, unknown.status]).toEqual([titleOf(call), 404, 404]);
      const shown = withoutIds(hidden.text, other, other.siteId);
      expect([titleOf(call), shown]).toEqual([titleOf(call), withoutIds(unknown.text, other, "987654321")]);
      expect(secrets.slice(0, 2).filter((secret) => hidden.text.includes(secret))).toEqual([]);
    }
    expect(await tablesOf(env.DB)).toEqual(before);
  });

  it("a person of one site is refused every console call about the deployment, in words about the person", async () => {
    const { other, visitor, form } = await start(role);
    const before = await tablesOf(env.DB);
    const calls = CONSOLE_CALLS.filter(({ scope, role: needed }) => scope === "deployment" && needed !== "anyone");
    expect(calls.map(titleOf)).toContain("POST /sites");
    for (const call of calls) {
      const { status, text } = await send(visitor, call, pathOf(call, other), form);
      expect([titleOf(call), status, text.includes("This is not part of your site")]).toEqual([
        titleOf(call),
        403,
        true,
      ]);
    }
    expect(await tablesOf(env.DB)).toEqual(before);
  });

  it("a person of one site finds nothing of another site on a page of a console call about all sites", async () => {
    for (const home of ["main", "apac"]) {
      const { ownWorld, other, visitor, form, secrets } = await start(role, home);
      const calls = CONSOLE_CALLS.filter(({ scope }) => scope === "sites" || scope === "own");
      expect(calls.map(titleOf)).toEqual(expect.arrayContaining(["GET /", "GET /audit", "POST /search"]));
      for (const call of calls.filter(({ method }) => method === "get")) {
        const { status, text } = await send(visitor, call, pathOf(call, ownWorld), form);
        expect([titleOf(call), status]).toEqual([titleOf(call), expect.toBeOneOf([200, 303])]);
        expect([titleOf(call), secrets.filter((secret) => text.includes(secret))]).toEqual([titleOf(call), []]);
      }
      const audit = await visitor.page(`/console/audit?subject=${other.appid}`);
      expect(audit).toContain("Nothing fits this filter.");
    }
  });

  it("a search of a person of one site finds nothing of another site, by names, ids and request ids", async () => {
    const { ownWorld, other, visitor, secrets } = await start(role);
    const requestId = adminPathOf({ path: "/:request_id" }, other).replace("/admin/", "");
    const webhookId = adminPathOf({ path: "/:webhook_id" }, other).replace("/admin/", "");
    const typed = [other.appid, String(other.siteId), requestId, webhookId, ...secrets.slice(0, 2)];
    for (const site of [ownWorld.siteId, other.siteId, undefined])
      for (const q of typed) {
        const fields = { q, ...(site !== undefined && { site: String(site) }) };
        const page = await visitor.follow(await visitor.post("/console/search", fields), "/console/search");
        expect([q, page.status, page.text]).toEqual([q, 200, expect.stringContaining("Nothing was found")]);
        expect(page.html).not.toContain(`/console/sites/${other.siteId}`);
      }
  });

  it("the signature check tells a person of one site no more of another site's appid than of an unknown one", async () => {
    const { ownWorld, other, visitor, form } = await start(role);
    const requestId = adminPathOf({ path: "/:request_id" }, other).replace("/admin/", "");
    const [{ wireName }] = OPERATIONS as readonly [(typeof OPERATIONS)[number]];
    const check = async (appid: string) => {
      const fields = { form, operation: wireName, appid, body: "{}", signature: "0".repeat(64) };
      return (await visitor.post("/console/signature-check", fields)).text();
    };
    const shown = (text: string, appid: string) => withoutIds(text.replaceAll(appid, "APPID"), other, 0);
    const unknown = [...other.appid].reverse().join("");
    expect(shown(await check(other.appid), other.appid)).toBe(shown(await check(unknown), unknown));
    const slip = `${other.appid.slice(0, -1)}${other.appid.endsWith("0") ? "1" : "0"}`;
    expect(await check(slip)).not.toContain(other.appid);
    expect(await visitor.page(`/console/signature-check?request=${requestId}`)).not.toContain("was answered");
    expect(await check(ownWorld.appid)).not.toBe(shown(await check(unknown), unknown));
  });
});
