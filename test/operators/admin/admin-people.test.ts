import { env } from "cloudflare:workers";
import { crc32 } from "node:zlib";
import { afterEach, describe, expect, it, vi } from "vitest";
import { accessWorld } from "../../support/access-world.ts";
import { call, conflict, problem } from "../../support/admin-calls.ts";
import { newConsoleSession } from "../../support/new-console-session.ts";
import { newPerson } from "../../support/new-person.ts";
import { NOW, World } from "../../support/world.ts";

afterEach(() => void vi.unstubAllGlobals());

const DAY = 86_400;

interface AddedPerson {
  id: string;
  token: string;
}

const rowOf = (id: string) =>
  env.DB.prepare("SELECT * FROM people WHERE id = ?").bind(id).first<Record<string, unknown>>();

const countPeople = () => env.DB.prepare("SELECT count(*) AS n FROM people").first<number>("n");

const auditOf = async (subject: string) => {
  const rows = env.DB.prepare("SELECT * FROM audit_log WHERE subject = ? ORDER BY id").bind(subject);
  return (await rows.all<Record<string, unknown>>()).results;
};

let addresses = 0;

/** An address that no other test uses. */
function newAddress(): string {
  addresses += 1;
  return `person${addresses}@example.com`;
}

describe("POST /admin/people", () => {
  it("POST /admin/people with a name shows a token once, stores only its hash, and writes an audit row", async () => {
    const world = await World.create();
    const { status, body } = await call(world, "POST", "/admin/people", { name: "Mei", role: "viewer" });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^per_[0-9a-f]{32}$/),
        email: null,
        name: "Mei",
        role: "viewer",
        site_id: null,
        created_at: NOW,
        expires_at: null,
        last_used_at: null,
        token: expect.stringMatching(/^asp_[0-9A-Za-z]{49}$/),
      },
    ]);
    const { id, token } = body as AddedPerson;
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
    const hash = new Uint8Array(digest).toHex();
    expect(id).toBe(`per_${hash.slice(0, 32)}`);
    expect(await rowOf(id)).toEqual({
      id,
      email: null,
      name: "Mei",
      hash,
      role: "viewer",
      site_id: null,
      created_at: NOW,
      expires_at: null,
      last_used_at: null,
      deleted_at: null,
    });
    expect(await auditOf(id)).toMatchObject([
      {
        action: "person.added",
        who_kind: "root",
        site_id: null,
        details: '{"name":"Mei","role":"viewer","site_id":null,"expires_at":null}',
      },
    ]);
    const details = await env.DB.prepare("SELECT json_group_array(details) AS all_details FROM audit_log").first(
      "all_details",
    );
    expect(details).not.toContain(token);
    expect(JSON.stringify((await call(world, "GET", "/admin/people?limit=100")).body)).not.toContain(token);
  });

  it("a person's new token ends with the CRC32 of the characters before, in base62", async () => {
    const { body } = await call(await World.create(), "POST", "/admin/people", { name: "Mei", role: "viewer" });
    const { token } = body as AddedPerson;
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const check = [...token.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    expect(check).toBe(crc32(token.slice(0, -6)));
  });

  it("POST /admin/people with an e-mail address stores it in small letters with its site and its end, and makes no token", async () => {
    const world = await accessWorld();
    const email = newAddress();
    const input = { email: ` ${email.toUpperCase()} `, role: "operator", site_id: world.siteId, expires_in_days: 90 };
    const { status, body } = await call(world, "POST", "/admin/people", input);
    expect([status, body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^per_[0-9a-f]{32}$/),
        email,
        name: null,
        role: "operator",
        site_id: world.siteId,
        created_at: NOW,
        expires_at: NOW + 90 * DAY,
        last_used_at: null,
      },
    ]);
    const { id } = body as AddedPerson;
    expect(await rowOf(id)).toMatchObject({ email, name: null, hash: null, site_id: world.siteId });
    const details = JSON.stringify({ email, role: "operator", site_id: world.siteId, expires_at: NOW + 90 * DAY });
    expect(await auditOf(id)).toMatchObject([{ action: "person.added", details }]);
  });

  it("POST /admin/people refuses a second row for an address, names the first, and stores nothing; two owners at once make one", async () => {
    const world = await accessWorld();
    const email = newAddress();
    const add = () => call(world.anotherIsolate(), "POST", "/admin/people", { email, role: "viewer" });
    const answers = await Promise.all([add(), add()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    const { id } = (answers.find(({ status }) => status === 201)?.body ?? {}) as AddedPerson;
    const refused = answers.find(({ status }) => status === 409);
    expect(refused).toMatchObject(conflict("person_taken"));
    expect(refused?.body).toMatchObject({
      detail: `email: this address has access already, as ${id}. End that first.`,
    });
    const rows = await env.DB.prepare("SELECT id FROM people WHERE email = ?").bind(email).all();
    expect(rows.results).toEqual([{ id }]);
    expect((await auditOf(id)).map(({ action }) => action)).toEqual(["person.added"]);
    const audited = "SELECT count(*) AS n FROM audit_log WHERE action = 'person.added' AND details LIKE ?";
    expect(await env.DB.prepare(audited).bind(`%${email}%`).first("n")).toBe(1);
  });

  it("an address may come back after its access was ended", async () => {
    const world = await accessWorld();
    const email = newAddress();
    const { body } = await call(world, "POST", "/admin/people", { email, role: "viewer" });
    await call(world, "DELETE", `/admin/people/${(body as AddedPerson).id}`);
    const again = await call(world, "POST", "/admin/people", { email, role: "owner" });
    expect(again).toMatchObject({ status: 201, body: { email, role: "owner" } });
  });

  const ONE_OF_TWO = "give either an e-mail address or a name";
  const EMAIL_RULE = "must be one e-mail address such as ada@example.com, without characters that nobody sees";
  const NAME_RULE =
    "must not look like root, ADMIN_TOKEN, worker, an e-mail address, a token, or the id of a token or a person";
  const email = (value: string): [object, [string, string][]] => [
    { name: undefined, email: value },
    [["email", EMAIL_RULE]],
  ];

  it.each<[object, [field: string, message: string][]]>([
    [
      { email: "ada@example.com" },
      [
        ["email", ONE_OF_TWO],
        ["name", ONE_OF_TWO],
      ],
    ],
    [
      { name: undefined },
      [
        ["email", ONE_OF_TWO],
        ["name", ONE_OF_TWO],
      ],
    ],
    email("*@example.com"),
    email("ada@"),
    email("ada@example.com, bo@example.com"),
    email("ad\u200ba@example.com"),
    email(`${"a".repeat(320)}@example.com`),
    [{ name: "r00t" }, [["name", NAME_RULE]]],
    [{ name: "ada@example.com" }, [["name", NAME_RULE]]],
    [{ name: `per_${"0f".repeat(16)}` }, [["name", NAME_RULE]]],
    [{ name: `asp_${"0f".repeat(24)}1` }, [["name", NAME_RULE]]],
    [{ role: "metrics" }, [["role", "must be viewer or operator or owner"]]],
    [{ role: "owner", site_id: 1 }, [["role", "must be viewer or operator for a person of one site"]]],
    [{ site_id: 987_654_321 }, [["site_id", "must be a site's id"]]],
    [{ expires_in_days: 0 }, [["expires_in_days", "must be an integer from 1 to 3650"]]],
    [{ token: "asp_mine" }, [["token", "is not a field of this call"]]],
  ])("POST /admin/people refuses %j, names the fields, and stores nothing", async (change, errors) => {
    const world = await accessWorld();
    const before = await countPeople();
    const { status, body } = await call(world, "POST", "/admin/people", { name: "Mei", role: "viewer", ...change });
    const issues = errors.map(([field, message]) => ({ field, message }));
    expect({ status, body }).toEqual(problem(400, "Invalid input", issues));
    expect(await countPeople()).toBe(before);
  });

  it("POST /admin/people refuses a way in that CONSOLE_SIGN_IN does not have, and says which setting it is", async () => {
    const world = await accessWorld();
    const before = await countPeople();
    const add = (signIn: string, body: object) =>
      call(world.anotherIsolate({ CONSOLE_SIGN_IN: signIn } as never), "POST", "/admin/people", {
        role: "viewer",
        ...body,
      });
    expect((await add("token", { email: newAddress() })).body).toMatchObject({
      errors: [{ field: "email", message: "nobody comes by Cloudflare Access: CONSOLE_SIGN_IN is token" }],
    });
    expect((await add("access", { name: "Mei" })).body).toMatchObject({
      errors: [{ field: "name", message: "nobody comes in with a token: CONSOLE_SIGN_IN is access" }],
    });
    expect(await countPeople()).toBe(before);
  });
});

