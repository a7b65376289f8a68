import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { PERSON_ROLES, type PersonRole } from "../../../src/operators/access/role.ts";
import { checkConsoleSession, openConsoleSession } from "../../../src/operators/services/console-sessions.ts";
import { addPerson, endPerson, higherAccess, type Person } from "../../../src/operators/services/people.ts";
import { type LateWay, lateDb } from "../../support/late-db.ts";
import { newConsoleSession } from "../../support/new-console-session.ts";
import { newPerson } from "../../support/new-person.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW } from "../../support/world.ts";

const rowOf = (id: string) =>
  env.DB.prepare("SELECT * FROM people WHERE id = ?").bind(id).first<Record<string, unknown>>();

const actionsAbout = async (subject: string) => {
  const rows = env.DB.prepare("SELECT action FROM audit_log WHERE subject = ? ORDER BY id").bind(subject);
  return (await rows.all<{ action: string }>()).results.map(({ action }) => action);
};

const sessionsOf = async (whoId: string) => {
  const rows = env.DB.prepare("SELECT * FROM console_sessions WHERE who_id = ?").bind(whoId);
  return (await rows.all<Record<string, unknown>>()).results;
};

const WAYS: LateWay[] = ["answer lost", "late"];

const signIn = (token: string, now = NOW, DB: D1Database = env.DB) =>
  openConsoleSession(contextAt(now, { DB }), { token, client: "192.0.2.1", browser: null });

const identityAt = async (cookie: string, now = NOW) =>
  (await checkConsoleSession(contextAt(now), { cookie }))?.identity;

describe("adding a person", () => {
  it.each(WAYS)(
    "adding a person makes one row, one audit row and the token of that row when D1 does not answer (%s)",
    async (way) => {
      const { db, commitLate } = lateDb(env.DB, way);
      const { id, token } = await addPerson(contextAt(NOW, { DB: db }), { name: "Mei", role: "viewer" });
      if (way === "late") await commitLate();
      expect(await actionsAbout(id)).toEqual(["person.added"]);
      expect(await identityAt(await signIn(token ?? ""))).toMatchObject({ who: { kind: "person", id, name: "Mei" } });
    },
  );

  it("a late try of adding a person does not bring back a person whose access was ended", async () => {
    const { db, commitLate } = lateDb(env.DB, "late");
    const { id } = await addPerson(contextAt(NOW, { DB: db }), { name: "Mei", role: "viewer" });
    await endPerson(contextAt(NOW), { id });
    await commitLate();
    expect(await rowOf(id)).toMatchObject({ deleted_at: NOW });
    expect(await actionsAbout(id)).toEqual(["person.added", "person.ended"]);
  });
});

