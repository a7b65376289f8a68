import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestHarness } from "wrangler";
import { PROJECT_ROOT } from "./run-wrangler.ts";

export interface ThrowawayWorker {
  /** Without a slash at the end. The system chooses the port. */
  url: string;
  adminToken: string;
  /** The log lines of the Worker so far, each JSON. */
  logs: () => string[];
  /** Stops the Worker and removes its folder. */
  close: () => Promise<void>;
}

/**
 * Starts the Worker as it is deployed, over real HTTP on this machine, with its own settings, secrets, D1 and KV in a folder that is
 * removed when the process ends. All migrations are applied; `.dev.vars` and the state of `npm start` are not touched.
 */
export async function startThrowawayWorker(): Promise<ThrowawayWorker> {
  const folder = mkdtempSync(join(tmpdir(), "agent-session-"));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.on("exit", remove);
  // Puts the temporary files of the runtime into the folder, and stops it from asking the network for this machine's location.
  Object.assign(process.env, { TMPDIR: folder, WRANGLER_LOG_PATH: folder, CLOUDFLARE_CF_FETCH_ENABLED: "false" });

  const adminToken = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("hex");
  const masterKey = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64");
  const harness = createTestHarness({
    root: PROJECT_ROOT,
    workers: [
      {
        configPath: "wrangler.toml",
        secrets: { MASTER_KEY: masterKey, ADMIN_TOKEN: adminToken },
        // Override wrangler.toml and .dev.vars, which may have been edited.
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
