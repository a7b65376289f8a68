import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { type AdminAnswer, call, conflict, problem, read } from "../../support/admin-calls.ts";
import { replacing } from "../../support/replacing.ts";
import { ADMIN_TOKEN, hmac, NOW, World } from "../../support/world.ts";

/** Ids that are malformed or belong to nothing. */
const NO_IDS = [
  "0",
  "-1",
  "1.5",
  "abc",
  "01",
  "+1",
  "1e3",
  "%20",
  "9007199254740992",
  "99999999999999999999",
  "999999",
];

const summary = ({ status, body }: AdminAnswer) => ({ status, body });
const bad = (field: string, message: string) => problem(400, "Invalid input", [{ field, message }]);

const NAME =
  "must be a string of 1 to 100 characters, at least one of them visible and none a control character or direction override";
const NO_SITE = { ...problem(404, "Not found"), body: { detail: "There is no such site." } };
const NO_AGENT = { ...problem(404, "Not found"), body: { detail: "There is no such agent." } };
const ID = "must be an integer from 1 to 9007199254740991";

async function rows(sql: string, ...values: (string | number)[]): Promise<Record<string, unknown>[]> {
  const statement = env.DB.prepare(sql).bind(...values);
  return (await statement.all()).results;
}

const agentsOf = (world: World) => rows("SELECT * FROM agents WHERE site_id = ? ORDER BY id", world.siteId);
/** The app's version, as the list of apps shows it. */
async function versionOf(world: World): Promise<unknown> {
  const { body } = await call(world, "GET", `/admin/sites/${world.siteId}/apps`);
  const { items } = body as { items: { appid: string; version: unknown }[] };
  return items.find(({ appid }) => appid === world.appid)?.version;
}

const appRow = async (world: World) => (await rows("SELECT * FROM apps WHERE appid = ?", world.appid))[0];

/** For refused calls, which change nothing. */
let shared: World;
beforeAll(async () => {
  shared = await World.create();
});

describe("POST /admin/sites", () => {
  it("POST /admin/sites answers 201 with id, name, home and status, and stores the site", async () => {
    const world = await World.create();
    const answer = await call(world, "POST", "/admin/sites", { name: "  A 漢字 <b>site</b> 😀 " });
    expect(summary(answer)).toEqual({
      status: 201,
      body: { id: expect.any(Number), name: "  A 漢字 <b>site</b> 😀 ", home: "main", status: "open" },
    });
    const { id } = answer.body as { id: number };
    const fields = { name: "  A 漢字 <b>site</b> 😀 ", status: "open", revision: 0, created_at: NOW };
    expect(await rows("SELECT * FROM sites WHERE id = ?", id)).toEqual([
      { id, ...fields, home: "main", first_chat_id: 1, event_seq_floor: 0, retention_days: null },
    ]);
    expect(await rows("SELECT * FROM home_sites WHERE site_id = ?", id)).toEqual([
      { site_id: id, ...fields, chat_id_floor: 0, events: 0, event_seq_floor: 0, retention_days: null },
    ]);
    expect(await call(world, "POST", "/admin/sites", { name: "Site" })).toMatchObject({ status: 201 });
  });

  it("POST /admin/sites accepts a name of 1 to 100 code points", async () => {
    for (const name of ["x", "漢".repeat(100), "😀".repeat(100)])
      expect(await call(shared, "POST", "/admin/sites", { name })).toMatchObject({ status: 201, body: { name } });
  });

  it("POST /admin/sites refuses a wrong name", async () => {
    const tooLong = ["x".repeat(101), "😀".repeat(101)];
    const unseen = ["", " ", "\u3000\u00a0\u200b\u2060\ufeff", "\u00ad\u3164\u2800\ufe0f"];
    const control = ["\u0000", "Shop\u0000", "Shop\nNext", "\u007f", "Shop \u202eevil", "Shop \u2066"];
    for (const name of [...tooLong, ...unseen, ...control, 5, null, ["x"]])
      expect([name, summary(await call(shared, "POST", "/admin/sites", { name }))]).toEqual([name, bad("name", NAME)]);
    expect(summary(await call(shared, "POST", "/admin/sites", {}))).toEqual(bad("name", "is required"));
    expect(summary(await call(shared, "POST", "/admin/sites", { name: "lone \ud800" }))).toEqual(
      bad("name", "is not well-formed Unicode: half of a surrogate pair stands alone"),
    );
  });

  it("POST /admin/sites names an unknown field, and all wrong fields in one answer", async () => {
    const world = shared;
    expect(summary(await call(world, "POST", "/admin/sites", { name: "x", id: 7 }))).toEqual(
      bad("id", "is not a field of this call"),
    );
    expect(summary(await call(world, "POST", "/admin/sites", { name: 1, other: 7 }))).toEqual(
      problem(400, "Invalid input", [
        { field: "name", message: NAME },
        { field: "other", message: "is not a field of this call" },
      ]),
    );
  });
});

