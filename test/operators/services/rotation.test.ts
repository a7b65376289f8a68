import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { importKeyring, type Slot, unseal } from "../../../src/core/credentials/sealed-secret.ts";
import { endOverlap, rotateSecret } from "../../../src/operators/services/app-secrets.ts";
import { revokeApp } from "../../../src/operators/services/apps.ts";
import { resealSecrets } from "../../../src/operators/services/reseal-secrets.ts";
import type { RotationInput } from "../../../src/operators/services/rotation.ts";
import type { ServiceContext } from "../../../src/operators/services/service-context.ts";
import { findSite } from "../../../src/operators/services/sites.ts";
import { endWebhookOverlap, rotateWebhookSecret } from "../../../src/operators/services/webhook-secrets.ts";
import { addWebhook, deleteWebhook } from "../../../src/operators/services/webhooks.ts";
import { forgetHashKeys } from "../../support/customers.ts";
import { lateDb } from "../../support/late-db.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW, World } from "../../support/world.ts";

const NEWER_KEY = Uint8Array.fromBase64(env.MASTER_KEY).toReversed().toBase64();
const KEYRING = await importKeyring([NEWER_KEY, env.MASTER_KEY].map((key) => Uint8Array.fromBase64(key)) as never);
const DAY = 86_400;

// A test seals all secrets with another key, and no webhook is added beside those: so each test begins without any.
beforeEach(async () => {
  await forgetHashKeys();
  await env.DB.exec("DELETE FROM webhooks; DELETE FROM apps");
});

const conflict = (reason: string) => ({ code: "conflict", context: { reason } });

/** The columns that hold the secrets of an app or a webhook. */
interface Row {
  version: string;
  secret: string;
  previous_version: string | null;
  previous_secret: string | null;
  previous_expires_at: number | null;
}

const NO_PREVIOUS = { previous_version: null, previous_secret: null, previous_expires_at: null };

interface Owner {
  /** The secret with which it was made. */
  secret: string;
  rotate: (
    ctx: ServiceContext,
    input: RotationInput,
  ) => Promise<{ secret: string; version: string; previousExpiresAt: number | null }>;
  end: (ctx: ServiceContext, input?: { expectedVersion?: string }) => Promise<{ version: string }>;
  row: () => Promise<Row>;
  /** Its secrets, opened. */
  secrets: () => Promise<{ current: string; previous: string | null }>;
  /** The actions of its rotations and their details, from the audit log. */
  audit: () => Promise<[string, Record<string, unknown>][]>;
}

const COLUMNS = "version, secret, previous_version, previous_secret, previous_expires_at";

/** @param owner the owner without the version, as seals name it */
function ownerOf(
  table: "apps WHERE appid" | "webhooks WHERE id",
  name: string,
  owner: { siteId: number; appid: string } | { siteId: number; webhookId: string },
): Pick<Owner, "row" | "secrets" | "audit"> {
  const row = async () => {
    const result = await env.DB.prepare(`SELECT ${COLUMNS} FROM ${table} = ?`).bind(name).first<Row>();
    if (result === null) throw new Error(`no ${name}`);
    return result;
  };
  const secrets = async () => {
    const { version, secret, previous_version, previous_secret } = await row();
    const open = (slot: Slot, of: string, sealed: string) => unseal(KEYRING, { ...owner, version: of }, slot, sealed);
    return {
      current: await open("current", version, secret),
      previous: previous_secret && (await open("previous", String(previous_version), previous_secret)),
    };
  };
  const audit = async () => {
    const sql = `SELECT action, details FROM audit_log WHERE subject = ?
      AND (action LIKE '%.rotated' OR action LIKE '%.overlap_ended') ORDER BY id`;
    const { results } = await env.DB.prepare(sql).bind(name).all<{ action: string; details: string }>();
    return results.map(({ action, details }): [string, Record<string, unknown>] => [
      action.replace(/^\w+\./, ""),
      JSON.parse(details) as Record<string, unknown>,
    ]);
  };
  return { row, secrets, audit };
}

async function newApp(): Promise<Owner> {
  const { appid, siteId, secret } = await World.create();
  return {
    ...ownerOf("apps WHERE appid", appid, { siteId, appid }),
    secret,
    rotate: (ctx, input) => rotateSecret(ctx, { appid, ...input }),
    end: (ctx, input) => endOverlap(ctx, { appid, ...input }),
  };
}