describe("GET /admin/people", () => {
  it("GET /admin/people lists people page by page by id, expired ones too and ended ones not, and shows no hash", async () => {
    const world = await World.create();
    const ids = [0, 1, 2].map((end) => `per_${"0".repeat(31)}${end}`);
    const [first = "", ended = "", last = ""] = ids;
    await newPerson({ id: first, hash: "secret", expiresAt: NOW - 1, lastUsedAt: 7200 });
    await newPerson({ id: ended, deletedAt: NOW });
    await newPerson({ id: last, email: newAddress() });
    const page = async (query: string) =>
      (await call(world, "GET", `/admin/people${query}`)).body as { items: { id: string }[]; next_cursor: string };
    const { items, next_cursor } = await page("?limit=1");
    expect(items).toEqual([
      {
        id: first,
        email: null,
        name: "Mei",
        role: "operator",
        site_id: null,
        created_at: NOW,
        expires_at: NOW - 1,
        last_used_at: 7200,
      },
    ]);
    expect(next_cursor).toBe(first);
    expect((await page(`?limit=1&cursor=${next_cursor}`)).items.map(({ id }) => id)).toEqual([last]);
    expect(await call(world, "GET", "/admin/people?cursor=tok_1")).toMatchObject(
      problem(400, "Invalid input", [{ field: "cursor", message: "is not a next_cursor" }]),
    );
  });
});