describe("the body of an admin call", () => {
  const send = async (world: World, body: BodyInit | null, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${ADMIN_TOKEN}`;
    const init = { method: "POST", headers: { authorization, ...headers }, body };
    return summary(await read(await world.fetch(new Request("http://worker/admin/sites", init))));
  };
  const json = { "content-type": "application/json" };

  it.each<[string, BodyInit | null]>([
    ["nothing", null],
    ["an empty text", ""],
    ["no JSON", "name=x"],
    ["an array", '[{"name":"x"}]'],
    ["a string", '"x"'],
    ["null", "null"],
    ["bad UTF-8", new Uint8Array([0x7b, 0x7d, 0xff])],
    ["a BOM", '\ufeff{"name":"x"}'],
    ["brackets without end", `${"[".repeat(30_000)}${"]".repeat(30_000)}`],
  ])("the body of an admin call is refused when it is %s", async (_, body) => {
    expect(await send(shared, body, json)).toEqual(bad("", "the body must be a JSON object in UTF-8"));
  });

  const JSON_WANTED = "Content-Type: must be application/json, and is";
  it.each<[string, string, Record<string, string>]>([
    ["text", `${JSON_WANTED} text/plain`, { "content-type": "text/plain" }],
    [
      "a form",
      `${JSON_WANTED} application/x-www-form-urlencoded`,
      { "content-type": "application/x-www-form-urlencoded" },
    ],
    [
      "JSON of another kind",
      `${JSON_WANTED} application/merge-patch+json`,
      { "content-type": "application/merge-patch+json" },
    ],
    ["compressed", "Content-Encoding: must be absent", { ...json, "content-encoding": "gzip" }],
  ])(
    "an admin call is 415 when its body is %s, with the right media type in the answer: %s",
    async (_, detail, headers) => {
      const { status, body } = await send(shared, '{"name":"x"}', headers);
      expect({ status, body }).toEqual({
        status: 415,
        body: { type: "about:blank", title: "Unsupported media type", status: 415, detail },
      });
    },
  );

  it("an admin call accepts a media type with parameters, and a body of up to 64 KiB", async () => {
    const world = await World.create();
    const bodyOf = (size: number) => `{"name":"x"${" ".repeat(size - 12)}}`;
    expect(await send(world, '{"name":"x"}', { "content-type": "APPLICATION/json; charset=utf-8" })).toMatchObject({
      status: 201,
    });
    expect(await send(world, bodyOf(65_536), json)).toMatchObject({ status: 201 });
    expect(await send(world, bodyOf(65_537), json)).toEqual({
      status: 413,
      body: {
        type: "about:blank",
        title: "Body too large",
        status: 413,
        detail: "body: must be at most 65536 bytes",
      },
    });
  });
});

describe("POST /admin/sites/:site_id/apps", () => {
  const path = (world: World) => `/admin/sites/${world.siteId}/apps`;

  it("POST /admin/sites/:site_id/apps answers 201 with appid, secret and name, and the secret signs at once", async () => {
    const world = await World.create();
    const answer = await call(world, "POST", path(world), { name: "Second" });
    expect(summary(answer)).toEqual({
      status: 201,
      body: {
        appid: expect.stringMatching(/^[0-9a-f]{32}$/),
        secret: expect.stringMatching(/^[0-9a-f]{64}$/),
        name: "Second",
        version: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    });
    Object.assign(world, answer.body);
    expect((await world.create()).status).toBe(200);
  });

  it("an imported appid and secret sign at once, even when a call asked for the appid before", async () => {
    const world = await World.create();
    const app = { appid: `A_b-${world.siteId}`, secret: "legacy secret of 1999!" };
    Object.assign(world, app);
    expect((await world.create()).status).toBe(401);
    expect(summary(await call(world, "POST", path(world), { name: "Moved", ...app }))).toEqual({
      status: 201,
      body: { ...app, name: "Moved", version: expect.any(String) },
    });
    expect((await world.create()).status).toBe(200);
  });

  it("POST /admin/sites/:site_id/apps is 409 when any site has the appid, and changes nothing", async () => {
    const [world, other] = [await World.create(), await World.create()];
    const before = await appRow(world);
    for (const site of [world, other]) {
      const again = { name: "Again", appid: world.appid, secret: "another secret" };
      expect(summary(await call(site, "POST", path(site), again))).toEqual(conflict("appid_taken"));
    }
    expect(await appRow(world)).toEqual(before);
  });

  const WRONG: [field: string, value: unknown, message: string][] = [
    ["appid", "a b", "must be 1 to 64 of A-Z a-z 0-9 _ -"],
    ["secret", "short", "must be 8 to 256 printable ASCII characters"],
    ["name", "", NAME],
    ["name", undefined, "is required"],
    ["site_id", 1, "is not a field of this call"],
  ];

  it("POST /admin/sites/:site_id/apps refuses a wrong field and names it", async () => {
    for (const [field, value, message] of WRONG) {
      const answer = await call(shared, "POST", path(shared), { name: "N", [field]: value });
      expect([value, summary(answer)]).toEqual([value, bad(field, message)]);
    }
  });

  it("POST /admin/sites/:site_id/apps is 404 for an unknown or malformed site id", async () => {
    for (const id of NO_IDS)
      expect([id, summary(await call(shared, "POST", `/admin/sites/${id}/apps`, { name: "N" }))]).toMatchObject([
        id,
        NO_SITE,
      ]);
  });
});

describe("POST /admin/apps/:appid/rotate", () => {
  const path = (world: World) => `/admin/apps/${world.appid}/rotate`;

  it("a secret rotation refuses overlap_seconds in the query, because the field belongs in the body", async () => {
    const world = await World.create();
    for (const body of [{}, undefined]) {
      const answer = await call(world, "POST", `${path(world)}?overlap_seconds=0`, body);
      expect(summary(answer)).toEqual(bad("overlap_seconds", "belongs in the body"));
    }
    expect((await world.create()).status).toBe(200);
  });

  it("a secret rotation answers 200 with the new secret, and both secrets verify until the overlap ends", async () => {
    const world = await World.create();
    const answer = await call(world, "POST", path(world), { overlap_seconds: 60 });
    expect(summary(answer)).toEqual({
      status: 200,
      body: {
        appid: world.appid,
        secret: expect.stringMatching(/^[0-9a-f]{64}$/),
        version: expect.stringMatching(/^[0-9a-f]{32}$/),
        previous_expires_at: NOW + 60,
      },
    });
    expect(await versionOf(world)).toBe((answer.body as { version: string }).version);
    const [old, next] = [world.secret, (answer.body as { secret: string }).secret];
    const status = async (secret: string) => {
      world.secret = secret;
      return (await world.create()).status;
    };
    world.clock.now = NOW + 59;
    expect([await status(old), await status(next)]).toEqual([200, 200]);
    world.clock.now = NOW + 60;
    expect([await status(old), await status(next)]).toEqual([401, 200]);
  });

  it.each<[string, unknown]>([
    ["no body", undefined],
    ["an empty object", {}],
  ])("a secret rotation has an overlap of one day with %s", async (_, body) => {
    const world = await World.create();
    expect(await call(world, "POST", path(world), body)).toMatchObject({
      status: 200,
      body: { previous_expires_at: NOW + 86_400 },
    });
  });

  it.each(["application/json", "text/plain", "application/x-www-form-urlencoded"])(
    "a secret rotation accepts an empty body with the media type %s, and other bodies only as JSON",
    async (type) => {
      const world = await World.create();
      const send = async (body: string) => {
        const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": type };
        return world.fetch(new Request(`http://worker${path(world)}`, { method: "POST", headers, body }));
      };
      expect((await send("")).status).toBe(200);
      expect((await send('{"ends":"previous"}')).status).toBe(type === "application/json" ? 200 : 415);
      expect((await send(`{}${" ".repeat(65_535)}`)).status).toBe(413);
    },
  );

  it("a secret rotation is 409 during an overlap, unless the call says that the previous secret ends", async () => {
    const world = await World.create();
    const first = world.secret;
    expect((await call(world, "POST", path(world))).status).toBe(200);
    const secondAnswer = await call(world, "POST", path(world));
    expect(summary(secondAnswer)).toEqual(conflict("overlap_running"));
    expect((secondAnswer.body as { detail: string }).detail).toMatch(/^An overlap runs until \d+, .*"ends"/);
    expect((await world.create()).status).toBe(200);
    expect((await call(world, "POST", path(world), { ends: "previous" })).status).toBe(200);
    const body = JSON.stringify(world.createBody());
    const signature = await hmac(first, body);
    expect((await world.sendRaw("create_gd", body, { "x-chat-signature": signature })).status).toBe(401);
  });

  it.each<[field: string, message: string, values: unknown[]]>([
    ["overlap_seconds", "must be an integer from 0 to 604800", [-1, 604_801, 0.5, "60", null]],
    ["expected_version", "must be a string of 1 to 100 characters", ["", 1, null, true, ["v"], "x".repeat(101)]],
  ])("a secret rotation refuses a wrong %s: it %s", async (field, message, values) => {
    const before = await appRow(shared);
    for (const value of values) {
      const answer = await call(shared, "POST", path(shared), { [field]: value });
      expect([value, summary(answer)]).toEqual([value, bad(field, message)]);
    }
    expect(await appRow(shared)).toEqual(before);
  });

  it.each<[string, boolean]>([
    ["on the way back to the operator", false],
    ["on the way back from D1, at each try", true],
  ])("a secret rotation happens once when its answer is lost %s and the same call is sent again", async (_, inD1) => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const world = await World.create();
    const batch = async (statements: D1PreparedStatement[]) => {
      await env.DB.batch(statements);
      throw new Error("D1_ERROR: Network connection lost.");
    };
    const operator = world.anotherIsolate(inD1 ? { DB: replacing(env.DB, { batch }) } : {});
    const body = { expected_version: await versionOf(world), overlap_seconds: 60 };
    const answer = await call(operator, "POST", path(world), body);
    expect(answer.status).toBe(inD1 ? 503 : 200);
    const after = await appRow(world);
    expect(after).toMatchObject({ previous_version: body.expected_version, previous_expires_at: NOW + 60 });

    const secondAnswer = await call(world.anotherIsolate(), "POST", path(world), body);
    expect(summary(secondAnswer)).toEqual(conflict("version_other"));
    expect((secondAnswer.body as { detail: string }).detail).toMatch(
      /^expected_version: it has another version by now/,
    );
    expect(JSON.stringify(secondAnswer.body)).not.toContain("secret");
    expect(await appRow(world)).toEqual(after);
    expect((await world.create()).status).toBe(200);
    if (!inD1) {
      world.secret = (answer.body as { secret: string }).secret;
      expect((await world.create()).status).toBe(200);
    }
    const next = { ...body, expected_version: await versionOf(world), ends: "current" };
    expect(summary(await call(world, "POST", path(world), next))).toMatchObject({ status: 200 });
    error.mockRestore();
  });

  it("a secret rotation is 409 for a revoked app and 404 for an unknown one", async () => {
    const world = await World.create();
    await call(world, "DELETE", `/admin/apps/${world.appid}`);
    expect(summary(await call(world, "POST", path(world)))).toEqual(conflict("app_revoked"));
    for (const appid of ["unknown", "a%20b", "%00", "x".repeat(300)]) {
      const answer = await call(world, "POST", `/admin/apps/${appid}/rotate`);
      expect(summary(answer)).toMatchObject({
        ...problem(404, "Not found"),
        body: { detail: "There is no such app." },
      });
    }
  });
});

