import { ServiceError } from "../../core/errors.ts";
import { TRY_LIMIT_MS, withRetries } from "../../core/store/run-batch.ts";
import { readTokenText } from "../access/token-text.ts";
import {
  type CallSubject,
  selectToken,
  type TokenFound,
  type TokenRow,
  updateTokenUsed,
} from "../store/directory/admin-tokens.ts";
import { type GivenToken, isAdminToken, refuseToken, waitForTurn } from "./admin-token.ts";
import { sha256 } from "./digests.ts";
import { hasExpired } from "./grants.ts";
import { type Identity, ROOT } from "./identity.ts";
import type { ServiceContext } from "./service-context.ts";
import { hourOf, writeLater } from "./sign-in-log.ts";
import { beginCall, countCall } from "./token-limits.ts";
import { tokenIdOf } from "./tokens.ts";

/** Who calls, and what the directory said of the call's site and app in the same query. */
export interface Identified {
  identity: Identity;
  /** Undefined when the directory was not asked, or did not answer. */
  foundByDirectory?: Omit<TokenFound, "token">;
}

/**
 * Finds out whose token a call of the admin API has: the ADMIN_TOKEN, which needs no database, or a token made by `createToken`. The
 * directory is read each time, so a deleted token is refused from the next call on. While the directory does not answer, the isolate uses
 * what it learned in the last five minutes. The call begins and counts toward the limits of its token: `beginCall`.
 *
 * @throws ServiceError `unauthorized` or `too_many_requests` as {@link refuseToken} does; `too_many_requests` for a token over its limits;
 *   `unavailable` when the directory does not answer and the isolate does not know the token
 */
export async function identifyBearer(
  ctx: ServiceContext,
  givenToken: GivenToken,
  about: CallSubject,
  isRead: boolean,
): Promise<Identified> {
  const { config, memory, now } = ctx;
  if (await isAdminToken(ctx, givenToken.token)) return { identity: ROOT };
  const { token = "" } = givenToken;
  const form = readTokenText(token);
  if (form?.kind === "person") {
    return refuseToken(ctx, givenToken, form.isSlip ? "person_token_slip" : "person_token");
  }
  if (form === undefined || form.isSlip || config.adminTokenFault !== undefined) {
    return refuseToken(ctx, givenToken, form?.isSlip ? "token_slip" : "admin_token_wrong");
  }
  const hash = await sha256(token);
  const id = tokenIdOf(hash);
  const caller = { kind: "token", id } as const;
  await beginCall(ctx, caller, isRead);
  const knownIdentity =
    memory.identityOf(hash) ?? (await waitForTurn(ctx, givenToken, id, () => memory.identityOf(hash)));
  let foundByDirectory: TokenFound | undefined;
  try {
    foundByDirectory = await readToken(ctx, hash, about, knownIdentity !== undefined);
  } catch (error) {
    if (knownIdentity === undefined || !(error instanceof ServiceError) || error.code !== "unavailable") throw error;
    await countCall(ctx, caller, isRead);
    return { identity: knownIdentity };
  }
  if (foundByDirectory === undefined || hasExpired(foundByDirectory.token, now)) {
    memory.forgetToken(hash);
    return refuseToken(ctx, givenToken, foundByDirectory === undefined ? "admin_token_wrong" : "token_expired");
  }
  const { token: row, ...rest } = foundByDirectory;
  const identity = identityOf(row);
  memory.rememberToken(hash, identity, row.expiresAt);
  await countCall(ctx, caller, isRead);
  noteTokenUse(ctx, row);
  return { identity, foundByDirectory: rest };
}

/** @param isKnown whether the isolate knows the token: then one try is enough, and the call has more time for its work */
function readToken(
  ctx: ServiceContext,
  hash: string,
  about: CallSubject,
  isKnown: boolean,
): Promise<TokenFound | undefined> {
  const { runtime, config } = ctx;
  const answerBy = isKnown ? runtime.elapsed() + TRY_LIMIT_MS : ctx.answerBy;
  return withRetries(runtime, () => selectToken(config.directory, { id: tokenIdOf(hash), hash }, about), answerBy);
}

const identityOf = ({ id, name, role, siteId }: TokenRow): Identity => ({
  who: { kind: "token", id, name },
  role,
  onlySite: siteId ?? undefined,
});

function noteTokenUse(ctx: ServiceContext, { id, lastUsedAt }: TokenRow): void {
  const hour = hourOf(ctx.now);
  if ((lastUsedAt ?? 0) < hour) writeLater(ctx, () => updateTokenUsed(ctx.config.directory, id, hour));
}
