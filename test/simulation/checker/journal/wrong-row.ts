import { modelAt } from "../../operations/index.ts";
import type { Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Model } from "../model.ts";
import { isSignedWith } from "../signed/contract.ts";
import { secondOf } from "./request-time.ts";

/** A refused call in the log of its isolate. */
export interface Refused {
  call: Call;
  isolate: string;
  /** Milliseconds of virtual time. */
  at: number;
  requestId: string;
  /** The appid that the body names. */
  appid: string;
  operation: string;
  reason: string;
  detail: string | undefined;
  status: number;
  /** Whether the log names the app, so it is certainly known. */
  isKnown: boolean;
}

/** docs/operating.md, "Refused calls": the most characters of a detail. */
const LONGEST_DETAIL = 500;

/** Reasons for which no secret of the app has verified the signature. */
export const UNVERIFIED: readonly string[] = [
  "signature_missing",
  "signature_malformed",
  "signature_mismatch",
  "app_unknown",
  "app_revoked",
  "client_limit",
  "credentials_stale",
];

/** Reasons that a call may get before its signature is verified, and after. */
export const EITHER: readonly string[] = [
  "home_closed",
  "home_unbound",
  "d1_unavailable",
  "d1_answer_incomplete",
  "d1_not_migrated",
  "d1_statement_refused",
  "app_unfinished",
  "master_key_wrong",
  "unexpected",
];

/** @returns how a row of the journal is not what its call was answered; undefined when it is */
export function wrongRow(model: Model, homeName: string, row: Row, refused: Refused): string | undefined {
  const { call, requestId, appid, reason, detail = null } = refused;
  const home = model.home(homeName);
  const { secret } = row;
  const expected = {
    site_id: row.site_id,
    request_id: requestId,
    at: secondOf(requestId),
    appid,
    operation: modelAt(call.wire.path)?.name,
    status: call.answer?.status ?? refused.status,

    reason,
    detail: detail?.slice(0, LONGEST_DETAIL) ?? null,
    secret,
    client: networkOf(call),
    skipped: row.skipped,
    done: null,
  };
  if (JSON.stringify(sorted(row)) !== JSON.stringify(sorted(expected))) return `expected ${JSON.stringify(expected)}`;
  // The directory may have named the site, although a restore or an unfinished call has left its home without the app.
  // A row that was on its way while hands moved the app stays with the site that was called.
  const wasRouted = model.routes.get(appid) === row.site_id || model.moved.has(appid);
  const isRouted = home.sites.has(Number(row.site_id)) && wasRouted;
  if (!home.apps.has(`${row.site_id}/${appid}`) && !isRouted) return "this home has no such app on this site";
  const told = call.answer?.headers.get("x-error-detail") ?? null;
  if (told !== null && told !== detail) return `the call was told ${told}`;
  if (!Number.isInteger(row.skipped) || Number(row.skipped) < 0) return "skipped is no count";
  if (UNVERIFIED.includes(reason)) return secret === null ? undefined : "no secret has verified";
  if (secret === null) return EITHER.includes(reason) ? undefined : "a secret has verified";
  const isVersion = model.versions.get(appid)?.has(String(secret)) === true;
  const isSigned = isSignedWith(
    model.secrets.get(String(secret)) ?? "",
    call.wire.body,
    call.wire.headers["x-chat-signature"] ?? "",
  );
  return isVersion && isSigned ? undefined : "this version did not verify";
}

const sorted = (row: object) => Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1));

/** The /24 or /48 of the address that a call came from. */
function networkOf({ wire }: Call): string | null {
  const address = wire.headers["cf-connecting-ip"];
  if (address === undefined) return null;
  const [first, second, third] = address.split(/[.:]/);
  // No client of the simulation leaves out one of the first three groups.
  return address.includes(":") ? `${first}:${second}:${third}::/48` : `${first}.${second}.${third}.0/24`;
}
