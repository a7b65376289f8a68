import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestHarness } from "wrangler";
import type { Bindings } from "../../src/core/config.ts";
import { writeConfig } from "../../src/tools/cli/throwaway-worker.ts";

export interface BuiltWorker {
  /** Without a slash at the end. The system chooses the port. */
  url: string;
  adminToken: string;
  /** D1 and KV of the running Worker, so that a test can read what was stored. */
  env: Bindings;
  logs: () => string[];
  /** Calls the admin API and returns its JSON, or throws with the problem. */
  admin: <T = unknown>(method: string, path: string, body?: unknown) => Promise<T>;
  /** Makes a site with an app, and with these agents in normal status. */
  provision: (agentIds?: number[]) => Promise<{ siteId: number; appid: string; secret: string }>;
  /** Runs the cron handler once, by default as the cron that prunes. */
  scheduled: (time?: Date, cron?: string) => Promise<void>;
  close: () => Promise<void>;
}

/**
 * The Worker as `wrangler deploy` bundles it, over real HTTP on 127.0.0.1, on its own local D1 and KV with all migrations applied.
 * `close()` deletes the state. The Worker gets new secrets, and `.dev.vars` is ignored.
 *
 * @param vars override those of wrangler.toml, `{ ERROR_STATUS: "always-200" }` for one
 * @param homes the bindings of its homes, instead of those in wrangler.toml
 * @param main another module to serve, by its path in the project
 */
export async function startBuiltWorker({
  vars = {},
  homes = ["DB"],
  main,
}: {
  vars?: Record<string, string>;
  homes?: string[];
  main?: string;
} = {}): Promise<BuiltWorker> {
  // Without this, the runtime asks a Cloudflare server for the machine's location, and warns when there is no network.
  process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
  const adminToken = randomHex(24);
  const folder = mkdtempSync(join(tmpdir(), "built-worker-"));
  const harness = createTestHarness({
    root: join(import.meta.dirname, "../.."),
    workers: [
      {
        configPath: writeConfig(folder, homes, main),
        secrets: { MASTER_KEY: Buffer.from(randomHex(32), "hex").toString("base64"), ADMIN_TOKEN: adminToken },
        vars,
      },
    ],
  });
  const { url } = await harness.listen();
  const worker = harness.getWorker<Bindings & Record<string, unknown>>();
  for (const binding of homes) await worker.applyD1Migrations(binding);

  async function admin<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(new URL(path, url), {
      method,
      headers: {
        authorization: `Bearer ${adminToken}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  return {
    url: url.origin,
    adminToken,
    env: await worker.getEnv(),
    logs: () => harness.getLogs().map((entry) => entry.message),
    admin,
    async provision(agentIds = [10411, 10427, 10428]) {
      const site = await admin<{ id: number }>("POST", "/admin/sites", { name: "Site" });
      for (const id of agentIds) {
        await admin("POST", `/admin/sites/${site.id}/agents`, { id, name: `Agent ${id}` });
      }
      const app = await admin<{ appid: string; secret: string }>("POST", `/admin/sites/${site.id}/apps`, {
        name: "App",
      });
      return { siteId: site.id, appid: app.appid, secret: app.secret };
    },
    async scheduled(time = new Date(), cron = "*/5 * * * *") {
      await worker.scheduled({ cron, scheduledTime: time });
    },
    async close() {
      await harness.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const randomHex = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
