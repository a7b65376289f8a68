import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestHarness } from "wrangler";
import { PROJECT_ROOT } from "./run-wrangler.ts";

export interface ThrowawayWorker {
  /** No slash at the end; the port is the system's choice. */
  url: string;
  adminToken: string;
  /** What the Worker logged so far, a JSON line each. */
  logs: () => string[];
  /** Stops it; nothing stays behind. */
  close: () => Promise<void>;
}

/**
 * The Worker as it is deployed, over real HTTP on this machine, with settings, secrets, D1 and KV of its own in a folder that goes
 * when the process does. All migrations are applied; `.dev.vars` and the state of `npm start` are not touched.
 */
export async function startThrowawayWorker(): Promise<ThrowawayWorker> {
  const folder = mkdtempSync(join(tmpdir(), "agent-session-"));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.on("exit", remove);
  // The runtime keeps its files where temporary files go, and would ask the network where this machine is.
  Object.assign(process.env, { TMPDIR: folder, WRANGLER_LOG_PATH: folder, CLOUDFLARE_CF_FETCH_ENABLED: "false" });

  const adminToken = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("hex");
  const masterKey = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64");
  const harness = createTestHarness({
    root: PROJECT_ROOT,
    workers: [
      {
        configPath: "wrangler.toml",
        secrets: { MASTER_KEY: masterKey, ADMIN_TOKEN: adminToken },
        // Whatever this checkout is set to, or a .dev.vars says.
        vars: { TIMESTAMP_TOLERANCE_SECONDS: "300", REPLAY_LOOK_MS: "5", ERROR_STATUS: "by-cause" },
      },
    ],
  });
  const { url } = await harness.listen();
  await harness.getWorker().applyD1Migrations("DB");
  return {
    url: url.origin,
    adminToken,
    logs: () => harness.getLogs().map((entry) => entry.message),
    async close() {
      await harness.close();
      remove();
    },
  };
}
