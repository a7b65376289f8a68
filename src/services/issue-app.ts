import * as z from "zod/mini";
import { APPID } from "../credentials/resolve-credentials.ts";
import { seal } from "../credentials/sealed-secret.ts";
import { displayName } from "../fields.ts";
import type { Runtime } from "../runtime.ts";
import { insertApp } from "../store/directory/apps.ts";
import type { AppDesk } from "./app-desk.ts";

const APPID_RULE = "must be 1 to 64 of A-Z a-z 0-9 _ -";
const SECRET_RULE = "must be 8 to 256 printable ASCII characters";

/** Body of POST /admin/sites/:site_id/apps. A caller of another service may bring its appid, its secret or both along. */
export const issueAppSchema = z.strictObject({
  name: displayName,
  appid: z.optional(z.string(APPID_RULE).check(z.regex(APPID, APPID_RULE))),
  secret: z.optional(z.string(SECRET_RULE).check(z.regex(/^[\x20-\x7e]{8,256}$/, SECRET_RULE))),
});

export type IssueApp = z.infer<typeof issueAppSchema>;

/**
 * Issues an app for a site, or takes one over.
 *
 * @returns the secret, for the only time; undefined when the appid is taken
 */
export async function issueApp(
  desk: AppDesk,
  siteId: number,
  input: IssueApp,
): Promise<{ appid: string; secret: string; name: string; version: string } | undefined> {
  const { name } = input;
  const appid = input.appid ?? randomHex(desk.runtime, 16);
  const secret = input.secret ?? newSecret(desk.runtime);
  const version = newVersion(desk.runtime);
  const sealed = await seal(desk.runtime, await desk.keyring(), { siteId, appid, version }, "current", secret);
  const brought = (["appid", "secret"] as const).filter((field) => input[field] !== undefined);
  if (!(await insertApp(desk.db, { appid, siteId, name, version, secret: sealed, brought }, desk.by))) return undefined;
  desk.forget(appid);
  return { appid, secret, name, version };
}

/** 32 random bytes in hex: as strong as the HMAC it keys, and safe to paste anywhere. */
export function newSecret(runtime: Runtime): string {
  return randomHex(runtime, 32);
}

/** An id for a secret that nobody can guess and no other secret ever gets. */
export function newVersion(runtime: Runtime): string {
  return randomHex(runtime, 16);
}

function randomHex(runtime: Runtime, bytes: number): string {
  return runtime.bytes(bytes).toHex();
}
