import type { OperationInput } from "../operations/operation.ts";
import type { Runtime } from "../runtime.ts";
import type { ClaimRequest } from "../store/claim.ts";
import type { Caller } from "./authenticate.ts";
import { newEventId } from "./event-id.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { IDEMPOTENCY_SECONDS } from "./idempotency-key.ts";
import { NONCE_SECONDS } from "./kv-nonces.ts";

/**
 * The values of a request's claim.
 *
 * @param owner the request's id
 * @param now   Unix seconds
 */
export async function claimOf(
  runtime: Runtime,
  { siteId, appid, secretVersion, events }: Pick<Caller, "siteId" | "appid" | "secretVersion" | "events">,
  {
    operationInput,
    ranstr,
    idempotencyKey,
    clientNetwork,
  }: {
    operationInput: OperationInput;
    ranstr: string;
    idempotencyKey: string | null;
    clientNetwork: string | null;
  },
  owner: string,
  now: number,
): Promise<ClaimRequest> {
  return {
    appid,
    siteId,
    secretVersion,
    clientNetwork,
    events: Number(events),
    ranstr,
    owner,
    now,
    eventId: newEventId(runtime),
    nonceExpiresAt: now + NONCE_SECONDS,
    key: idempotencyKey,
    fingerprint: idempotencyKey === null ? "" : await fingerprintOf(operationInput.input),
    keyExpiresAt: now + IDEMPOTENCY_SECONDS,
  };
}
