/** `npm start`: the Worker on this machine, ready to be called. Arguments go to `wrangler dev`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ensureDevSecrets } from "./dev-secrets.ts";
import { optionValues } from "./option-values.ts";
import { handOverToWrangler, PROJECT_ROOT, runWrangler } from "./run-wrangler.ts";

const args = process.argv.slice(2);
process.exitCode = await start();

async function start(): Promise<number> {
  const environment = optionValues(args, ["--env", "-e"]).values.at(-1) ?? process.env.CLOUDFLARE_ENV ?? "";
  // wrangler reads either file, never both.
  const ofEnvironment = `.dev.vars.${environment}`;
  const file = environment !== "" && existsSync(join(PROJECT_ROOT, ofEnvironment)) ? ofEnvironment : ".dev.vars";
  const ownSecrets = optionValues(args, ["--env-file"]).values.length > 0;
  if (!ownSecrets && !prepareSecrets(file)) return 1;
  const applied = await applyMigrations(environment);
  if (applied !== 0) return applied;
  if (!ownSecrets) {
    const port = optionValues(args, ["--port"]).values.at(-1);
    const url = port === undefined ? "" : ` --url http://localhost:${port}`;
    console.log(`
The admin API's token is ADMIN_TOKEN in ${file}. Issue an app and an agent with it (README, "First call"), then, in another terminal:

  npm run call -- create_gd${url} --appid … --secret … '{"sbs":"customer_001","ip":"127.0.0.1","sbs_mc":"Wang Wei","content":"Hello","kefu_id":[10411],"fzr_uid":10411}'
`);
  }
  // With this option wrangler has nothing to warn about crons: http://…/__scheduled runs them.
  return handOverToWrangler(["dev", "--env", environment, "--test-scheduled", ...withoutEnvironment(args)]);
}

/** False when the Worker would refuse to serve with what is there. */
function prepareSecrets(file: string): boolean {
  const { made, added, placeholders } = ensureDevSecrets(join(PROJECT_ROOT, file));
  if (made)
    console.log(`Made ${file} with a random ${added.join(" and ")}. Keep it: what is stored is sealed with it.`);
  else if (added.length > 0) console.log(`Added a random ${added.join(" and ")} to ${file}, which had none.`);
  if (placeholders.length === 0) return true;
  console.error(
    `${placeholders.join(" and ")} in ${file} is a placeholder. Delete the line; the next npm start makes a random one.`,
  );
  return false;
}

async function applyMigrations(environment: string): Promise<number> {
  const shared = ["--persist-to", "--config", "--cwd"].flatMap((name) => {
    const value = optionValues(args, name === "--config" ? [name, "-c"] : [name]).values.at(-1);
    return value === undefined ? [] : [name, value];
  });
  const { exitCode, output } = await runWrangler([
    ...["d1", "migrations", "apply", "DB", "--local", "--env", environment],
    ...shared,
  ]);
  if (exitCode !== 0) console.error(`The migrations could not be applied:\n${output}`);
  else console.log(output.includes("No migrations to apply") ? "Database is up to date." : "Database migrated.");
  return exitCode;
}

function withoutEnvironment(all: readonly string[]): string[] {
  return optionValues(all, ["--env", "-e"]).rest;
}
