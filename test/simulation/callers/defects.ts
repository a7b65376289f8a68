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
    "The Worker's second try writes again, and brings back rows that were erased meanwhile.",
    CLAIM,
    "sql`${isMine(v)} AND ${nonces.attempt} = ${v.attempt}`",
    "sql`${isMine(v)}`",
  ),
  oneEditDefect(
    "closed-site-burns-the-ranstr-here",
    "An isolate treats a request that a closed site refused as one whose ranstr is used up.",
    "src/core/signed/decide.ts",
    'if (kind !== "site_closed") {',
    "if (kind !== undefined) {",
  ),
  oneEditDefect(
    "expired-key-row-keeps-its-place",
    "An expired Idempotency-Key whose row is not pruned yet is not remembered for a new call.",
    CLAIM,
    "          WHERE ${idempotencyKeys.expiresAt} <= ${v.now}`,",
    "          WHERE ${v.now} < 0`,",
  ),
  oneEditDefect(
    "fresh-owner-for-each-try",
    "A second try treats the commit of the first try as a replay.",
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
    "x-ignored-agents does not name an agent who joined by another call in the same second.",
    "src/core/operations/add-agents.ts",
    "WHEN ${participants.addedAt} = ${v.now} AND ${wasAcceptedBefore(v)} THEN NULL",
    "WHEN ${participants.addedAt} = ${v.now} AND (1 OR ${wasAcceptedBefore(v)}) THEN NULL",
  ),
  oneEditDefect(
    "answer-before-the-commit-is-known",
    "A call whose batch got no answer is answered as refused.",
    "src/core/store/run-batch.ts",
    'new ServiceError("unavailable", { reason: "d1_unavailable", retryAfter: 1, cause });',
    'new ServiceError("invalid_parameters", { reason: "d1_unavailable", cause, tellViolations: true, detail: "x" });',
  ),
  oneEditDefect(
    "ranstr-put-is-forgotten",
    "The put of a used ranstr into NONCES is not registered with waitUntil, so the platform drops it after the answer.",
    RUN,
    "        rememberNonce(config.nonces, kvCheck.key, telemetry),",
    "        void rememberNonce(config.nonces, kvCheck.key, telemetry),",
  ),
  oneEditDefect(
    "expired-nonce-keeps-its-try",
    "A call that replaces an expired nonce keeps the old nonce's number of the try, and writes nothing.",
    CLAIM,
    "takeExcluded(...written)",
    "takeExcluded(...written.filter((column) => column !== attempt))",
  ),
  oneEditDefect(
    "second-try-hides-who-was-on-the-session",
    "After a lost answer, agents who were on the session before are not named in x-ignored-agents.",
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
    "  if (!verifiedCaller.ok) return verifiedCaller;",
    "  if (!verifiedCaller.ok) tools.nonces.add(appid, String(fields.value.ranstr), now + 900);\n  if (!verifiedCaller.ok) return verifiedCaller;",
  ),
  oneEditDefect(
    "failures-charged-first",
    "An address over its limit is refused before its signature is verified.",
    VERIFY,
    "  const since = runtime.elapsed();\n",
    '  const since = runtime.elapsed();\n  if (limits.isExceeded(failureKey("signed", client))) return refused("too_many_requests", "client_limit");\n',
  ),
  oneEditDefect(
    "confirm-skipped",
    "A refusal before the batch gives a revoked app the reason, which a wrong signature does not get.",
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
    "An isolate believes a cached record that says that an app is revoked.",
    VERIFY,
    '(result.reason === "signature_mismatch" || result.reason === "app_revoked")',
    'result.reason === "signature_mismatch"',
  ),
  oneEditDefect(
    "old-records-kept",
    "When a batch refuses an old record of an app, the isolate reads no newer record.",
    "src/core/signed/decide.ts",
    'const freshCaller = await verifyAgain(tools, claimant, currentCaller, "gate_refused");',
    'const freshCaller = { ok: false, code: "token_invalid", reason: "credentials_stale" } as never;',
  ),
  oneEditDefect(
    "rotation-compares-one-version",
    "A rotation does not see that the overlap was ended meanwhile, and ends the only valid secret.",
    ROTATED,
    "sql`${table.previousVersion} IS ${before.previousVersion}`",
    "sql`(1 OR ${table.previousVersion} IS ${before.previousVersion})`",
  ),
  oneEditDefect(
    "reseal-brings-back-an-ended-secret",
    "Re-sealing brings back the previous secret of an overlap that was ended meanwhile.",
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
    "The end of an overlap is not put into KV.",
    "src/operators/services/rotation.ts",
    "owner.changed({ ...storedSecrets, ...now });",
    "",
  ),
  oneEditDefect(
    "released-without-a-fence",
    "The release of an appid does not stop a call that issues it at the same time.",
    "src/operators/store/home/apps.ts",
    ".set({ revision: sql`${homeSites.revision} + 1` })",
    ".set({ revision: sql`${homeSites.revision} + 0` })",
  ),
];

const EVENTS: Defect[] = [
  oneEditDefect(
    "record-without-events-passes-the-gate",
    "A call writes no event when its isolate does not know yet that the site's events are on.",
    CLAIM,
    "AND ${homeSites.events} = ${v.events}\n",
    "AND ${homeSites.events} >= ${v.events}\n",
  ),
  oneEditDefect(
    "record-with-events-passes-the-gate",
    "A call writes an event when its isolate does not know yet that the site's events are off.",
    CLAIM,
    "AND ${homeSites.events} = ${v.events}\n",
    "AND ${homeSites.events} <= ${v.events}\n",
  ),
  oneEditDefect(
    "second-run-keeps-the-first-events",
    "The second run of a request takes the new record of the app, but not its setting of events.",
    "src/core/signed/decide.ts",
    "    outcome = await meetGate(currentCaller, run);",
    "    outcome = await meetGate({ ...currentCaller, events: caller.events }, run);",
  ),
];

export const CALLER_DEFECTS: Defect[] = [...SIGNED, ...ATTACKS, ...CLIENTS, ...CREDENTIALS, ...EVENTS];
