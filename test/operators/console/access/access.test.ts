import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Role } from "../../../../src/operators/access/role.ts";
import { endConsoleSession, listConsoleSessions } from "../../../../src/operators/services/console-sessions.ts";
import { type Identity, ROOT } from "../../../../src/operators/services/identity.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import { ConsoleVisitor, ownSession, start } from "../../../support/console-visitor.ts";
import { newConsoleSession } from "../../../support/new-console-session.ts";
import { newPerson } from "../../../support/new-person.ts";
import { contextAt } from "../../../support/service-context.ts";
import { NOW, World } from "../../../support/world.ts";

afterEach(() => void vi.unstubAllGlobals());

const PATH = "/console/access";
const endOf = (name: string) => `${PATH}/${name}/end`;

let people = 0;

/** The id of a person who occurs in no other test. */
const somebody = () => `person-${++people}@example.com`;

const personOf = (id: string, role: Role = "viewer"): Identity => ({
  who: { kind: "person", id, name: id },
  role,
  onlySite: undefined,
});

/** The columns of a session's row that name its person. */
const personColumns = (id: string) => ({ whoKind: "person" as const, whoId: id, whoName: id });

const rowOf = (name: string) =>
  env.DB.prepare("SELECT * FROM console_sessions WHERE substr(id, 1, 16) = ?").bind(name).first();

async function auditOf(name: string) {
  const rows = "SELECT action, actor, who_name, details FROM audit_log WHERE subject = ? ORDER BY id";
  return (await env.DB.prepare(rows).bind(name).all()).results;
}

describe("the bar of the console", () => {
  it("the bar of the console shows the reader's name, which links to the page of their access", async () => {
    const world = await World.create();
    const root = await (await ConsoleVisitor.signedIn(world)).open("/console");
    expect(root.link("Your access: ADMIN_TOKEN")).toBe(PATH);
    const person = await (await visitorWithRole(world, "viewer", "ada@example.com")).open("/console");
    expect(person.link("Your access: ada@example.com")).toBe(PATH);
  });
});