async function newWebhook(): Promise<Owner> {
  const site = await findSite(contextAt(NOW), await World.create());
  const { id: webhookId, secret } = await addWebhook(contextAt(NOW), { site, url: "https://hooks.example.com/" });
  const target = { site, webhookId };
  return {
    ...ownerOf("webhooks WHERE id", webhookId, { siteId: site.id, webhookId }),
    secret,
    rotate: (ctx, input) => rotateWebhookSecret(ctx, { ...target, ...input }),
    end: (ctx, input) => endWebhookOverlap(ctx, { ...target, ...input }),
  };
}

const OWNERS: [string, () => Promise<Owner>][] = [
  ["an app", newApp],
  ["a webhook", newWebhook],
];

/** A database that runs its first batch but loses the answer. `between` runs before the next try. */
const losing = (between?: () => Promise<unknown>) => contextAt(NOW, { DB: lateDb(env.DB, "answer lost", between).db });

/** A database on which `meanwhile` runs once, after the secrets are read and before the first batch. */
function crossed(meanwhile: () => Promise<unknown>) {
  let isDone = false;
  const batch = async (statements: D1PreparedStatement[]) => {
    if (!isDone) {
      isDone = true;
      await meanwhile();
    }
    return env.DB.batch(statements);
  };
  return contextAt(NOW, { DB: replacing(env.DB, { batch }) });
}

