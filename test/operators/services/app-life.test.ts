import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { importKeyring, type Slot, unseal } from "../../../src/core/credentials/sealed-secret.ts";
import type { ServiceError } from "../../../src/core/errors.ts";
import { fieldIssues } from "../../../src/core/fields.ts";
import { endOverlap, readSecret, rotateSecret } from "../../../src/operators/services/app-secrets.ts";
import { checkAppid, issueApp, issueAppSchema, revokeApp } from "../../../src/operators/services/apps.ts";
import { rotationSchema } from "../../../src/operators/services/rotation.ts";
import { findSite } from "../../../src/operators/services/sites.ts";
import { lateDb } from "../../support/late-db.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW, World } from "../../support/world.ts";

const OTHER_MASTER_KEY = Uint8Array.fromBase64(env.MASTER_KEY).toReversed().toBase64();
const KEYRING = await importKeyring([Uint8Array.fromBase64(env.MASTER_KEY)]);

type Row = { site_id: number; version: string; secret: string; previous_secret: string | null } & Record<
  string,
  unknown
>;

async function rowOf(appid: string, db = env.DB): Promise<Row> {
  const row = await db.prepare("SELECT * FROM apps WHERE appid = ?").bind(appid).first<Row>();
  if (row === null) throw new Error("no such app");
  return row;
}

/** The world's site, as services expect it. */
const siteOf = ({ siteId }: { siteId: number }) => findSite(contextAt(NOW), { siteId });

async function open(appid: string, slot: Slot, sealed: string | null): Promise<string> {
  const { site_id: siteId, version, previous_version } = await rowOf(appid);
  const owner = { siteId, appid, version: slot === "current" ? version : String(previous_version) };
  return unseal(KEYRING, owner, slot, sealed ?? "");
}

const conflict = (reason: string) => ({ code: "conflict", context: { reason } });

/** The reasons of the refused calls. */
const refusals = (outcomes: PromiseSettledResult<unknown>[]) =>
  outcomes.filter((each) => each.status === "rejected").map(({ reason }) => (reason as ServiceError).context.reason);

/** The number of an app's rotations in the audit log. */
async function rotations(appid: string): Promise<number | null> {
  const sql = "SELECT count(*) AS n FROM audit_log WHERE action = 'app.rotated' AND subject = ?";
  return env.DB.prepare(sql).bind(appid).first<number>("n");
}

const problemsOf = (schema: typeof issueAppSchema | typeof rotationSchema, input: unknown) =>
  fieldIssues(schema.safeParse(input).error as never);

