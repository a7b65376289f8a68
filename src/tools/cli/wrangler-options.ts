/** Options of wrangler that our commands pass on. */
import { asArguments } from "./known-options.ts";

/** The options that choose the account and the configuration. */
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

/** The options that choose the account and the environment. Every wrangler command needs them. */
export function sharedOptions(env: string, accountOptions: AccountOptions): string[] {
  const { config, cwd, profile, "env-file": envFiles = [] } = accountOptions;
  return [
    "--env",
    env,
    ...Object.entries({ "--config": config, "--cwd": cwd, "--profile": profile }).flatMap(([name, value]) =>
      value === undefined ? [] : [name, value],
    ),
    ...envFiles.flatMap((each) => ["--env-file", each]),
  ];
}

/**
 * The options by which `wrangler secret` finds the Worker of `wrangler deploy`. The two read --name differently: with --env, `wrangler
 * secret` adds the environment to the name.
 */
export function secretOptions(env: string, accountOptions: AccountOptions & { name?: string | undefined }): string[] {
  const { name } = accountOptions;
  return name === undefined
    ? sharedOptions(env, accountOptions)
    : [...sharedOptions("", accountOptions), "--name", name];
}

/** The options of the account as a user types them for one of our commands. Unset options are left out. */
export function typedOptions(env: string, accountOptions: AccountOptions & { name?: string | undefined }): string[] {
  const { name, config, cwd, profile, "env-file": envFile = [] } = accountOptions;
  const optionsByName = { env: env === "" ? undefined : env, name, config, cwd, profile, "env-file": envFile };
  return asArguments(Object.fromEntries(Object.entries(optionsByName).filter(([, value]) => value !== undefined)));
}