describe.each(OWNERS)("rotating the secret of %s", (_, make) => {
  it("a secret rotation is refused during an overlap when the call does not say which secret ends, and accepted afterwards", async () => {
    const { rotate, row, audit } = await make();
    const { version } = await rotate(contextAt(NOW), { overlapSeconds: DAY });
    const before = await row();
    for (const overlapSeconds of [1, DAY]) {
      for (const expectedVersion of [undefined, version]) {
        const secondRotation = rotate(contextAt(NOW + DAY - 1), { overlapSeconds, expectedVersion });
        await expect(secondRotation).rejects.toMatchObject(conflict("overlap_running"));
      }
    }
    expect([await row(), (await audit()).length]).toEqual([before, 1]);
    const { previousExpiresAt } = await rotate(contextAt(NOW + DAY), { overlapSeconds: DAY });
    expect(previousExpiresAt).toBe(NOW + 2 * DAY);
  });

  it('a secret rotation with ends "previous" makes the secret in use the previous one', async () => {
    const { rotate, row, secrets, audit } = await make();
    const second = await rotate(contextAt(NOW), { overlapSeconds: DAY });
    const third = await rotate(contextAt(NOW + 5), { overlapSeconds: 60, ends: "previous" });
    expect(third.previousExpiresAt).toBe(NOW + 65);
    expect(await secrets()).toEqual({ current: third.secret, previous: second.secret });
    expect(await row()).toMatchObject({ version: third.version, previous_version: second.version });
    const [, last] = await audit();
    const fromTo = { from: second.version, to: third.version };
    const details = { version: third.version, ...fromTo, previous_expires_at: NOW + 65, ends: "previous" };
    expect(last).toEqual(["rotated", details]);
  });

  it('a secret rotation with ends "current" replaces the newest secret, and the previous one works as long as before', async () => {
    const { secret, rotate, row, secrets, audit } = await make();
    const lostAnswer = await rotate(contextAt(NOW), { overlapSeconds: DAY });
    const before = await row();
    const answer = await rotate(contextAt(NOW + 5), { overlapSeconds: 60, ends: "current" });
    expect(answer).toMatchObject({ previousExpiresAt: NOW + DAY });
    expect(answer.version).not.toBe(lostAnswer.version);
    expect(await secrets()).toEqual({ current: answer.secret, previous: secret });
    const { version, secret: sealed, ...previous } = await row();
    expect(version).toBe(answer.version);
    expect(before).toMatchObject(previous);
    expect(sealed).not.toBe(before.secret);
    const fromTo = { from: lostAnswer.version, to: answer.version };
    const details = { version: answer.version, ...fromTo, previous_expires_at: NOW + DAY, ends: "current" };
    expect((await audit()).slice(1)).toEqual([["rotated", details]]);
  });

  it('a secret rotation with ends "current" is refused when no overlap runs', async () => {
    const { rotate, row, audit } = await make();
    const rotateAt = (now: number) => rotate(contextAt(now), { overlapSeconds: 60, ends: "current" });
    const first = await row();
    await expect(rotateAt(NOW)).rejects.toMatchObject(conflict("overlap_over"));
    expect(await row()).toEqual(first);
    await rotate(contextAt(NOW), { overlapSeconds: DAY });
    const before = await row();
    await expect(rotateAt(NOW + DAY)).rejects.toMatchObject(conflict("overlap_over"));
    expect([await row(), (await audit()).length]).toEqual([before, 1]);
  });

  it('a secret rotation with ends "previous" and without a previous secret is an ordinary rotation', async () => {
    const { secret, rotate, secrets } = await make();
    const rotation = await rotate(contextAt(NOW), { overlapSeconds: 60, ends: "previous" });
    expect(rotation.previousExpiresAt).toBe(NOW + 60);
    expect(await secrets()).toEqual({ current: rotation.secret, previous: secret });
  });

  it.each([undefined, "previous"] as const)(
    "a secret rotation without overlap removes both old secrets, during an overlap too; ends: %s",
    async (ends) => {
      const { rotate, row, secrets, audit } = await make();
      for (const overlapSeconds of [0, DAY, 0]) {
        const rotation = await rotate(contextAt(NOW), { overlapSeconds, ends });
        if (overlapSeconds > 0) continue;
        expect(rotation.previousExpiresAt).toBeNull();
        expect(await row()).toMatchObject({ version: rotation.version, ...NO_PREVIOUS });
        expect(await secrets()).toEqual({ current: rotation.secret, previous: null });
        expect((await audit()).at(-1)?.[1]).toMatchObject({ version: rotation.version, previous_expires_at: null });
      }
    },
  );

  it('a secret rotation without overlap and with ends "current" is refused', async () => {
    const { rotate, row } = await make();
    await rotate(contextAt(NOW), { overlapSeconds: DAY });
    const before = await row();
    const attempt = rotate(contextAt(NOW), { overlapSeconds: 0, ends: "current" });
    await expect(attempt).rejects.toMatchObject({ code: "invalid_input" });
    expect(await row()).toEqual(before);
  });

  it("equal secret rotations with an expected version rotate once", async () => {
    const { rotate, row, audit } = await make();
    const { version: expectedVersion } = await row();
    const calls = [1, 2, 3].map(() =>
      rotate(contextAt(NOW), { overlapSeconds: 60, expectedVersion, ends: "previous" }),
    );
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const each of outcomes) {
      if (each.status === "rejected") expect(each.reason).toMatchObject(conflict("version_other"));
    }
    expect((await audit()).map(([action]) => action)).toEqual(["rotated"]);
  });

  it.each<[string, RotationInput]>([
    ["a first one", { overlapSeconds: DAY }],
    ["ends: previous", { overlapSeconds: 60, ends: "previous" }],
    ["ends: current", { overlapSeconds: 60, ends: "current" }],
    ["without overlap", { overlapSeconds: 0 }],
  ])("a secret rotation recognises its own result when D1's answer was lost: %s", async (name, input) => {
    const { rotate, row, secrets, audit } = await make();
    const isFirst = name === "a first one";
    if (!isFirst) await rotate(contextAt(NOW), { overlapSeconds: DAY });
    const answer = await rotate(losing(), input);
    const newRow = await row();
    expect(newRow).toMatchObject({ version: answer.version, previous_expires_at: answer.previousExpiresAt });
    expect((await secrets()).current).toBe(answer.secret);
    expect(await audit()).toHaveLength(isFirst ? 1 : 2);
  });

  it("a secret rotation shows the stored secret although the secret was re-sealed and the overlap ended before the answer", async () => {
    const { rotate, end, row, secrets, audit } = await make();
    const ctx = losing(async () => {
      await end(contextAt(NOW));
      vi.spyOn(console, "warn").mockImplementation(() => {});
      await resealSecrets(contextAt(NOW, { MASTER_KEY: NEWER_KEY, MASTER_KEY_PREVIOUS: env.MASTER_KEY }));
      vi.restoreAllMocks();
    });
    const answer = await rotate(ctx, { overlapSeconds: DAY });
    expect(answer.previousExpiresAt).toBeNull();
    expect(await row()).toMatchObject({ version: answer.version, ...NO_PREVIOUS });
    expect(await secrets()).toEqual({ current: answer.secret, previous: null });
    expect((await audit()).map(([action]) => action)).toEqual(["rotated", "overlap_ended"]);
  });

  it('a secret rotation with ends "current" is refused when another operator ended the overlap meanwhile', async () => {
    const { rotate, end, row } = await make();
    await rotate(contextAt(NOW), { overlapSeconds: DAY });
    let before: Row | undefined;
    const ctx = crossed(async () => {
      await end(contextAt(NOW));
      before = await row();
    });
    const crossing = rotate(ctx, { overlapSeconds: 60, ends: "current" });
    await expect(crossing).rejects.toMatchObject(conflict("overlap_over"));
    expect(await row()).toEqual(before);
  });

  it("a secret rotation that commits late undoes no later rotation and no later end of an overlap", async () => {
    const { rotate, end, row, audit } = await make();
    await rotate(contextAt(NOW), { overlapSeconds: DAY });
    for (const meanwhile of [
      () => rotate(contextAt(NOW), { overlapSeconds: DAY, ends: "current" }),
      () => end(contextAt(NOW)),
    ]) {
      const { db, commitLate } = lateDb(env.DB, "late", meanwhile);
      await rotate(contextAt(NOW, { DB: db }), { overlapSeconds: 60, ends: "previous" });
      const before = [await row(), await audit()];
      await commitLate();
      expect([await row(), await audit()]).toEqual(before);
    }
  });
});