describe("issuing an app", () => {
  it("a new app gets an appid of 32 and a secret of 64 hex digits, its secret is stored sealed, and caches get the app", async () => {
    const { siteId } = await World.create();
    const site = await siteOf({ siteId });
    const ctx = contextAt(NOW);
    const app = await issueApp(ctx, { site, name: "Name" });
    expect(app).toEqual({
      appid: expect.stringMatching(/^[0-9a-f]{32}$/),
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
      name: "Name",
      version: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    const row = await rowOf(app.appid);
    expect(row).toEqual({
      appid: app.appid,
      site_id: siteId,
      name: "Name",
      version: app.version,
      secret: expect.stringMatching(/^v2\./),
      previous_version: null,
      previous_secret: null,
      previous_expires_at: null,
      revoked_at: null,
      created_at: NOW,
    });
    expect(await open(app.appid, "current", row.secret)).toBe(app.secret);
    expect(ctx.published).toEqual([app.appid]);
    expect(await issueApp(ctx, { site, name: "Name" })).not.toMatchObject({ secret: app.secret });
  });

  it("an app may be imported with its appid, its secret or both", async () => {
    const { siteId } = await World.create();
    const site = await siteOf({ siteId });
    const appid = `imported-${siteId}`;
    expect(await issueApp(contextAt(NOW), { site, name: "N", appid, secret: "imported secret" })).toMatchObject({
      appid,
      secret: "imported secret",
      name: "N",
    });
    expect(await open(appid, "current", (await rowOf(appid)).secret)).toBe("imported secret");
    expect(await issueApp(contextAt(NOW), { site, name: "N", secret: "the same" })).toMatchObject({
      secret: "the same",
    });
    expect(await issueApp(contextAt(NOW), { site, name: "N", appid: `${appid}_2` })).toMatchObject({
      appid: `${appid}_2`,
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("a taken appid is refused for every site, also when two sites ask for it together", async () => {
    const [owner, other] = [await World.create(), await World.create()];
    const before = await rowOf(owner.appid);
    const ctx = contextAt(NOW + 1);
    const attempt = issueApp(ctx, { site: await siteOf(other), name: "Other", appid: owner.appid });
    await expect(attempt).rejects.toMatchObject(conflict("appid_taken"));
    for (const site of [await siteOf(owner), await siteOf(other)]) {
      await expect(checkAppid(ctx, { site, appid: owner.appid })).rejects.toMatchObject(conflict("appid_taken"));
    }
    expect(await rowOf(owner.appid)).toEqual(before);
    expect(ctx.published).toEqual([]);
    const appid = `raced-${owner.siteId}`;
    const both = [await siteOf(owner), await siteOf(other)];
    for (const site of both) await checkAppid(ctx, { site, appid });
    const outcomes = await Promise.allSettled(
      both.map((site) => issueApp(contextAt(NOW), { site, name: "Raced", appid })),
    );
    const winners = outcomes.filter((each) => each.status === "fulfilled").map(({ value }) => value);
    expect(refusals(outcomes)).toEqual(["appid_taken"]);
    expect(winners).toHaveLength(1);
    expect(await open(appid, "current", (await rowOf(appid)).secret)).toBe(winners[0]?.secret);
  });

  it.each<[string, unknown]>([
    ["one character", { appid: "a" }],
    ["64 characters", { appid: `-_${"Z".repeat(62)}` }],
    ["8 characters", { secret: "12345678" }],
    ["256 characters", { secret: " ".repeat(128) + "~".repeat(128) }],
  ])("a new app may have an imported value of %s: %o", (_, change) => {
    expect(issueAppSchema.safeParse({ name: "N", ...(change as object) }).success).toBe(true);
  });

  const APPID = "must be 1 to 64 of A-Z a-z 0-9 _ -";
  const SECRET = "must be 8 to 256 printable ASCII characters";

  it.each<[string, unknown, string]>([
    ["appid", "", APPID],
    ["appid", "a".repeat(65), APPID],
    ["appid", "a b", APPID],
    ["appid", "a\n", APPID],
    ["appid", "漢", APPID],
    ["appid", 5, APPID],
    ["appid", null, APPID],
    ["secret", "1234567", SECRET],
    ["secret", "x".repeat(257), SECRET],
    ["secret", "tab\tinside", SECRET],
    ["secret", "line\ninside", SECRET],
    ["secret", "1234567é", SECRET],
    ["secret", null, SECRET],
    ["secret", 12345678, SECRET],
    [
      "name",
      "",
      "must be a string of 1 to 100 characters, at least one of them visible and none a control character or direction override",
    ],
    ["other", 1, "is not a field of this call"],
  ])("a new app with the %s %j is refused", (field, value, message) => {
    expect(problemsOf(issueAppSchema, { name: "N", [field]: value })).toEqual([{ field, message }]);
  });
});

describe("rotating a secret", () => {
  it("a secret rotation makes a new secret and stores the previous one, sealed for its slot, until the overlap ends", async () => {
    const { appid, secret } = await World.create();
    const before = await rowOf(appid);
    const ctx = contextAt(NOW + 5);
    const rotation = await rotateSecret(ctx, { appid, overlapSeconds: 60 });
    expect(rotation).toEqual({
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
      version: expect.stringMatching(/^[0-9a-f]{32}$/),
      previousExpiresAt: NOW + 65,
    });
    const row = await rowOf(appid);
    expect(row).toMatchObject({
      version: rotation.version,
      previous_version: before.version,
      previous_expires_at: NOW + 65,
      revoked_at: null,
    });
    expect(row.version).not.toBe(before.version);
    expect(await open(appid, "current", row.secret)).toBe(rotation.secret);
    expect(await open(appid, "previous", row.previous_secret)).toBe(secret);
    expect(ctx.published).toEqual([appid]);
  });

  it("each of several secret rotations at the same time answers a secret that was in force, and no secret twice", async () => {
    const { appid, secret } = await World.create();
    const rotate = () => rotateSecret(contextAt(NOW), { appid, overlapSeconds: 60, ends: "previous" });
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, rotate));
    const secrets = outcomes.filter((each) => each.status === "fulfilled").map(({ value }) => value.secret);
    expect(secrets.length).toBeGreaterThan(0);
    expect(new Set(refusals(outcomes))).toEqual(new Set(secrets.length < 8 ? ["rotation_busy"] : []));
    const row = await rowOf(appid);
    expect(await rotations(appid)).toBe(secrets.length);
    const inForce = [await open(appid, "current", row.secret), await open(appid, "previous", row.previous_secret)];
    for (const each of inForce) expect([secret, ...secrets]).toContain(each);
    expect(secrets).toContain(inForce[0]);
  });

  it("a secret rotation tries again when another one came first, and gives up after three tries", async () => {
    const { appid } = await World.create();
    const rotatedMeanwhile = (times: number) => {
      let triesLeft = times;
      const batch = async (statements: D1PreparedStatement[]) => {
        if (triesLeft-- > 0) await rotateSecret(contextAt(NOW), { appid, overlapSeconds: 60, ends: "previous" });
        return env.DB.batch(statements);
      };
      return contextAt(NOW, { DB: replacing(env.DB, { batch }) });
    };
    const rotation = { appid, overlapSeconds: 60, ends: "previous" } as const;
    expect(await rotateSecret(rotatedMeanwhile(2), rotation)).toMatchObject({ previousExpiresAt: NOW + 60 });
    expect(await rotations(appid)).toBe(3);
    const ctx = rotatedMeanwhile(3);
    await expect(rotateSecret(ctx, rotation)).rejects.toMatchObject(conflict("rotation_busy"));
    expect(await rotations(appid)).toBe(6);
    expect(ctx.published).toEqual([]);
  });

  it("a secret rotation puts the stored secrets into KV, even when its answer was lost and the overlap ended meanwhile", async () => {
    const { appid } = await World.create();
    const records: unknown[] = [];
    const CREDENTIALS = replacing(env.CREDENTIALS, {
      put: async (_: string, text: string) => void records.push(JSON.parse(text)),
    });
    const { db } = lateDb(env.DB, "answer lost", () => endOverlap(contextAt(NOW), { appid }));
    await rotateSecret(contextAt(NOW, { DB: db, CREDENTIALS }), { appid, overlapSeconds: 60 });
    const { version, secret } = await rowOf(appid);
    const none = { previousVersion: null, previousSecret: null, previousExpiresAt: null };
    expect(records).toMatchObject([{ appid, version, secret, ...none }]);
  });

  it("a secret rotation does nothing to a revoked or unknown app", async () => {
    const { appid } = await World.create();
    const { version } = await rowOf(appid);
    const batch = async (statements: D1PreparedStatement[]) => {
      await revokeApp(contextAt(NOW), { appid });
      return env.DB.batch(statements);
    };
    const rotate = (ctx = contextAt(NOW)) => rotateSecret(ctx, { appid, overlapSeconds: 60 });
    const meanwhile = contextAt(NOW, { DB: replacing(env.DB, { batch }) });
    await expect(rotate(meanwhile)).rejects.toMatchObject(conflict("app_revoked"));
    await expect(rotate()).rejects.toMatchObject(conflict("app_revoked"));
    expect(await rowOf(appid)).toMatchObject({ version, previous_version: null, previous_secret: null });
    const unknown = rotateSecret(contextAt(NOW), { appid: "unknown-app", overlapSeconds: 60 });
    await expect(unknown).rejects.toMatchObject({ code: "not_found" });
  });

  it("a secret rotation's overlap is a day by default, and may be 0 to 604800 s", () => {
    expect(rotationSchema.parse({})).toEqual({ overlap_seconds: 86_400 });
    for (const seconds of [0, 604_800]) {
      expect(rotationSchema.parse({ overlap_seconds: seconds })).toEqual({ overlap_seconds: seconds });
    }
  });

  it.each([[""], ["x".repeat(101)], [1], [null], [true], [["v"]]])(
    "a secret rotation refuses %j as the expected version",
    (expected_version) => {
      expect(problemsOf(rotationSchema, { expected_version })).toEqual([
        { field: "expected_version", message: "must be a string of 1 to 100 characters" },
      ]);
    },
  );

  it.each([[-1], [604_801], [1.5], ["60"], [null], [true]])(
    "a secret rotation refuses an overlap of %j",
    (overlap_seconds) => {
      expect(problemsOf(rotationSchema, { overlap_seconds })).toEqual([
        { field: "overlap_seconds", message: "must be an integer from 0 to 604800" },
      ]);
    },
  );
});

describe("revoking an app", () => {
  it("revoking an app twice keeps the first time and puts the record into the caches", async () => {
    const { appid } = await World.create();
    const { version } = await rowOf(appid);
    const ctx = contextAt(NOW);
    await revokeApp(ctx, { appid });
    await revokeApp(contextAt(NOW + 100), { appid });
    expect(await rowOf(appid)).toMatchObject({ revoked_at: NOW, version });
    expect(ctx.published).toEqual([appid]);
  });
});

describe("reading a secret", () => {
  it("a secret is read only for its own version, not for an older or newer one", async () => {
    const { siteId, appid, secret } = await World.create();
    const { version } = await rowOf(appid);
    const ctx = contextAt(NOW);
    const site = await siteOf({ siteId });
    expect(await readSecret(ctx, { site, appid, version })).toBe(secret);
    const rotation = await rotateSecret(ctx, { appid, overlapSeconds: 60 });
    await expect(readSecret(ctx, { site, appid, version })).rejects.toMatchObject(conflict("version_other"));
    expect(await readSecret(ctx, { site, appid, version: rotation.version })).toBe(rotation.secret);
  });

  it("a secret cannot be read of a revoked app, of another site's app, or with another master key", async () => {
    const [{ siteId, appid }, other] = [await World.create(), await World.create()];
    const { version } = await rowOf(appid);
    const site = await siteOf({ siteId });
    const read = (change: Partial<Parameters<typeof readSecret>[1]>, ctx = contextAt(NOW)) =>
      readSecret(ctx, { site, appid, version, ...change });
    await expect(read({ site: await siteOf(other) })).rejects.toMatchObject({ code: "not_found" });
    await expect(read({ appid: "unknown-app" })).rejects.toMatchObject({ code: "not_found" });
    const wrong = contextAt(NOW, { MASTER_KEY: OTHER_MASTER_KEY });
    await expect(read({}, wrong)).rejects.toMatchObject({ code: "internal", context: { reason: "master_key_wrong" } });
    await revokeApp(contextAt(NOW), { appid });
    await expect(read({})).rejects.toMatchObject(conflict("app_revoked"));
  });
});

describe("an app's change", () => {
  it("a change of an app is undone as a whole when a later statement of its batch fails", async () => {
    const { appid, siteId } = await World.create();
    const before = await rowOf(appid);
    const failing = replacing(env.DB, {
      batch: (statements: D1PreparedStatement[]) =>
        env.DB.batch([...statements, env.DB.prepare("INSERT INTO sites (id, name) VALUES (1, NULL)")]),
    });
    const ctx = contextAt(NOW, { DB: failing });
    await expect(rotateSecret(ctx, { appid, overlapSeconds: 60 })).rejects.toMatchObject({ code: "internal" });
    await expect(revokeApp(ctx, { appid })).rejects.toMatchObject({ code: "internal" });
    const site = await siteOf({ siteId });
    const attempt = issueApp(ctx, { site, name: "N", appid: `failed-${siteId}` });
    await expect(attempt).rejects.toMatchObject({ code: "internal" });
    expect(await rowOf(appid)).toEqual(before);
    await expect(rowOf(`failed-${siteId}`)).rejects.toThrow("no such app");
    expect(ctx.published).toEqual([]);
  });
});
