import { describe, expect, it } from "vitest";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { NOW, World } from "../../../support/world.ts";

type Entry = { actor: string; action: string; subject: string; details: Record<string, unknown>; at: number };
type Page = { items: (Entry & { id: number; site_id: number | null })[]; next_cursor: string | null };

const log = async (world: World, query = ""): Promise<Page> =>
  (await world.admin("GET", `/admin/audit?site_id=${world.siteId}${query}`)).json();

/** The entries of the audit log since `before`, oldest first. */
async function since(world: World, before: Page): Promise<Entry[]> {
  const { items } = await log(world, "&limit=100");
  const knownIds = new Set(before.items.map(({ id }) => id));
  return items
    .filter(({ id }) => !knownIds.has(id))
    .reverse()
    .map(({ actor, action, subject, details, at }) => ({ actor, action, subject, details, at }));
}

describe("the audit log", () => {
  it("the audit log shows each change through the console and the API: who made it, what, to which thing, and when", async () => {
    const world = await World.create();
    const before = await log(world, "&limit=100");
    const visitor = await ConsoleVisitor.signedIn(world);
    const site = `/console/sites/${world.siteId}`;
    const app = `${site}/apps/${world.appid}`;
    const movedAppid = crypto.randomUUID();
    await visitor.submit(await visitor.open(`${site}/apps`), "Issue app", { Name: "Moved", appid: movedAppid });
    await visitor.submit(await visitor.open(app), "Rotate", { Overlap: "3600" });
    await visitor.submit(await visitor.open(`${app}/revoke`), "Revoke for good");
    const addedPage = await visitor.press(await visitor.open(`${site}/agents`), "Add agent", { ID: "10", Name: "Ana" });
    const renamedPage = await visitor.open(addedPage.link("Rename Ana"));
    await visitor.submit(await visitor.press(renamedPage, "Rename", { Name: "Ana Costa" }), "Disable Ana Costa");
    world.clock.now = NOW + 5;
    await world.admin("PATCH", `/admin/sites/${world.siteId}/agents/10`, { status: "normal", name: "Ana" });
    const version = expect.stringMatching(/^[0-9a-f]{32}$/);
    const entryBy = (actor: string, at = NOW) => ({ actor, at });
    expect(await since(world, before)).toEqual([
      { ...entryBy("console"), action: "app.routed", subject: movedAppid, details: { name: "Moved" } },
      {
        ...entryBy("console"),
        action: "app.imported",
        subject: movedAppid,
        details: { name: "Moved", imported: ["appid"] },
      },
      {
        ...entryBy("console"),
        action: "app.rotated",
        subject: world.appid,
        details: { version, from: version, to: version, previous_expires_at: NOW + 3600 },
      },
      { ...entryBy("console"), action: "app.revoked", subject: world.appid, details: { name: "App" } },
      { ...entryBy("console"), action: "agent.added", subject: "10", details: { name: "Ana" } },
      { ...entryBy("console"), action: "agent.renamed", subject: "10", details: { from: "Ana", to: "Ana Costa" } },
      {
        ...entryBy("console"),
        action: "agent.disabled",
        subject: "10",
        details: { name: "Ana Costa", from: "normal", to: "disabled" },
      },
      {
        ...entryBy("admin-api", NOW + 5),
        action: "agent.renamed",
        subject: "10",
        details: { from: "Ana Costa", to: "Ana" },
      },
      {
        ...entryBy("admin-api", NOW + 5),
        action: "agent.enabled",
        subject: "10",
        details: { name: "Ana", from: "disabled", to: "normal" },
      },
    ]);
    const page = await visitor.page(`${site}/audit`);
    for (const text of ["App imported", "Ana → Ana Costa", "Secret rotated", "API", "Console"]) {
      expect(page).toContain(text);
    }
  });

  it("the audit log has no row for a change that was refused or changed nothing", async () => {
    const world = await World.create();
    const { appid, siteId } = world;
    const before = await log(world, "&limit=100");
    const refusedCalls: [string, string, unknown?][] = [
      ["POST", `/admin/sites/${siteId}/apps`, { name: "Again", appid }],
      ["POST", `/admin/sites/${siteId}/agents`, { id: 1, name: "Again" }],
      ["PATCH", `/admin/sites/${siteId}/agents/999`, { name: "Nobody" }],
      ["PATCH", `/admin/sites/${siteId}/agents/1`, { name: "Agent 1", status: "normal" }],
      ["POST", "/admin/apps/nothing-here/rotate", {}],
      ["DELETE", "/admin/apps/nothing-here"],
    ];
    for (const [method, path, body] of refusedCalls) await world.admin(method, path, body);
    expect(await since(world, before)).toEqual([]);
    await world.admin("DELETE", `/admin/apps/${appid}`);
    await world.admin("DELETE", `/admin/apps/${appid}`);
    await world.admin("POST", `/admin/apps/${appid}/rotate`, {});
    expect((await since(world, before)).map(({ action }) => action)).toEqual(["app.revoked"]);
  });

  it("the audit log has one row for each of several simultaneous rotations that succeeded", async () => {
    const world = await World.create();
    const before = await log(world, "&limit=100");
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map(() => world.anotherIsolate().admin("POST", `/admin/apps/${world.appid}/rotate`, {})),
    );
    const doneCount = answers.filter(({ status }) => status === 200).length;
    const versions = (await since(world, before)).map(({ details }) => details.version);
    expect([versions.length, new Set(versions).size]).toEqual([doneCount, doneCount]);
  });

  it("the audit log never has a secret, sealed or not", async () => {
    const world = await World.create();
    const ownSecret = "brought-along-secret-of-mine";
    await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Moved", secret: ownSecret });
    const rotatedApp = await (await world.admin("POST", `/admin/apps/${world.appid}/rotate`, {})).json<{
      secret: string;
    }>();
    const text = JSON.stringify(await world.operated().then(({ audit }) => audit));
    for (const secret of [ownSecret, world.secret, rotatedApp.secret, "v1.", "v2."]) expect(text).not.toContain(secret);
  });
});