describe.each(OWNERS)("ending the overlap of %s", (_, make) => {
  it("ending a secret's overlap removes the previous secret and leaves one audit row, however often it is called", async () => {
    const { rotate, end, row, secrets, audit, secret } = await make();
    const { version: first } = await row();
    const result = await rotate(contextAt(NOW), { overlapSeconds: DAY });
    expect((await secrets()).previous).toBe(secret);
    for (let i = 0; i < 3; i++) {
      expect(await end(contextAt(NOW + i), { expectedVersion: result.version })).toEqual({ version: result.version });
      expect(await row()).toMatchObject({ version: result.version, ...NO_PREVIOUS });
      expect(await secrets()).toEqual({ current: result.secret, previous: null });
    }
    const details = { version: result.version, previous_version: first };
    expect((await audit()).slice(1)).toEqual([["overlap_ended", details]]);
  });

  it("ending a secret's overlap changes nothing without a rotation, and removes a previous secret that has expired", async () => {
    const { rotate, end, row, audit } = await make();
    const before = await row();
    expect(await end(contextAt(NOW))).toEqual({ version: before.version });
    expect([await row(), await audit()]).toEqual([before, []]);
    await rotate(contextAt(NOW), { overlapSeconds: 60 });
    await end(contextAt(NOW + 60));
    expect(await row()).toMatchObject(NO_PREVIOUS);
    expect((await audit()).map(([action]) => action)).toEqual(["rotated", "overlap_ended"]);
  });

  it("ending a secret's overlap is refused and changes nothing when the expected version is another one", async () => {
    const { rotate, end, row, audit } = await make();
    const { version: expectedVersion } = await row();
    await rotate(contextAt(NOW), { overlapSeconds: DAY });
    const before = await row();
    await expect(end(contextAt(NOW), { expectedVersion })).rejects.toMatchObject(conflict("version_other"));
    expect([await row(), (await audit()).length]).toEqual([before, 1]);
  });

  it("ending a secret's overlap is done once when D1's answer was lost", async () => {
    const { rotate, end, row, audit } = await make();
    const { version } = await rotate(contextAt(NOW), { overlapSeconds: DAY });
    expect(await end(losing())).toEqual({ version });
    expect(await row()).toMatchObject({ version, ...NO_PREVIOUS });
    expect(await audit()).toHaveLength(2);
  });

  it.each(["answer lost", "late"] as const)(
    "a second try to end a secret's overlap does not end the overlap of a rotation that came in between: %s",
    async (way) => {
      const { rotate, end, row, audit } = await make();
      await rotate(contextAt(NOW), { overlapSeconds: DAY });
      const otherRotation = () => rotate(contextAt(NOW), { overlapSeconds: DAY, ends: "previous" });
      const { db, commitLate } = lateDb(env.DB, way, otherRotation);
      await expect(end(contextAt(NOW, { DB: db }))).rejects.toMatchObject(conflict("version_other"));
      const before = [await row(), await audit()];
      if (way === "late") await commitLate();
      expect([await row(), await audit()]).toEqual(before);
      expect((before[0] as Row).previous_expires_at).toBe(NOW + DAY);
    },
  );

  it("ending a secret's overlap never ends the overlap of a rotation that came before it was written", async () => {
    const { rotate, end, row, audit } = await make();
    await rotate(contextAt(NOW), { overlapSeconds: DAY });
    const ctx = crossed(() => rotate(contextAt(NOW), { overlapSeconds: DAY, ends: "current" }));
    await expect(end(ctx)).rejects.toMatchObject(conflict("version_other"));
    expect((await row()).previous_expires_at).toBe(NOW + DAY);
    expect((await audit()).map(([action]) => action)).toEqual(["rotated", "rotated"]);
  });
});