describe("DELETE /admin/apps/:appid", () => {
  it("DELETE /admin/apps/:appid is 204 without a body, stops the app at once, and may be repeated", async () => {
    const world = await World.create();
    expect((await world.create()).status).toBe(200);
    for (let i = 0; i < 2; i++) {
      expect(summary(await call(world, "DELETE", `/admin/apps/${world.appid}`))).toEqual({
        status: 204,
        body: undefined,
      });
      expect((await world.create()).status).toBe(401);
      world.clock.now++;
    }
    expect(await appRow(world)).toMatchObject({ revoked_at: NOW });
  });
});

describe("POST /admin/sites/:site_id/agents", () => {
  const path = (world: World) => `/admin/sites/${world.siteId}/agents`;

  it.each([[5], [9007199254740991]])(
    "POST /admin/sites/:site_id/agents is 201 for id %d, and stores the agent",
    async (id) => {
      const world = await World.create();
      expect(summary(await call(world, "POST", path(world), { id, name: "Ana" }))).toEqual({
        status: 201,
        body: { id, name: "Ana", status: "normal" },
      });
      expect((await agentsOf(world)).at(-1)).toEqual({
        site_id: world.siteId,
        id,
        name: "Ana",
        status: "normal",
        revision: 0,
      });
      expect((await world.create({ kefu_id: [id], fzr_uid: id })).status).toBe(200);
    },
  );

  it("adding an agent whose id the site has is 409 and changes nothing; another site may use the id", async () => {
    const [world, other] = [await World.create(), await World.create()];
    const before = await agentsOf(world);
    expect(summary(await call(world, "POST", path(world), { id: 4, name: "Again" }))).toEqual(conflict("agent_taken"));
    expect(await agentsOf(world)).toEqual(before);
    await call(world, "POST", path(world), { id: 77, name: "Here" });
    expect((await call(other, "POST", path(other), { id: 77, name: "There" })).status).toBe(201);
  });

  const WRONG: [field: string, value: unknown, message: string][] = [
    ...[0, -1, 1.5, 9007199254740992, "5", null].map((id): [string, unknown, string] => ["id", id, ID]),
    ["id", undefined, "is required"],
    ["name", "x".repeat(101), NAME],
    ["status", "disabled", "is not a field of this call"],
  ];

  it("POST /admin/sites/:site_id/agents refuses a wrong field and names it", async () => {
    const before = await agentsOf(shared);
    for (const [field, value, message] of WRONG) {
      const answer = await call(shared, "POST", path(shared), { id: 5, name: "N", [field]: value });
      expect([value, summary(answer)]).toEqual([value, bad(field, message)]);
    }
    expect(await agentsOf(shared)).toEqual(before);
  });
});

