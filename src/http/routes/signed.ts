import type { Handler } from "hono";
import type * as z from "zod/mini";
import { authenticate } from "../../credentials/authenticate.ts";
import type { LookUp } from "../../credentials/resolve-credentials.ts";
import { homeDatabase, type Settings, settingsOf } from "../../env.ts";
import { Refusal } from "../../errors.ts";
import { describeIssues, fieldIssues } from "../../fields.ts";
import { lookForNonce, nonceKey, nonceTtl, rememberNonce, seenWithin } from "../../replay/nonce-look.ts";
import { IDEMPOTENCY_SECONDS, parseIdempotencyKey } from "../../sessions/idempotency-key.ts";
import { meaningOf } from "../../sessions/meaning.ts";
import { requestStampSchema } from "../../sessions/request-stamp.ts";
import type { Settlement } from "../../sessions/settlement.ts";
import { checkFreshness } from "../../signing/check-freshness.ts";
import type { Claim } from "../../store/claim.ts";
import { WHOLE_LIMIT_MS } from "../../store/run-batch.ts";
import type { App, RequestContext } from "../context.ts";
import { succeed } from "../envelope.ts";
import { parseJsonObject } from "../parse-json.ts";
import { APP_LIMIT_PERIOD, CLIENT_LIMIT_PERIOD, clientAddress, withinRate } from "../rate-limit.ts";
import { readBody } from "../read-body.ts";

/** One signed operation: its fields, what it does, and what a success says. */
export interface SignedOperation<Input> {
  schema: z.ZodMiniType<Input>;
  /** A top-level field whose integers count by their digits. */
  digitsOf?: string;
  run: (db: D1Database, claim: Claim, input: Input) => Promise<Settlement>;
  answer: (sessionId: number) => Record<string, unknown> | "";
}

/** The way of one signed request, in the order of README, "Architecture". Every check that fails throws a Refusal. */
export function signed<Input>(operation: SignedOperation<Input>): Handler<App> {
  return async function signedRequest(c) {
    const isolate = c.get("isolate");
    const trace = c.get("trace");
    const settings = settingsOf(c.env);
    const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);

    const body = await readBody(c.req.raw);
    const fields = parseJsonObject(body, operation.digitsOf);
    const appid = fields?.appid;
    if (fields === undefined || !isAppid(appid)) throw new Refusal("invalid_parameters", { reason: "body_malformed" });

    // Started before anything is known of the caller, so that KV's slowest answer, a miss, runs beside the rest.
    const nonce = typeof fields.ranstr === "string" ? nonceKey(appid, fields.ranstr) : undefined;
    const look = nonce === undefined ? Promise.resolve(false) : lookForNonce(settings.nonces, nonce);

    const now = Math.floor(isolate.now() / 1000);
    const answerBy = Date.now() + WHOLE_LIMIT_MS;
    const caller = await verifiedCaller(c, settings, { appid, body, now }, { waitUntil, answerBy });
    const stamp = parse(requestStampSchema, fields);
    const fresh = checkFreshness(stamp.timestamp, now, settings.timestampToleranceSeconds);
    if (!fresh.ok) {
      const detail = `timestamp: must be within ${settings.timestampToleranceSeconds} s of ${now}, Unix seconds`;
      throw new Refusal("token_invalid", { reason: fresh.reason, detail });
    }
    const lookedSince = Date.now();
    if (await seenWithin(look, settings.replayLookMs)) throw replayed("ranstr_seen_by_kv");
    trace.kvMs = Date.now() - lookedSince;
    // Not before: whoever captured one old request could use up the app's limit with it.
    if (!(await withinRate(settings.appLimit, appid))) {
      throw new Refusal("too_many_requests", { reason: "app_limit", retryAfter: APP_LIMIT_PERIOD });
    }

    const input = parse(operation.schema, fields);
    const key = parseIdempotencyKey(c.req.header("idempotency-key"));

    const ttl = nonceTtl(settings.timestampToleranceSeconds);
    const sentAt = Date.now();
    const settlement = await operation.run(
      homeDatabase(settings, caller.siteId),
      {
        appid,
        siteId: caller.siteId,
        secretVersion: caller.secretVersion,
        ranstr: stamp.ranstr,
        owner: crypto.randomUUID(),
        now,
        nonceExpiresAt: now + ttl,
        key,
        meaning: key === null ? "" : await meaningOf(input),
        keyExpiresAt: now + IDEMPOTENCY_SECONDS,
        answerBy,
      },
      input,
    );
    trace.d1Ms = Date.now() - sentAt;

    if (settlement.kind === "credentials_stale") {
      isolate.credentials.forget(settings, appid, waitUntil);
      throw new Refusal("token_invalid", { reason: "credentials_stale" });
    }
    if (nonce !== undefined) waitUntil(rememberNonce(settings.nonces, nonce, ttl));
    if (settlement.kind === "replayed") throw replayed("ranstr_claimed_in_d1");
    if (settlement.kind === "refused") throw settlement.refusal;
    if (settlement.kind === "repeated") c.header("idempotency-replayed", "true");
    trace.sessionId = settlement.sessionId;
    return succeed(c, operation.answer(settlement.sessionId));
  };
}

async function verifiedCaller(
  c: RequestContext,
  settings: Settings,
  request: { appid: string; body: ArrayBuffer; now: number },
  lookUp: Omit<LookUp, "beforeDatabase">,
) {
  const isolate = c.get("isolate");
  const trace = c.get("trace");
  const since = Date.now();
  let counted = false;
  const countClient = async () => {
    counted = true;
    if (await withinRate(settings.clientLimit, clientAddress(c.req.raw))) return;
    throw new Refusal("too_many_requests", { reason: "client_limit", retryAfter: CLIENT_LIMIT_PERIOD });
  };
  const signature = c.req.header("x-chat-signature");
  const found = await authenticate(
    isolate.credentials,
    settings,
    { ...request, signature },
    { ...lookUp, beforeDatabase: countClient },
  );
  trace.credentialsMs = Date.now() - since;
  if (!found.ok) {
    if (found.reason !== "app_unknown") trace.appid = request.appid;
    if (!counted) await countClient();
    throw new Refusal("token_invalid", { reason: found.reason });
  }
  trace.appid = request.appid;
  trace.signatureValid = true;
  trace.credentialsFrom = found.caller.source;
  return found.caller;
}

function parse<Output>(schema: z.ZodMiniType<Output>, fields: Record<string, unknown>): Output {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  throw new Refusal("invalid_parameters", {
    reason: "fields_invalid",
    detail: describeIssues(fieldIssues(result.error)),
  });
}

/** The contract gives an appid no form; 1 to 64 characters keeps what is looked up and logged small. */
function isAppid(value: unknown): value is string {
  return typeof value === "string" && value.length >= 1 && value.length <= 128 && [...value].length <= 64;
}

function replayed(reason: string): Refusal {
  return new Refusal("token_invalid", { reason, detail: "ranstr: was already used" });
}
