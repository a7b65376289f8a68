import type { Defect } from "./defect.ts";

const CLAIM = "src/store/home/claim.ts";

/** Defects of what one signed call reads and writes. */
export const CLAIM_DEFECTS: Defect[] = [
  {
    name: "claim-without-owner",
    what: "A replay accepts the claim of the first request as its own.",
    edits: [
      { file: CLAIM, find: "${sameNonce(v)} AND ${nonces.owner} = ${v.owner}\n", replace: "${sameNonce(v)}\n" },
      { file: CLAIM, find: "${nonces.owner} = ${v.owner} AS mine", replace: "1 AS mine" },
    ],
  },
  {
    name: "fresh-owner-for-each-try",
    what: "A second try reports the commit of the first one as a replay.",
    edits: [
      {
        file: "src/signed/decide.ts",
        find: "const request = { ...claim, siteId, secretVersion };\n  const batch = (attempt: number) => operation.batch(db, request, asked, attempt);",
        replace:
          "const request = { ...claim, siteId, secretVersion };\n  const batch = (attempt: number) => operation.batch(db, { ...request, owner: request.owner + attempt }, asked, attempt);",
      },
    ],
  },
  {
    name: "gate-without-version",
    what: "An ended secret is accepted until the caches forget it.",
    edits: [
      {
        file: CLAIM,
        find: "AND (${apps.version} = ${v.secretVersion}\n    OR (${apps.previousVersion} = ${v.secretVersion} AND ${apps.previousExpiresAt} > ${v.now}))",
        replace: "AND ${v.secretVersion} IS NOT NULL",
      },
    ],
  },
  {
    name: "gate-without-revocation",
    what: "A revoked app is accepted until the caches forget it.",
    edits: [{ file: CLAIM, find: "  AND ${apps.revokedAt} IS NULL\n", replace: "\n" }],
  },
  {
    name: "gate-without-status",
    what: "A closed site is written to.",
    edits: [
      {
        file: CLAIM,
        find: "WHERE ${appIsGood(v)} AND ${homeSites.status} = 'open')",
        replace: "WHERE ${appIsGood(v)})",
      },
    ],
  },
  {
    name: "gate-without-site",
    what: "The claim does not check that the app belongs to the site that is written to.",
    edits: [
      {
        file: CLAIM,
        find: "sql`${homeSites} JOIN ${apps} ON ${apps.siteId} = ${homeSites.siteId}`",
        replace: "sql`${homeSites} JOIN ${apps} ON true`",
      },
    ],
  },
  {
    name: "key-of-any-app",
    what: "An Idempotency-Key of one app answers for another app of the site.",
    edits: [
      {
        file: CLAIM,
        find: "AND ${idempotencyKeys.appid} = ${v.appid} AND ${idempotencyKeys.operation}",
        replace: "AND ${idempotencyKeys.operation}",
      },
    ],
  },
  {
    name: "key-of-any-operation",
    what: "An Idempotency-Key of create_gd answers for add_kf.",
    edits: [{ file: CLAIM, find: "AND ${idempotencyKeys.operation} = ${literal(name)}\n", replace: "\n" }],
  },
  {
    name: "key-without-meaning",
    what: "A key that was used for another request gets the session of that request.",
    edits: [
      {
        file: CLAIM,
        find: "WHEN ${idempotencyKeys.fingerprint} = ${v.fingerprint} THEN 'repeated'",
        replace: "WHEN ${idempotencyKeys.fingerprint} IS NOT NULL THEN 'repeated'",
      },
    ],
  },
  {
    name: "key-put-after-the-batch",
    what: "The key is remembered by a call of its own after the session's batch.",
    edits: [
      {
        file: "src/operations/define-operation.ts",
        find: "        ...(request.key === null ? [] : [remember(db, values)]),\n",
        replace: "        ...(request.key === null ? [] : (void remember(db, values).run().catch(() => {}), [])),\n",
      },
    ],
  },
  {
    name: "key-kept-too-short",
    what: "A key is forgotten after an hour.",
    edits: [{ file: "src/signed/idempotency-key.ts", find: "= 86_400;", replace: "= 3_600;" }],
  },
  {
    name: "floor-ignored",
    what: "The next chat id ignores the site's floor.",
    edits: [
      {
        file: CLAIM,
        find: "max(${homeSites.chatIdFloor}, ${newestSessionId(homeSites.siteId)}) + 1",
        replace: "max(0, ${newestSessionId(homeSites.siteId)}) + 1",
      },
    ],
  },
  {
    name: "ids-of-all-sites",
    what: "The next chat id counts the sessions of every site of the home.",
    edits: [
      {
        file: CLAIM,
        find: " FROM ${sessions} WHERE ${sessions.siteId} = ${siteId}), 0)`",
        replace: " FROM ${sessions} WHERE ${siteId} > 0), 0)`",
      },
    ],
  },
  {
    name: "two-batches",
    what: "The claim and the session are written by two batches.",
    edits: [
      {
        file: "src/store/run-batch.ts",
        find: "(attempt) => db.batch<unknown>(batch(attempt)), answerBy, before, watch);",
        replace:
          "async (attempt) => { const [first, ...rest] = batch(attempt); return [...(await db.batch<unknown>([first as D1PreparedStatement])), ...(await db.batch<unknown>(rest))]; }, answerBy, before, watch);",
      },
    ],
  },
  {
    name: "no-retry",
    what: "After a lost answer of D1 the batch is not retried.",
    edits: [
      { file: "src/store/run-batch.ts", find: "attempt <= TRIES; attempt++", replace: "attempt <= 1; attempt++" },
    ],
  },
  {
    name: "no-time-limit-for-d1",
    what: "A call waits for D1 without a limit.",
    edits: [
      {
        file: "src/store/run-batch.ts",
        find: "return await withinTime(runtime, limit, () => call(before + attempt), late);",
        replace: "void late; return await call(before + attempt);",
      },
    ],
  },
  {
    name: "nonces-forgotten-early",
    what: "A ranstr is remembered for eleven minutes.",
    edits: [{ file: "src/signed/kv-nonces.ts", find: "= 2 * MAX_TOLERANCE_SECONDS + 60;", replace: "= 660;" }],
  },
  {
    name: "nonce-told-before-the-batch",
    what: "The ranstr is put into KV before D1 has it, so a retry after a fault is refused.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "  const decided = await decide(tools, claimant, caller, ready);\n",
        replace:
          "  waitUntil(rememberNonce(config.nonces, kvCheck.key, telemetry));\n  const decided = await decide(tools, claimant, caller, ready);\n",
      },
    ],
  },
  {
    name: "kv-awaited",
    what: "A request waits until KV has stored its ranstr.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "waitUntil(rememberNonce(config.nonces, kvCheck.key, telemetry));",
        replace: "await rememberNonce(config.nonces, kvCheck.key, telemetry);",
      },
    ],
  },
  {
    name: "kv-look-without-limit",
    what: "A request waits for KV's answer without a limit.",
    edits: [
      {
        file: "src/signed/check-replay.ts",
        find: "if (await answerWithin(runtime, answer ?? isKnownToKv(config.nonces, key), left)) {",
        replace: "void answerWithin; void left; if (await (answer ?? isKnownToKv(config.nonces, key))) {",
      },
    ],
  },
  {
    name: "credentials-without-hedge",
    what: "A cold request waits for KV and does not ask D1 in parallel.",
    edits: [
      {
        file: "src/credentials/hedge.ts",
        find: "const early = await within(runtime, KV_HEAD_START_MS, fromKv, null);",
        replace: "const early = await within(runtime, 60_000, fromKv, null);",
      },
    ],
  },
  {
    name: "disabled-agents-join",
    what: "An agent who is disabled may be named in create_gd.",
    edits: [
      {
        file: "src/operations/create-session.ts",
        find: "WHERE ${agents.status} IS NOT 'normal'`;",
        replace: "WHERE ${agents.status} IS NULL`;",
      },
    ],
  },
  {
    name: "agents-of-any-site",
    what: "An agent of another site may be named in create_gd.",
    edits: [
      {
        file: "src/operations/create-session.ts",
        find: "ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = asked.value\n    WHERE",
        replace: "ON ${v.siteId} > 0 AND ${agents.id} = asked.value\n    WHERE",
      },
    ],
  },
  {
    name: "sessions-of-any-site",
    what: "add_kf adds agents to a session of another site.",
    edits: [
      {
        file: "src/operations/session-rules.ts",
        find: "sql`${sessions.siteId} = ${v.siteId} AND ${sessions.id} = ${v.chatId}`",
        replace: "sql`${v.siteId} > 0 AND ${sessions.id} = ${v.chatId}`",
      },
    ],
  },
  {
    name: "customer-not-refreshed",
    what: "A known customer keeps the first name and address.",
    edits: [
      {
        file: "src/operations/create-session.ts",
        find: "{ conflict: sql`DO UPDATE SET ${takeExcluded(customers.name, customers.ip, customers.updatedAt)}` },",
        replace: "{ conflict: sql`DO UPDATE SET ${takeExcluded(customers.updatedAt)}` },",
      },
    ],
  },
  {
    name: "responsible-agent-joins",
    what: "The responsible agent becomes a participant too.",
    edits: [
      {
        file: "src/operations/create-session.ts",
        find: "agentIds.filter((id) => id !== responsibleAgentId)",
        replace: "agentIds",
      },
    ],
  },
  {
    name: "agents-added-twice-fail",
    what: "add_kf counts agents who are on the session as new.",
    edits: [
      {
        file: "src/operations/add-agents.ts",
        find: "  AND NOT EXISTS (SELECT 1 FROM ${participants}\n    WHERE ${isParticipant(v)})",
        replace: "",
      },
    ],
  },
  {
    name: "answer-before-the-commit-is-known",
    what: "A batch whose answer was lost is answered as a refusal.",
    edits: [
      {
        file: "src/store/run-batch.ts",
        find: '  new ServiceError("unavailable", { reason: "d1_unavailable", retryAfter: 1, cause });',
        replace:
          '  new ServiceError("invalid_parameters", { reason: "d1_unavailable", retryAfter: 1, cause, tell: true, detail: "x" });',
      },
    ],
  },
  {
    name: "client-new-key-for-each-try",
    what: "The client draws another Idempotency-Key for each try.",
    edits: [
      {
        file: "src/client/client.ts",
        find: "const attempt = { operation, fields, names, key, signal, limits };",
        replace: "const attempt = { operation, fields, names, key: key && crypto.randomUUID(), signal, limits };",
      },
    ],
  },
  {
    name: "client-retries-without-key",
    what: "The client repeats a call without a key after a lost answer.",
    edits: [
      {
        file: "src/client/client.ts",
        find: "return keyed && (failure.code",
        replace: "return (keyed || true) && (failure.code",
      },
    ],
  },
  {
    name: "no-retry-after-a-timeout",
    what: "After a try that D1 did not answer in time there is no other one.",
    edits: [
      {
        file: "src/store/run-batch.ts",
        find: "if (!(error instanceof TryTimedOut || TRANSIENT.test(message))) break;",
        replace: "if (!TRANSIENT.test(message)) break;",
      },
    ],
  },
  {
    name: "look-up-shared-by-requests",
    what: "Requests wait without a limit for the look-up of another one, which may be cut off.",
    edits: [
      {
        file: "src/credentials/resolve-credentials.ts",
        find: "    if (!APPID.test(appid)) return undefined;\n",
        replace:
          "    if (!APPID.test(appid)) return undefined;\n    const shared = this as unknown as { looks?: Map<string, Promise<Found | undefined>> };\n    shared.looks ??= new Map();\n    const inFlight = shared.looks.get(appid);\n    if (inFlight !== undefined) return inFlight;\n    const look = this.askAlone(bindings, appid, lifetime).finally(() => shared.looks?.delete(appid));\n    shared.looks.set(appid, look);\n    return look;\n  }\n\n  async askAlone(bindings: CredentialBindings, appid: string, lifetime: Lifetime): Promise<Found | undefined> {\n",
      },
    ],
  },
];