describe("DELETE /admin/people/:person_id", () => {
  it("DELETE /admin/people/:person_id ends the person and each open session of theirs, with an audit row each, and no other", async () => {
    const world = await World.create();
    const { id } = await newPerson();
    const sessionOf = (whoId: string, change: object = {}) =>
      newConsoleSession({ whoKind: "person", whoId, whoName: "Mei", ...change });
    const open = [await sessionOf(id), await sessionOf(id)].sort();
    const others = [
      await sessionOf(id, { expiresAt: NOW }),
      await sessionOf(id, { endedAt: NOW - 5 }),
      await sessionOf((await newPerson()).id),
    ];
    const endOf = (name: string) =>
      env.DB.prepare("SELECT ended_at FROM console_sessions WHERE id LIKE ?").bind(`${name}%`).first("ended_at");
    expect((await call(world, "DELETE", `/admin/people/${id}`)).status).toBe(204);
    expect(await rowOf(id)).toMatchObject({ deleted_at: NOW });
    expect(await Promise.all(open.map(endOf))).toEqual([NOW, NOW]);
    expect(await Promise.all(others.map(endOf))).toEqual([null, NOW - 5, null]);
    expect((await auditOf(id)).at(-1)).toMatchObject({
      action: "person.ended",
      details: '{"name":"Mei","role":"operator","site_id":null,"expires_at":null}',
    });
    for (const name of open)
      expect(await auditOf(name)).toMatchObject([
        { action: "operator.session_ended", who_kind: "root", details: JSON.stringify({ id, name: "Mei" }) },
      ]);
    for (const name of others) expect(await auditOf(name)).toEqual([]);
  });

  it("a second DELETE /admin/people/:person_id is 404 and writes nothing", async () => {
    const world = await World.create();
    const { id } = await newPerson();
    await call(world, "DELETE", `/admin/people/${id}`);
    expect(await call(world, "DELETE", `/admin/people/${id}`)).toMatchObject(problem(404, "Not found"));
    expect((await auditOf(id)).map(({ action }) => action)).toEqual(["person.ended"]);
  });
});