describe("a person's token", () => {
  it("a person signs in with their token under their name, with their role and site, for 12 hours", async () => {
    const { id, token } = await newPerson({ role: "viewer", siteId: 7 });
    const identity = await identityAt(await signIn(token));
    expect(identity).toEqual({ who: { kind: "person", id, name: "Mei" }, role: "viewer", onlySite: 7 });
    expect(await sessionsOf(id)).toMatchObject([
      { who_kind: "person", who_name: "Mei", expires_at: NOW + 43_200, ended_at: null },
    ]);
    const signedIn = env.DB.prepare("SELECT * FROM audit_log WHERE who_id = ?").bind(id);
    expect((await signedIn.all()).results).toMatchObject([{ action: "operator.signed_in", who_kind: "person" }]);
  });

  it("a person's session ends when their access ends, even before 12 hours", async () => {
    const { id, token } = await newPerson({ expiresAt: NOW + 60 });
    const cookie = await signIn(token);
    expect(await sessionsOf(id)).toMatchObject([{ expires_at: NOW + 60 }]);
    expect(await identityAt(cookie, NOW + 59)).toBeDefined();
    expect(await identityAt(cookie, NOW + 60)).toBeUndefined();
  });

  it.each([
    ["has expired", { expiresAt: NOW }, "token_expired"],
    ["was ended", { deletedAt: NOW }, "person_token_ended"],
    ["is in no row", { hash: "another" }, "person_token_ended"],
  ])("a person's token that %s opens no session", async (_, change, reason) => {
    const { id, token } = await newPerson(change);
    await expect(signIn(token)).rejects.toMatchObject({ code: "unauthorized", context: { reason } });
    expect(await sessionsOf(id)).toEqual([]);
  });

  it("each request of a person has the role and the site of their row of that moment", async () => {
    const { id, token } = await newPerson({ role: "owner" });
    const cookie = await signIn(token);
    await env.DB.prepare("UPDATE people SET role = 'viewer', site_id = 3 WHERE id = ?").bind(id).run();
    expect(await identityAt(cookie)).toMatchObject({ role: "viewer", onlySite: 3 });
  });

  it("a person's session ends with their access at once, in every isolate, also when its own row could not be ended", async () => {
    const { id, token } = await newPerson();
    const cookie = await signIn(token);
    await endPerson(contextAt(NOW), { id });
    expect(await identityAt(cookie)).toBeUndefined();
    await env.DB.prepare("UPDATE console_sessions SET ended_at = NULL WHERE who_id = ?").bind(id).run();
    expect(await identityAt(cookie)).toBeUndefined();
  });

  it("a sign-in that reaches the database after the person's access was ended opens no session", async () => {
    const { id, token } = await newPerson();
    const { db, commitLate } = lateDb(env.DB, "late", () => endPerson(contextAt(NOW), { id }));
    await expect(signIn(token, NOW, db)).rejects.toMatchObject({ context: { reason: "person_token_ended" } });
    await commitLate();
    expect(await sessionsOf(id)).toEqual([]);
    const signedIn = "SELECT count(*) AS n FROM audit_log WHERE who_id = ? AND action = 'operator.signed_in'";
    expect(await env.DB.prepare(signedIn).bind(id).first("n")).toBe(0);
  });

  it("a person's cookie is none of the root's: the MAC of the root's cookies does not fit it", async () => {
    const { token } = await newPerson();
    const [value = "", mac = ""] = (await signIn(token)).split(".");
    const [, rootMac = ""] = (await signIn(env.ADMIN_TOKEN)).split(".");
    expect(await identityAt(`${value}.${mac}`)).toMatchObject({ who: { kind: "person" } });
    expect(await identityAt(`${value}.${rootMac}`)).toBeUndefined();
  });
});

describe("ending a person's access", () => {
  it.each(WAYS)(
    "a try that ends somebody's access leaves a row for each session once when D1 does not answer (%s)",
    async (way) => {
      const { id, token } = await newPerson();
      await signIn(token);
      const { db, commitLate } = lateDb(env.DB, way);
      await endPerson(contextAt(NOW, { DB: db }), { id });
      if (way === "late") await commitLate();
      expect(await actionsAbout(id)).toEqual(["person.ended"]);
      const ended = "SELECT count(*) AS n FROM audit_log WHERE action = 'operator.session_ended' AND details LIKE ?";
      expect(await env.DB.prepare(ended).bind(`%${id}%`).first("n")).toBe(1);
    },
  );

  it("a late try of ending an address ends no session that the address opens after it was let in again", async () => {
    const email = "late@example.com";
    const { id } = await newPerson({ email });
    const { db, commitLate } = lateDb(env.DB, "late");
    await endPerson(contextAt(NOW, { DB: db }), { id });
    await newPerson({ email, id: `per_${"e".repeat(32)}` });
    const open = await newConsoleSession({ whoKind: "person", whoId: email, whoName: email });
    await commitLate();
    expect(await sessionsOf(email)).toMatchObject([{ ended_at: null }]);
    expect(await actionsAbout(open)).toEqual([]);
  });
});

describe("what an address may do that the settings and a row name", () => {
  const person = (role: PersonRole, siteId: number | null) => ({ id: "per_1", email: "a@b", role, siteId }) as Person;
  const ROWS = PERSON_ROLES.flatMap((role) => [person(role, null), person(role, 5)]);

  it("the higher role counts, and at the same role all sites count before one site", () => {
    for (const role of PERSON_ROLES)
      for (const row of ROWS) {
        const isRowHigher = PERSON_ROLES.indexOf(row.role) > PERSON_ROLES.indexOf(role);
        expect(higherAccess("a@b", role, row)).toEqual({
          who: { kind: "person", id: "a@b", name: "a@b" },
          role: isRowHigher ? row.role : role,
          onlySite: isRowHigher ? (row.siteId ?? undefined) : undefined,
        });
      }
  });

  it("an address without a role in the settings has that of its row, and one without a row that of the settings", () => {
    expect(higherAccess("a@b", undefined, person("viewer", 5))).toMatchObject({ role: "viewer", onlySite: 5 });
    expect(higherAccess("a@b", "operator", undefined)).toMatchObject({ role: "operator", onlySite: undefined });
    expect(higherAccess("a@b", undefined, undefined)).toBeUndefined();
  });
});
