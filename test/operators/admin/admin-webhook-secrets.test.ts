import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { importKeyring, unseal } from "../../../src/core/credentials/sealed-secret.ts";
import { type AdminAnswer, call, problem } from "../../support/admin-calls.ts";
import { replacing } from "../../support/replacing.ts";
import { addWebhook, eventStore } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

afterEach(() => void vi.restoreAllMocks());

const summary = ({ status, body }: AdminAnswer) => ({ status, body });
const WHSEC = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/);

const rotate = (world: World, id: string, body?: unknown) =>
  call(world, "POST", `/admin/sites/${world.siteId}/webhooks/${id}/rotate`, body);
const secretOf = (answer: AdminAnswer) => (answer.body as { secret: string }).secret;

/** The opened secrets of a site's only webhook, with the rest of its row. */
async function unsealed(world: World) {
  const [row = {}] = (await eventStore(world)).webhooks;
  const keyring = await importKeyring([Uint8Array.fromBase64(env.MASTER_KEY)]);
  const open = async (slot: "current" | "previous", version: unknown, sealed: unknown) => {
    if (sealed === null) return null;
    const owner = { siteId: world.siteId, webhookId: String(row.id), version: String(version) };
    return unseal(keyring, owner, slot, String(sealed));
  };
  return {
    row,
    current: await open("current", row.version, row.secret),
    previous: await open("previous", row.previous_version, row.previous_secret),
  };
}

describe("POST /admin/sites/:site_id/webhooks/:webhook_id/rotate", () => {
  it("rotating a webhook secret is 200; the previous secret verifies for one more day, and an earlier one ends at once", async () => {
    const world = await World.create();
    const { id, secret: first } = await addWebhook(world);
    const before = (await unsealed(world)).row;
    const answer = await rotate(world, id);
    const version = expect.stringMatching(/^[0-9a-f]{32}$/);
    expect(summary(answer)).toEqual({
      status: 200,
      body: { secret: WHSEC, version, previous_expires_at: NOW + 86_400 },
    });
    const second = secretOf(answer);
    expect(second).not.toBe(first);
    const after = await unsealed(world);
    expect(after).toMatchObject({ current: second, previous: first });
    expect(after.row).toMatchObject({ previous_version: before.version, previous_expires_at: NOW + 86_400 });
    expect(after.row.version).not.toBe(before.version);
    expect(after.row.version).toBe((answer.body as { version: string }).version);
    const third = secretOf(await rotate(world, id, { ends: "previous" }));
    expect(await unsealed(world)).toMatchObject({ current: third, previous: second });
    const list = await call(world, "GET", `/admin/sites/${world.siteId}/webhooks`);
    const listedVersion = (await unsealed(world)).row.version;
    expect(list.body).toMatchObject({ items: [{ version: listedVersion, previous_expires_at: NOW + 86_400 }] });
    const { audit } = await eventStore(world);
    const rotation = (from: unknown, to: unknown) => ({ version: to, from, to, previous_expires_at: NOW + 86_400 });
    const entry = { action: "webhook.rotated", actor: "admin-api", at: NOW, subject: id };
    expect(audit.slice(2)).toEqual([
      { ...entry, details: rotation(before.version, after.row.version) },
      { ...entry, details: { ...rotation(after.row.version, listedVersion), ends: "previous" } },
    ]);
  });

  it("rotating a webhook secret keeps the previous secret for the given seconds", async () => {
    const world = await World.create();
    for (const overlap_seconds of [1, 604_800]) {
      const { body } = await rotate(world, (await addWebhook(world)).id, { overlap_seconds });
      expect(body).toMatchObject({ previous_expires_at: NOW + overlap_seconds });
    }
  });

  const WRONG: [body: unknown, field: string, message: string][] = [
    [{ overlap_seconds: -1 }, "overlap_seconds", "must be an integer from 0 to 604800"],
    [{ overlap_seconds: 604_801 }, "overlap_seconds", "must be an integer from 0 to 604800"],
    [{ overlap_seconds: "60" }, "overlap_seconds", "must be an integer from 0 to 604800"],
    [{ overlap_seconds: 1.5 }, "overlap_seconds", "must be an integer from 0 to 604800"],
    [{ expected_version: "" }, "expected_version", "must be a string of 1 to 100 characters"],
    [{ ends: "oldest" }, "ends", 'must be "previous" or "current"'],
    [{ ends: null }, "ends", 'must be "previous" or "current"'],
    [
      { ends: "current", overlap_seconds: 0 },
      "ends",
      'must not be "current" with overlap_seconds 0, which ends the previous secret too',
    ],
    [{ surplus: 1 }, "surplus", "is not a field of this call"],
  ];

  it("rotating a webhook secret refuses a wrong body and changes nothing", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    const before = await eventStore(world);
    for (const [body, field, message] of WRONG) {
      const expected = problem(400, "Invalid input", [{ field, message }]);
      expect([body, summary(await rotate(world, id, body))]).toEqual([body, expected]);
    }
    expect(await eventStore(world)).toEqual(before);
  });

  it("a rotation of a webhook secret happens once when the database loses its answer, and shows the stored secret", async () => {
    const world = await World.create();
    const { id, secret: first } = await addWebhook(world);
    let tries = 0;
    const batch = async (statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch(statements);
      if (tries++ === 0) throw new Error("D1_ERROR: Network connection lost.");
      return results;
    };
    const answer = await rotate(world.anotherIsolate({ DB: replacing(env.DB, { batch }) }), id);
    expect(answer.status).toBe(200);
    expect(tries).toBeGreaterThan(1);
    expect(await unsealed(world)).toMatchObject({ current: secretOf(answer), previous: first });
    const { audit } = await eventStore(world);
    expect(audit.filter(({ action }) => action === "webhook.rotated")).toHaveLength(1);
  });

  it("callers who rotate a webhook secret at the same time each get their own secret, and the last one is in force", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    const answers = await Promise.all([1, 2, 3].map(() => rotate(world, id, { ends: "previous" })));
    const secrets = answers.filter(({ status }) => status === 200).map(secretOf);
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
    const { current, previous } = await unsealed(world);
    expect(secrets).toContain(current);
    if (secrets.length > 1) expect(secrets).toContain(previous);
    const { audit } = await eventStore(world);
    expect(audit.filter(({ action }) => action === "webhook.rotated")).toHaveLength(secrets.length);
  });

  it("rotating a webhook secret is 500 when no master key opens the secret, and changes nothing", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const world = await World.create();
    const { id } = await addWebhook(world);
    const before = await eventStore(world);
    const isolate = world.anotherIsolate({ MASTER_KEY: btoa("another master key of 32 bytes!!") });
    expect((await rotate(isolate, id)).status).toBe(500);
    expect(await eventStore(world)).toEqual(before);
  });
});

