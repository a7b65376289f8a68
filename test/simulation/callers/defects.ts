import { type Defect, oneEditDefect } from "../planted-defect.ts";

const CLAIM = "src/core/store/claim.ts";
const RUN = "src/core/signed/run-request.ts";
const RESOLVE = "src/core/credentials/resolve-credentials.ts";
const VERIFY = "src/core/signed/verify-caller.ts";
const ROTATED = "src/operators/store/home/secret-owners.ts";
const CLIENT = "src/client/client.ts";

const SIGNED: Defect[] = [
  oneEditDefect(
    "second-try-writes-again",
    "The Worker's second try writes once more, and brings back what was erased meanwhile.",
    CLAIM,
    "sql`${isMine(v)} AND ${nonces.attempt} = ${v.attempt}`",
    "sql`${mine(v)}`",
  ),
  oneEditDefect(
    "closed-site-burns-the-ranstr-here",
    "An isolate takes a request that a closed site refused for a used one.",
    "src/core/signed/decide.ts",
    'if (kind !== "site_closed") {',
    "if (kind !== undefined) {",
  ),
  oneEditDefect(
    "expired-key-row-keeps-its-place",
    "A key that has expired and is not pruned is not remembered anew.",
    CLAIM,
    "          WHERE ${idempotencyKeys.expiresAt} <= ${v.now}`,",
    "          WHERE ${v.now} < 0`,",
  ),
  oneEditDefect(
    "fresh-owner-for-each-try",
    "A second try takes the commit of the first one for a replay.",
    "src/core/signed/decide.ts",
    "const batch = (attempt: number) => operation.batch(db, request, operationInput, attempt);",
    "const batch = (attempt: number) =>\n    operation.batch(db, { ...request, owner: request.owner + attempt }, operationInput, attempt);",
  ),
  oneEditDefect(
    "gate-without-revocation",
    "A revoked app is accepted until the caches forget it.",
    CLAIM,
    "  AND ${apps.revokedAt} IS NULL\n",
    "\n",
  ),
  oneEditDefect(
    "key-of-any-operation",
    "An Idempotency-Key of create_gd answers for add_kf.",
    CLAIM,
    "AND ${idempotencyKeys.operation} = ${literal(name)}\n",
    "\n",
  ),
  oneEditDefect(
    "nonces-forgotten-early",
    "A ranstr is remembered for eleven minutes.",
    "src/core/signed/kv-nonces.ts",
    "= 2 * MAX_TOLERANCE_SECONDS + 60;",
    "= 660;",
  ),
  oneEditDefect(
    "same-second-agent-is-not-named",
    "An agent who joined in the same second by another call is not named as left out.",
    "src/core/operations/add-agents.ts",
    "WHEN ${participants.addedAt} = ${v.now} AND ${wasAcceptedBefore(v)} THEN NULL",
    "WHEN ${participants.addedAt} = ${v.now} AND (1 OR ${wasAcceptedBefore(v)}) THEN NULL",
  ),
  oneEditDefect(
    "answer-before-the-commit-is-known",
    "A batch whose answers were lost is answered as a refusal.",
    "src/core/store/run-batch.ts",
    'new ServiceError("unavailable", { reason: "d1_unavailable", retryAfter: 1, cause });',
    'new ServiceError("invalid_parameters", { reason: "d1_unavailable", cause, tell: true, detail: "x" });',
  ),
  oneEditDefect(
    "ranstr-put-is-forgotten",
    "The put of a used ranstr into NONCES is not registered with waitUntil, so it ends with the answer.",
    RUN,
    "        rememberNonce(config.nonces, kvCheck.key, telemetry),",
    "        void rememberNonce(config.nonces, kvCheck.key, telemetry),",
  ),
  oneEditDefect(
    "expired-nonce-keeps-its-try",
    "A call that takes the place of an expired nonce keeps the number of its try, and writes nothing.",
    CLAIM,
    "takeExcluded(nonces.owner, nonces.attempt, nonces.expiresAt,",
    "takeExcluded(nonces.owner, nonces.expiresAt,",
  ),
  oneEditDefect(
    "second-try-hides-who-was-on-the-session",
    "After a lost answer, agents who were on the session before count as joined.",
    "src/core/operations/add-agents.ts",
    "WHEN ${participants.addedAt} = ${v.now} AND",
    "WHEN ${participants.agentId} IS NOT NULL AND",
  ),
];

