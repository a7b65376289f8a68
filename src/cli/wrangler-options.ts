/** Options of wrangler that our commands hand on. */
import { asArguments } from "./known-options.ts";

/** They choose the account and the configuration. */
export const ACCOUNT_OPTIONS = {
  config: { type: "string", short: "c" },
  cwd: { type: "string" },
  profile: { type: "string" },
  "env-file": { type: "string", multiple: true },
} as const;

interface AccountOptions {
  config?: string | undefined;
  cwd?: string | undefined;
  profile?: string | undefined;
  "env-file"?: readonly string[] | undefined;
}

/** These choose the account and the environment, so every command needs them. */
export function sharedOptions(env: string, given: AccountOptions): string[] {
  const { config, cwd, profile, "env-file": envFiles = [] } = given;
  return [
    ...["--env", env],
    ...Object.entries({ "--config": config, "--cwd": cwd, "--profile": profile }).flatMap(([name, value]) =>
      value === undefined ? [] : [name, value],
    ),
    ...envFiles.flatMap((each) => ["--env-file", each]),
  ];
}

/**
 * The options by which `wrangler secret` finds the Worker that `wrangler deploy` would make. Beside --env it reads --name in another
 * way: it adds the environment to the name.
 */
export function secretOptions(env: string, given: AccountOptions & { name?: string | undefined }): string[] {
  const { name } = given;
  return name === undefined ? sharedOptions(env, given) : [...sharedOptions("", given), "--name", name];
}

/** The same options as they are typed for one of our commands, without those that say nothing. */
export function typedOptions(env: string, given: AccountOptions & { name?: string | undefined }): string[] {
  const { name, config, cwd, profile, "env-file": envFile = [] } = given;
  const said = { env: env === "" ? undefined : env, name, config, cwd, profile, "env-file": envFile };
  return asArguments(Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)));
}
