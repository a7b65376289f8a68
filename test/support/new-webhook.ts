import { env } from "cloudflare:workers";
import { importKeyring, seal } from "../../src/core/credentials/sealed-secret.ts";
import { newWebhookSecret } from "../../src/events/secret.ts";
import { EVENT_TYPES } from "../../src/operators/services/webhooks.ts";
import { databaseOf } from "./homes.ts";
import { NOW, runtimeAt } from "./test-runtime.ts";

/** A webhook of a site, with its secret in clear text. */
export interface TestWebhook {
  siteId: number;
  home: string;
  id: string;
  url: string;
  secret: string;
}

const runtime = runtimeAt(() => NOW * 1000);

/** Stores an enabled webhook, and turns the site's events on. `row` replaces columns. */
export async function newWebhook(
  { siteId, home }: { siteId: number; home: string },
  row: Record<string, string | number | null> = {},
): Promise<TestWebhook> {
  const id = String(row.id ?? `wh_${runtime.bytes(16).toHex()}`);
  const secret = newWebhookSecret(runtime);
  const all = {
    site_id: siteId,
    id,
    url: `https://hooks.example.com/${id}`,
    events: JSON.stringify(EVENT_TYPES),
    status: "enabled",
    slow: 0,
    created_at: NOW,
    ...(await sealedIn("current", { siteId, id }, secret)),
    ...row,
  };
  const db = databaseOf(home);
  const names = Object.keys(all);
  await db
    .prepare(`INSERT INTO webhooks (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`)
    .bind(...Object.values(all))
    .run();
  await eventsOn({ siteId, home });
  return { siteId, home, id, url: String(all.url), secret };
}

/** Turns a site's events on, in its home and in the records of its apps. */
export async function eventsOn({ siteId, home }: { siteId: number; home: string }): Promise<void> {
  const db = databaseOf(home);
  await db.prepare("UPDATE home_sites SET events = 1 WHERE site_id = ?").bind(siteId).run();
  const { results } = await db
    .prepare("SELECT appid FROM apps WHERE site_id = ?")
    .bind(siteId)
    .all<{ appid: string }>();
  for (const { appid } of results) {
    const record = await env.CREDENTIALS.get<object>(`app:${appid}`, "json");
    if (record !== null) await env.CREDENTIALS.put(`app:${appid}`, JSON.stringify({ ...record, events: true }));
  }
}

/** The columns of a secret in a slot, sealed with the tests' master key. */
export async function sealedIn(
  slot: "current" | "previous",
  { siteId, id }: { siteId: number; id: string },
  secret: string,
): Promise<Record<string, string>> {
  const keyring = await importKeyring([Uint8Array.fromBase64(env.MASTER_KEY)]);
  const version = runtime.uuid();
  const sealed = await seal(runtime, keyring, { siteId, webhookId: id, version }, slot, secret);
  return slot === "current" ? { version, secret: sealed } : { previous_version: version, previous_secret: sealed };
}