describe("PATCH /admin/sites/:site_id/agents/:id", () => {
  const path = (world: World, id: string | number = 1) => `/admin/sites/${world.siteId}/agents/${id}`;

  it("PATCH of an agent is 200 with the agent's new values", async () => {
    const world = await World.create();
    const [, ...others] = await agentsOf(world);
    const agent = { id: 1, name: "Agent 1", status: "normal" };
    const changes = [
      { name: "Renamed" },
      { status: "disabled" },
      { status: "normal" },
      { status: "disabled", name: "B" },
    ];
    for (const [i, change] of changes.entries()) {
      Object.assign(agent, change);
      expect(summary(await call(world, "PATCH", path(world), change))).toEqual({ status: 200, body: agent });
      expect(await agentsOf(world)).toEqual([{ site_id: world.siteId, ...agent, revision: i + 1 }, ...others]);
    }
  });

  it("a PATCH of an agent's status takes effect on the next signed call", async () => {
    const world = await World.create();
    await call(world, "PATCH", path(world), { status: "disabled" });
    expect((await world.create()).status).toBe(400);
    await call(world, "PATCH", path(world), { status: "normal" });
    expect((await world.create()).status).toBe(200);
  });

  const WRONG: [change: object, field: string, message: string][] = [
    [{}, "", "must change status or name"],
    [{ status: "busy" }, "status", 'must be "normal" or "disabled"'],
    [{ status: null }, "status", 'must be "normal" or "disabled"'],
    [{ name: "" }, "name", NAME],
    [{ name: null }, "name", NAME],
    [{ name: "N", id: 9 }, "id", "is not a field of this call"],
  ];

  it("PATCH of an agent refuses a wrong change and names its field", async () => {
    const before = await agentsOf(shared);
    for (const [change, field, message] of WRONG) {
      expect([change, summary(await call(shared, "PATCH", path(shared), change))]).toEqual([
        change,
        bad(field, message),
      ]);
    }
    expect(await agentsOf(shared)).toEqual(before);
  });

  it("PATCH of an agent is 404 for an unknown or malformed agent id", async () => {
    for (const id of NO_IDS)
      expect([id, summary(await call(shared, "PATCH", path(shared, id), { name: "N" }))]).toMatchObject([id, NO_AGENT]);
  });

  it("PATCH of an agent is 404 for an agent of another site", async () => {
    const [world, other] = [await World.create(), await World.create()];
    await call(other, "POST", `/admin/sites/${other.siteId}/agents`, { id: 77, name: "There" });
    expect(summary(await call(world, "PATCH", path(world, 77), { name: "N" }))).toEqual(problem(404, "Not found"));
    expect((await agentsOf(other)).at(-1)).toMatchObject({ id: 77, name: "There" });
  });
});