describe("a webhook's secret and the path of its URL", () => {
  it("a webhook's secret is in no log, no table and no later answer, and its URL path is in no log", async () => {
    const lines: string[] = [];
    for (const method of ["log", "info", "warn", "error", "debug"] as const) {
      vi.spyOn(console, method).mockImplementation((...args: unknown[]) => void lines.push(args.map(String).join(" ")));
    }
    const world = await World.create();
    const token = "token-Zq81Kd";
    const { id, secret } = await addWebhook(world, { url: `https://hooks.example.com/${token}` });
    const newSecret = secretOf(await rotate(world, id));
    const sitePath = `/admin/sites/${world.siteId}`;
    const answers = [
      await call(world, "GET", `${sitePath}/webhooks`),
      await call(world, "PATCH", `${sitePath}/webhooks/${id}`, { url: `https://second.example.com/${token}` }),
      await call(world, "POST", `${sitePath}/webhooks`, { url: `https://user:${token}@hooks.example.com/` }),
      await call(world, "POST", `${sitePath}/webhooks/${id}/ping`),
      await call(world, "GET", `${sitePath}/webhooks/${id}/deliveries`),
      await call(world, "GET", `${sitePath}/events`),
      await call(world, "GET", `/admin/audit?site_id=${world.siteId}`),
      await call(world, "DELETE", `${sitePath}/webhooks/${id}`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 202, 200, 200, 200, 204]);
    expect(lines.length).toBeGreaterThanOrEqual(answers.length);
    const { results } = await env.DB.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all<{
      name: string;
    }>();
    const tables = results.map(({ name }) => name).filter((name) => !/^(_cf_|sqlite_|d1_)/.test(name));
    const contents = await env.DB.batch(tables.map((table) => env.DB.prepare(`SELECT * FROM ${table}`)));
    const rows = JSON.stringify(contents.map((result) => result.results));
    const bodies = JSON.stringify(answers.map(({ body }) => body));
    for (const each of [secret, newSecret, secret.slice(6), newSecret.slice(6)]) {
      expect([rows, bodies, lines.join("\n")].map((text) => text.includes(each))).toEqual([false, false, false]);
    }
    expect(lines.join("\n")).not.toContain(token);
    expect(JSON.stringify(answers[6]?.body)).not.toContain(token);
  });
});
