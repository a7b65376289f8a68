import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createTestHarness, experimental_readRawConfig, type Unstable_RawConfig as RawConfig } from "wrangler";
import { closedSecret, homeOfBinding } from "../../core/homes.ts";
import { PROJECT_ROOT } from "./run-wrangler.ts";

export interface ThrowawayWorker {
  /** The address, without a slash at its end. The system chooses the port, and `closeHomes` keeps it. */
  url: string;
  adminToken: string;
  /** The log lines of the Worker so far. Each is JSON. */
  logs: () => string[];
  /** Closes these homes and opens all other homes, as npm run deploy -- --close does. Stored data stays. */
  closeHomes: (homes: readonly string[]) => Promise<void>;
  /** Stops the Worker and removes its folder. */
  close: () => Promise<void>;
}

/** The bindings of the homes `main` and `apac`. The homes of wrangler.toml are not used. */
const HOMES = ["DB", "HOME_APAC"] as const;

/**
 * Writes a copy of wrangler.toml for createTestHarness(), with these homes and no others.
 *
 * @param folder a folder for this run. In the project's folder, wrangler would compare the homes with the generated types
 * @param main the module to serve. By default it is the Worker's own
 * @param builds whether the harness builds the docs anew, which takes longer than the rest of its start
 * @returns the file's path
 */
export function writeConfig(folder: string, bindings: readonly string[], main?: string, builds = false): string {
  const toml = join(PROJECT_ROOT, "wrangler.toml");
  const { env: _, ...config }: RawConfig = experimental_readRawConfig({ config: toml }).rawConfig;
  const from = (path = "") => resolve(PROJECT_ROOT, path);
  const otherDatabases = config.d1_databases?.filter(({ binding }) => homeOfBinding(binding) === undefined) ?? [];
  const homes = bindings.map((binding) => ({ binding, database_name: binding, migrations_dir: from("migrations") }));
  const file = join(folder, "wrangler.json");
  const moved = {
    ...config,
    main: from(main ?? config.main),
    assets: { ...config.assets, directory: from(config.assets?.directory) },
    build: { ...(builds && { command: config.build?.command }), cwd: PROJECT_ROOT },
    d1_databases: [...homes, ...otherDatabases],
  };
  writeFileSync(file, JSON.stringify(moved));
  return file;
}

/**
 * Starts the Worker as it is deployed, over real HTTP on this machine. Its settings, secrets, KV and two homes are in its own folder,
 * which is removed when the process ends. All migrations are applied. `.dev.vars` and the state of `npm start` stay as they are.
 */
export async function startThrowawayWorker(): Promise<ThrowawayWorker> {
  const folder = mkdtempSync(join(tmpdir(), "agent-session-"));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.on("exit", remove);
  // The runtime's temporary files go into the folder, and the runtime does not ask the network for this machine's location.
  Object.assign(process.env, {
    TMPDIR: folder,
    WRANGLER_LOG_PATH: folder,
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    WRANGLER_LOG: "warn",
  });

  const adminToken = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("hex");
  const masterKey = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64");
  const configPath = writeConfig(folder, HOMES, undefined, true);
  const options = (closedHomes: readonly string[]) => ({
    root: PROJECT_ROOT,
    workers: [
      {
        configPath,
        secrets: { MASTER_KEY: masterKey, ADMIN_TOKEN: adminToken },
        // These values replace those of wrangler.toml, which somebody may have edited.
        vars: {
          TIMESTAMP_TOLERANCE_SECONDS: "300",
          REPLAY_LOOK_MS: "1",
          ERROR_STATUS: "by-cause",
          ...Object.fromEntries(closedHomes.map((home) => [closedSecret(home), home])),
          WEBHOOK_LOOPBACK: "allow",
        },
      },
    ],
  });
  const harness = createTestHarness(options([]));
  const { url } = await harness.listen();
  for (const binding of HOMES) await harness.getWorker().applyD1Migrations(binding);
  return {
    url: url.origin,
    adminToken,
    logs: () => harness.getLogs().map((entry) => entry.message),
    closeHomes: (homes) => harness.update(options(homes)),
    async close() {
      await harness.close();
      remove();
    },
  };
}