describe('the page "Your access"', () => {
  it('the page "Your access" shows who a person is, what their role may do, and only their own sessions', async () => {
    const world = await World.create();
    const [ada, bob] = [somebody(), somebody()];
    await newConsoleSession(personColumns(bob));
    const visitor = await visitorWithRole(world, "operator", ada);
    await newConsoleSession({ ...personColumns(ada), lastUsedAt: NOW - 60 });
    await newConsoleSession({ ...personColumns(ada), endedAt: NOW - 1 });
    await newConsoleSession({ ...personColumns(ada), expiresAt: NOW });
    const page = await visitor.open(PATH);
    expect(page.heading).toBe("Your access");
    expect(page.text).toContain(
      `Name ${ada} Signed in by Cloudflare Access Role operator What it may do see everything but secrets and the paths of webhooks' URLs also see these paths, change sites,`,
    );
    expect(page.rows).toEqual([
      ["Not known This session", "–", "now", "now", "Sign out This session"],
      ["Firefox, Linux", "192.0.2.0/24", "now", "1 min ago", `End ${ada}, Firefox, Linux`],
    ]);
    expect(page.text).toContain("A last use may be up to 5 minutes later than it says here.");
    expect(page.text).not.toContain(bob);
  });

  it('the page "Your access" shows an owner the sessions of all people, also old ones without a person', async () => {
    const world = await World.create();
    const ada = somebody();
    await newPerson({ email: ada });
    await newConsoleSession(personColumns(ada));
    const past = { whoKind: null, whoId: null, whoName: null, browser: null, address: null, lastUsedAt: null };
    await newConsoleSession({ ...past, createdAt: NOW + 1 });
    const page = await (await ConsoleVisitor.signedIn(world)).open(PATH);
    expect(page.text).toContain("Name ADMIN_TOKEN Signed in by ADMIN_TOKEN Role owner");
    expect(page.rows.find(([who]) => who === ada)?.slice(0, 3)).toEqual([ada, "Firefox, Linux", "192.0.2.0/24"]);
    const old = ["ADMIN_TOKEN", "Not known", "–", "15 Jan, 08:00", "–", "End ADMIN_TOKEN"];
    expect(page.rows).toContainEqual(old);
    expect(page.rows.filter((cells) => cells[1]?.includes("This session"))).toHaveLength(1);
  });

  it('the page "Your access" leaves out the sessions of people whom nothing lets in any more', async () => {
    const [expired, removed, ...others] = [somebody(), somebody(), somebody()];
    await newPerson({ email: expired, expiresAt: NOW });
    await newPerson({ email: others[0], expiresAt: NOW + 1 });
    const names = await Promise.all(
      [expired, removed, ...others].map((id) => newConsoleSession({ ...personColumns(id), lastUsedAt: NOW + 9 })),
    );
    const listed = new Set(
      (await listConsoleSessions({ ...contextAt(NOW, {}), identity: ROOT })).map(({ name }) => name),
    );
    expect(names.map((name) => listed.has(name))).toEqual([false, false, true]);
    expect(await Promise.all(names.map(rowOf))).toMatchObject([
      { ended_at: null },
      { ended_at: null },
      { ended_at: null },
    ]);
  });

  it('the page "Your access" lists at most 200 sessions, those used last', async () => {
    const ctx = contextAt(NOW, {});
    const ada = somebody();
    await newPerson({ email: ada });
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
       INSERT INTO console_sessions (id, created_at, expires_at, who_kind, who_id, who_name, last_used_at)
       SELECT hex(randomblob(32)), ?1, ?1 + 3600, 'person', ?2, ?2, ?1 - i FROM n`,
    )
      .bind(NOW, ada)
      .run();
    const sessions = await listConsoleSessions({ ...ctx, identity: personOf(ada) });
    expect(sessions.map(({ lastUsedAt }) => lastUsedAt)).toEqual(Array.from({ length: 200 }, (_, at) => NOW - at));
  });
});

describe("ending a session", () => {
  it("the cookie of an ended console session is refused at once, and an audit row names who ended the session", async () => {
    const world = await World.create();
    const other = await ConsoleVisitor.signedIn(world);
    const name = await ownSession(other);
    const visitor = await visitorWithRole(world, "owner", "ada@example.com");
    const form = (await visitor.open(PATH)).value("form");
    const page = await visitor.follow(await visitor.post(endOf(name), { form }), PATH);
    expect([page.path.split("?")[0], page.notices]).toEqual([
      PATH,
      ["The session was ended: its browser is asked to sign in again."],
    ]);
    expect((await other.get("/console")).headers.get("location")).toBe("/console/sign-in?next=%2Fconsole");
    expect((await auditOf(name)).slice(1)).toEqual([
      {
        action: "operator.session_ended",
        actor: "console",
        who_name: "ada@example.com",
        details: '{"id":"root","name":"ADMIN_TOKEN"}',
      },
    ]);
  });

  it("ending a console session that has ended already changes nothing, and the page says so", async () => {
    const { visitor } = await start("main");
    for (const change of [{ endedAt: NOW - 60 }, { expiresAt: NOW }]) {
      const name = await newConsoleSession(change);
      const before = await rowOf(name);
      const form = (await visitor.open(PATH)).value("form");
      const page = await visitor.follow(await visitor.post(endOf(name), { form }), PATH);
      expect(page.notices).toEqual(["The session had ended before. Nothing was changed now."]);
      expect([await rowOf(name), await auditOf(name)]).toEqual([before, []]);
    }
  });

  it("two operators who end a console session together leave one audit row", async () => {
    const name = await newConsoleSession();
    const contextOf = (id: string) => ({ ...contextAt(NOW, {}), identity: personOf(id, "owner") });
    await Promise.all([contextOf(somebody()), contextOf(somebody())].map((ctx) => endConsoleSession(ctx, { name })));
    expect(await auditOf(name)).toHaveLength(1);
    expect(await rowOf(name)).toMatchObject({ ended_at: NOW });
  });

  it.each(["viewer", "operator"] as const)(
    "a person with the role %s can end only their own console sessions",
    async (role) => {
      const world = await World.create();
      const ada = somebody();
      const visitor = await visitorWithRole(world, role, ada);
      const [own, others, root] = [
        await newConsoleSession(personColumns(ada)),
        await newConsoleSession(personColumns(somebody())),
        await newConsoleSession(),
      ];
      const form = (await visitor.open(PATH)).value("form");
      for (const name of [others, root, "0".repeat(16), "x", "%"]) {
        const answer = await visitor.post(endOf(encodeURIComponent(name)), { form });
        expect([name, answer.status, answer.headers.get("location")]).toEqual([name, 404, null]);
      }
      expect([await rowOf(others), await rowOf(root)]).toMatchObject([{ ended_at: null }, { ended_at: null }]);
      const page = await visitor.press(await visitor.open(PATH), `End ${ada}, Firefox, Linux`);
      expect(page.notices).toEqual(["The session was ended: its browser is asked to sign in again."]);
      expect(await rowOf(own)).toMatchObject({ ended_at: NOW });
    },
  );

  it("an old console session that names no person counts as a session of the root", async () => {
    const name = await newConsoleSession({ whoKind: null, whoId: null, whoName: null });
    const ctx = contextAt(NOW, {});
    const viewer = personOf(somebody());
    await expect(endConsoleSession({ ...ctx, identity: viewer }, { name })).rejects.toMatchObject({
      code: "not_found",
    });
    expect(await listConsoleSessions({ ...ctx, identity: viewer })).toEqual([]);
    expect(await listConsoleSessions(ctx)).toContainEqual(expect.objectContaining({ name, who: ROOT.who }));
    expect(await endConsoleSession(ctx, { name })).toBe(true);
    expect(await auditOf(name)).toHaveLength(1);
  });

  it("a person who ends their own console session is signed out", async () => {
    const world = await World.create();
    for (const press of ["button", "address"]) {
      const visitor = await ConsoleVisitor.signedIn(world);
      const name = await ownSession(visitor);
      const page = await visitor.open(PATH);
      // Another session's button carries the form token. The button of this session is in the bar.
      await newConsoleSession();
      const form = (await visitor.open(PATH)).value("form");
      const answer =
        press === "button"
          ? await visitor.submit(page, "Sign out This session")
          : await visitor.post(endOf(name), { form });
      expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/sign-in"]);
      expect(visitor.cookies.has("__Host-console")).toBe(false);
      expect((await auditOf(name)).map(({ action }) => action)).toEqual(["operator.signed_in", "operator.signed_out"]);
    }
  });
});