describe.each(OWNERS)("a day of rotations of %s", (_, make) => {
  it("a series of rotations ends no secret that no call named", async () => {
    const { secret: first, rotate, end, secrets } = await make();
    const at = (hour: number) => contextAt(NOW + hour * 3_600);
    const second = await rotate(at(0), { overlapSeconds: DAY });
    await expect(rotate(at(1), { overlapSeconds: DAY })).rejects.toMatchObject(conflict("overlap_running"));
    const third = await rotate(at(2), { overlapSeconds: DAY, ends: "current" });
    expect(await secrets()).toEqual({ current: third.secret, previous: first });
    const fourth = await rotate(at(3), { overlapSeconds: DAY, ends: "previous" });
    expect(await secrets()).toEqual({ current: fourth.secret, previous: third.secret });
    expect(fourth.previousExpiresAt).toBe(NOW + 3 * 3_600 + DAY);
    await end(at(4));
    const fifth = await rotate(at(5), { overlapSeconds: DAY });
    expect(await secrets()).toEqual({ current: fifth.secret, previous: fourth.secret });
    expect(second.secret).not.toBe(third.secret);
  });

  it("re-sealing after rotations renews rows with and without a previous secret", async () => {
    const { rotate, end, row, secrets } = await make();
    const newer = () => contextAt(NOW, { MASTER_KEY: NEWER_KEY, MASTER_KEY_PREVIOUS: env.MASTER_KEY });
    await rotate(contextAt(NOW), { overlapSeconds: DAY });
    await end(contextAt(NOW));
    const first = await rotate(contextAt(NOW), { overlapSeconds: 0 });
    vi.spyOn(console, "warn").mockImplementation(() => {});
    await resealSecrets(newer());
    vi.restoreAllMocks();
    const mark = `v2.${KEYRING.sealing.id}.`;
    expect(await row()).toMatchObject({ secret: expect.stringContaining(mark), ...NO_PREVIOUS });
    expect((await secrets()).current).toBe(first.secret);
    await rotate(newer(), { overlapSeconds: DAY });
    const second = await rotate(newer(), { overlapSeconds: DAY, ends: "current" });
    expect(await secrets()).toEqual({ current: second.secret, previous: first.secret });
  });
});

describe("POST /admin/apps/:appid/end-overlap and POST /admin/sites/:site_id/webhooks/:webhook_id/end-overlap: ending the overlap", () => {
  it("ending a secret's overlap is refused for an unknown app and for an app that is revoked, even meanwhile", async () => {
    const { appid } = await World.create();
    const previous = () =>
      env.DB.prepare("SELECT previous_expires_at AS at FROM apps WHERE appid = ?").bind(appid).first<number>("at");
    await rotateSecret(contextAt(NOW), { appid, overlapSeconds: DAY });
    const ctx = crossed(() => revokeApp(contextAt(NOW), { appid }));
    for (const each of [ctx, contextAt(NOW)]) {
      await expect(endOverlap(each, { appid })).rejects.toMatchObject(conflict("app_revoked"));
    }
    expect(await previous()).toBe(NOW + DAY);
    await expect(endOverlap(contextAt(NOW), { appid: "unknown" })).rejects.toMatchObject({ code: "not_found" });
  });

  it("ending a secret's overlap is 404 for a webhook that is deleted meanwhile", async () => {
    const site = await findSite(contextAt(NOW), await World.create());
    const { id: webhookId } = await addWebhook(contextAt(NOW), { site, url: "https://hooks.example.com/" });
    const target = { site, webhookId };
    await rotateWebhookSecret(contextAt(NOW), { ...target, overlapSeconds: DAY });
    const ctx = crossed(() => deleteWebhook(contextAt(NOW), target));
    await expect(endWebhookOverlap(ctx, target)).rejects.toMatchObject({ code: "not_found" });
  });

  it("ending a secret's overlap puts a record without the previous secret into KV", async () => {
    const { appid } = await World.create();
    const put: string[] = [];
    const CREDENTIALS = replacing(env.CREDENTIALS, { put: async (_: string, value: string) => void put.push(value) });
    const ctx = () => contextAt(NOW, { CREDENTIALS });
    await rotateSecret(ctx(), { appid, overlapSeconds: DAY });
    await endOverlap(ctx(), { appid });
    // A call that changes nothing writes nothing.
    await endOverlap(ctx(), { appid });
    await rotateSecret(ctx(), { appid, overlapSeconds: DAY });
    await rotateSecret(ctx(), { appid, overlapSeconds: 0 });
    const records = put.map((value) => JSON.parse(value) as Record<string, unknown>);
    const none = { previousVersion: null, previousSecret: null, previousExpiresAt: null };
    expect(records).toMatchObject([{ previousExpiresAt: NOW + DAY }, none, { previousExpiresAt: NOW + DAY }, none]);
  });
});