const ATTACKS: Defect[] = [
  oneEditDefect(
    "replays-count",
    "A replay counts for the limit of its app.",
    RUN,
    "  if (!unused.ok) return unused;",
    "  if (!unused.ok) waitUntil(limits.count(config.appLimit, appid, EXCEEDED_SECONDS));\n  if (!unused.ok) return unused;",
  ),
  oneEditDefect(
    "nonce-memory-without-appid",
    "An isolate remembers a ranstr for all apps.",
    "src/core/signed/nonce-memory.ts",
    "const nonceKey = (appid: string, ranstr: string) => `${appid}\\0${ranstr}`;",
    "const nonceKey = (_appid: string, ranstr: string) => ranstr;",
  ),
  oneEditDefect(
    "burn-before-verify",
    "A forgery uses up the ranstr in the isolate.",
    RUN,
    "  if (!verified.ok) return verified;",
    "  if (!verified.ok) tools.nonces.add(appid, String(fields.value.ranstr), now + 900);\n  if (!verified.ok) return verified;",
  ),
  oneEditDefect(
    "failures-charged-first",
    "An address over its limit is refused before its signature is verified.",
    VERIFY,
    "  const since = runtime.elapsed();\n",
    '  const since = runtime.elapsed();\n  if (limits.isExceeded(failureKey("signed", client))) return tooManyFailures();\n',
  ),
  oneEditDefect(
    "confirm-skipped",
    "A refusal before the batch tells a revoked app more than a wrong signature would be told.",
    "src/core/signed/verify-again.ts",
    'if (knownApp.source === "d1" && evenFromD1 !== true) return knownApp;',
    'if (knownApp.source === "d1" && evenFromD1 !== true || cause === "refused_anyway") return knownApp;',
  ),
];

const CLIENTS: Defect[] = [
  oneEditDefect(
    "client-new-key-for-each-try",
    "The client draws another Idempotency-Key for each try.",
    CLIENT,
    "const attempt = { operation, fields, names, key, signal, limits };",
    "const attempt = { operation, fields, names, key: key && crypto.randomUUID(), signal, limits };",
  ),
];

const CREDENTIALS: Defect[] = [
  oneEditDefect(
    "forger-blocks-the-app-for-all-addresses",
    "After a forgery the isolate reads no newer record of the app for 5 s, for any address.",
    RESOLVE,
    "this.#once(`${appid} ${client} ${trust}`,",
    "this.#once(`${appid} ${client.slice(0, 0)} ${trust}`,",
  ),
  oneEditDefect(
    "cached-revocation-is-final",
    "A cached record that says revoked is believed.",
    VERIFY,
    '(result.reason === "signature_mismatch" || result.reason === "app_revoked")',
    'result.reason === "signature_mismatch"',
  ),
  oneEditDefect(
    "old-records-kept",
    "When the gate refuses an old record, no newer one is read.",
    "src/core/signed/decide.ts",
    'const fresh = await verifyAgain(tools, claimant, currentCaller, "gate_refused");',
    'const fresh = { ok: false, code: "token_invalid", reason: "credentials_stale" } as never;',
  ),
  oneEditDefect(
    "rotation-compares-one-version",
    "A rotation does not see that the overlap was ended, and ends the only secret in use.",
    ROTATED,
    "sql`${table.previousVersion} IS ${before.previousVersion}`",
    "sql`(1 OR ${table.previousVersion} IS ${before.previousVersion})`",
  ),
  oneEditDefect(
    "reseal-brings-back-an-ended-secret",
    "Re-sealing writes the secret of an overlap back that was ended since it was read.",
    "src/operators/store/home/seals.ts",
    "sql`${table.previousSecret} IS ${renewedPart(6)}`",
    "sql`(1 OR ${table.previousSecret} IS ${renewedPart(6)})`",
  ),
  oneEditDefect(
    "end-overlap-keeps-seal",
    "The end of an overlap leaves the sealed secret in the row.",
    ROTATED,
    "const none = { previousVersion: null, previousSecret: null, previousExpiresAt: null };",
    "const none = { previousVersion: null, previousExpiresAt: null };",
  ),
  oneEditDefect(
    "end-overlap-not-published",
    "The end of an overlap does not reach KV.",
    "src/operators/services/rotation.ts",
    "owner.changed({ ...storedSecrets, ...now });",
    "",
  ),
  oneEditDefect(
    "released-without-a-fence",
    "Releasing an appid stops no call that is issuing it.",
    "src/operators/store/home/apps.ts",
    ".set({ revision: sql`${homeSites.revision} + 1` })",
    ".set({ revision: sql`${homeSites.revision} + 0` })",
  ),
];

/** Whether a site has events: in the record of an app, in the gate, and in what a batch sends. */
const EVENTS: Defect[] = [
  oneEditDefect(
    "record-without-events-passes-the-gate",
    "A call of an isolate that has not heard of a site's events leaves none.",
    CLAIM,
    "AND ${homeSites.events} = ${v.events}\n",
    "AND ${homeSites.events} >= ${v.events}\n",
  ),
  oneEditDefect(
    "record-with-events-passes-the-gate",
    "A call of an isolate that has not heard that a site's events are off leaves one.",
    CLAIM,
    "AND ${homeSites.events} = ${v.events}\n",
    "AND ${homeSites.events} <= ${v.events}\n",
  ),
  oneEditDefect(
    "second-run-keeps-the-first-events",
    "The second run takes the new record, but not what it says of events.",
    "src/core/signed/decide.ts",
    "    outcome = await meetGate(currentCaller, run);",
    "    outcome = await meetGate({ ...currentCaller, events: caller.events }, run);",
  ),
];

/** Defects of signed calls, of the protection against attackers, of the client, of credentials and caches, and of events in records. */
export const CALLER_DEFECTS: Defect[] = [...SIGNED, ...ATTACKS, ...CLIENTS, ...CREDENTIALS, ...EVENTS];
