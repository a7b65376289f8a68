import { type Defect, LONGER } from "./defect.ts";

/** Defects of the protection against attackers, floods and a tampered KV. */
export const ATTACK_DEFECTS: Defect[] = [
  {
    name: "limit-before-replay-check",
    steps: LONGER,
    what: "A replay counts for the app's limit.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "  if (!unused.ok) return unused;",
        replace:
          "  if (!unused.ok) {\n    waitUntil(limits.count(config.appLimit, appid, EXCEEDED_SECONDS));\n    return unused;\n  }",
      },
    ],
  },
  {
    name: "replays-of-d1-count",
    what: "A replay that D1 refuses counts for the limits.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "  replayed: false,",
        replace: "  replayed: true,",
      },
    ],
  },
  {
    name: "nonce-memory-without-appid",
    what: "An isolate remembers a ranstr for all apps.",
    edits: [
      {
        file: "src/signed/nonce-memory.ts",
        find: "const name = (appid: string, ranstr: string) => `${appid}\\0${ranstr}`;",
        replace: "const name = (_appid: string, ranstr: string) => ranstr;",
      },
    ],
  },
  {
    name: "kv-nonce-without-appid",
    what: "KV keeps a ranstr for all apps.",
    edits: [
      {
        file: "src/signed/kv-nonces.ts",
        find: "JSON.stringify([appid, ranstr])",
        replace: "JSON.stringify([appid.length, ranstr])",
      },
    ],
  },
  {
    name: "freshness-one-sided",
    what: "A timestamp may be any time ahead.",
    edits: [
      {
        file: "src/signed/check-freshness.ts",
        find: '  if (timestamp > now + toleranceSeconds) return refused("token_invalid", "timestamp_ahead", { detail });\n',
        replace: "",
      },
    ],
  },
  {
    name: "freshness-edge",
    what: "A timestamp at the edge of the tolerance is refused.",
    edits: [
      {
        file: "src/signed/check-freshness.ts",
        find: "timestamp < now - toleranceSeconds",
        replace: "timestamp <= now - toleranceSeconds",
      },
    ],
  },
  {
    name: "refresh-pause-per-app",
    steps: LONGER,
    what: "After a forgery the isolate reads no newer record of the app for 5 s, for any address.",
    edits: [
      {
        file: "src/credentials/resolve-credentials.ts",
        find: "this.#once(`${appid} ${question.client}`,",
        replace: "this.#once(`${appid} ${question.client.slice(0, 0)}`,",
      },
    ],
  },
  {
    name: "no-refresh-pause",
    what: "Each forgery costs a read of D1.",
    edits: [
      {
        file: "src/credentials/lookup-bounds.ts",
        find: "    if (this.#isInNegativeCache(whose)) return undefined;\n",
        replace: "    void this.#isInNegativeCache;\n",
      },
    ],
  },
  {
    name: "refresh-not-shared",
    what: "Forgeries at the same moment cost a read of D1 each.",
    edits: [
      {
        file: "src/credentials/lookup-bounds.ts",
        find: "    while (this.#isInFlight(whose) && this.#runtime.elapsed() < answerBy) await sleep(this.#runtime, IN_FLIGHT_POLL_MS);\n",
        replace: "    void [this.#isInFlight, answerBy, sleep, IN_FLIGHT_POLL_MS];\n",
      },
    ],
  },
  {
    name: "seal-without-site",
    what: "A seal of one site opens for another.",
    edits: [
      {
        file: "src/credentials/sealed-secret.ts",
        find: "`v2|${owner.siteId}|",
        replace: "`v2|${owner.siteId > 0}|",
      },
      {
        file: "src/store/home/claim.ts",
        find: "sql`${homeSites.siteId} = ${v.siteId} AND ${apps.appid}",
        replace: "sql`${apps.appid}",
      },
    ],
  },
  {
    name: "seal-without-version",
    what: "The seal of an ended secret opens in the current secret's slot.",
    edits: [
      {
        file: "src/credentials/sealed-secret.ts",
        find: "|${owner.version}|${slot}`",
        replace: "|${owner.version.length}|${slot}`",
      },
    ],
  },
  {
    name: "expired-secret-verifies",
    what: "A secret verifies after the end of its overlap, and the claim accepts it.",
    edits: [
      {
        file: "src/signed/authenticate.ts",
        find: "keys.filter((key) => key.expiresAt > request.now)",
        replace: "keys",
      },
      {
        file: "src/store/home/claim.ts",
        find: " AND ${apps.previousExpiresAt} > ${v.now}",
        replace: "",
      },
    ],
  },
  {
    name: "confirm-skipped",
    what: "A refusal before the batch tells a revoked app more than a wrong signature would be told.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: '  if (caller.source === "d1") return ok(null);',
        replace: "  if (caller.source !== undefined) return ok(null);",
      },
    ],
  },
  {
    name: "failures-charged-first",
    what: "An address over its limit is refused before its signature is verified.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: "  const since = runtime.elapsed();\n",
        replace:
          '  const since = runtime.elapsed();\n  if (limits.isExceeded(failureKey("signed", client))) return tooManyFailures();\n',
      },
    ],
  },
  {
    name: "kv-record-trusted",
    what: "A record of KV that calls an app valid is enough, even if D1 has revoked the app or ended its secret.",
    edits: [
      {
        file: "src/store/home/claim.ts",
        find: "\n  AND ${apps.revokedAt} IS NULL\n  AND (${apps.version} = ${v.secretVersion}\n    OR (${apps.previousVersion} = ${v.secretVersion} AND ${apps.previousExpiresAt} > ${v.now}))",
        replace: "",
      },
    ],
  },
  {
    name: "dummy-answer-differs",
    what: "An unknown appid gets an answer of its own.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: 'return refused("token_invalid", reason, detail === undefined ? {} :',
        replace:
          'return refused("token_invalid", reason, reason === "app_unknown" ? { retryAfter: 1 } : detail === undefined ? {} :',
      },
    ],
  },
  {
    name: "limits-never-refuse",
    what: "An exceeded limit of an app refuses nobody.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: 'const exceeded = limits.isExceeded(appid) ? "app_limit" : limits.isExceeded(siteKey) ? "site_limit" : undefined;',
        replace: "const exceeded = undefined as string | undefined;\n  void siteKey;",
      },
    ],
  },
  {
    name: "site-limit-missing",
    steps: LONGER,
    what: "The limit of a site is not checked.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: 'limits.isExceeded(siteKey) ? "site_limit" : undefined',
        replace: "undefined",
      },
    ],
  },
  {
    name: "client-limit-never",
    what: "An address may fail any number of times.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: "  if (!within) return tooManyFailures();\n",
        replace: "  void within;\n",
      },
    ],
  },
  {
    name: "client-look-ups",
    what: "Calls from an address over its limit still cost look-ups.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: 'const inMemory = limits.isExceeded(failureKey("unknown", client));',
        replace: "const inMemory = limits === undefined;",
      },
    ],
  },
  {
    name: "client-kv-reads",
    what: "Calls from an address over its limit still cost reads of NONCES.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: '!limits.isExceeded(failureKey("signed", client))',
        replace: "true",
      },
    ],
  },
  {
    name: "ipv6-by-address",
    what: "Each IPv6 address counts as its own client.",
    edits: [
      {
        file: "src/http/client-address.ts",
        find: '.slice(0, 4).join(":")',
        replace: '.join(":")',
      },
    ],
  },
  {
    name: "no-wait-for-first",
    what: "Identical requests in flight go to D1 each.",
    edits: [
      {
        file: "src/signed/decide.ts",
        find: "while (nonces.isInFlight(appid, ranstr) && runtime",
        replace: "while (nonces.isInFlight(appid, ranstr) && !claimant && runtime",
      },
    ],
  },
  {
    name: "memory-not-fed",
    what: "An isolate does not remember the ranstrs that it used.",
    edits: [
      {
        file: "src/signed/decide.ts",
        find: 'nonces.add(appid, ranstr, kind === "replayed" ? staleAt : claim.nonceExpiresAt);',
        replace: "void staleAt;",
      },
    ],
  },
  {
    name: "replay-memory-not-asked",
    what: "A replay that the isolate knows costs a read of KV.",
    edits: [
      {
        file: "src/signed/check-replay.ts",
        find: "early && !nonces.has(appid, ranstr)",
        replace: "early",
      },
    ],
  },
  {
    name: "signature-in-log",
    what: "The detail of a failed signature is logged with the signature.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: "  delete trace.secretVersion;\n",
        replace:
          '  delete trace.secretVersion;\n  if (reason === "signature_mismatch") trace.detail = "a signature of " + appid + appid;',
      },
    ],
  },
  {
    name: "unknown-appid-logged",
    what: "The appid that a caller sent is logged.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: "delete trace.appid;",
        replace: "trace.appid = appid;",
      },
    ],
  },
  {
    name: "signature-lower-case-only",
    what: "A signature in upper case is refused.",
    edits: [
      {
        file: "src/signed/verify-signature.ts",
        find: "/^[0-9a-f]{64}$/i",
        replace: "/^[0-9a-f]{64}$/",
      },
    ],
  },
  {
    name: "stale-told-before-signature",
    what: "A caller who cannot sign is told that the timestamp is stale.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "  const verified = await verifyCaller(tools, claimant);",
        replace:
          '  const dated = checkFreshness(fields.value, now, config.timestampToleranceSeconds);\n  if (!dated.ok && dated.code === "token_invalid") return dated;\n  const verified = await verifyCaller(tools, claimant);',
      },
    ],
  },
  {
    name: "burn-before-verify",
    what: "A forgery uses up the ranstr in the isolate.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "  const verified = await verifyCaller(tools, claimant);\n  if (!verified.ok) return verified;",
        replace:
          "  const verified = await verifyCaller(tools, claimant);\n  if (!verified.ok) {\n    tools.nonces.add(appid, String(fields.value.ranstr), now + 900);\n    return verified;\n  }",
      },
    ],
  },
  {
    name: "replay-check-before-signature",
    what: "A replay is reported as one to a caller without a valid signature.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "  const verified = await verifyCaller(tools, claimant);\n",
        replace:
          '  if (tools.nonces.has(appid, String(fields.value.ranstr))) return replayed("ranstr_seen_here");\n  const verified = await verifyCaller(tools, claimant);\n',
      },
    ],
  },
  {
    name: "limit-per-app-name",
    what: "All apps share one limit.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "limits.count(config.appLimit, appid, EXCEEDED_SECONDS)",
        replace: 'limits.count(config.appLimit, "app", EXCEEDED_SECONDS)',
      },
      {
        file: "src/signed/run-request.ts",
        find: "limits.isExceeded(appid) ?",
        replace: 'limits.isExceeded("app") ?',
      },
    ],
  },
  {
    name: "refusals-told-unsigned",
    what: "The refusal of a caller who cannot sign gives the reason.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: 'return refused("token_invalid", reason, detail === undefined ? {} :',
        replace: 'return refused("token_invalid", reason, detail === undefined ? { detail: reason, tell: true } :',
      },
    ],
  },
  {
    name: "old-records-kept",
    what: "When the claim does not know the caller, the request is refused, and no newer record is read.",
    edits: [
      {
        file: "src/signed/decide.ts",
        find: '  if (outcome.kind !== "credentials_stale") return ok(outcome);\n',
        replace: "  if (outcome.kind !== undefined) return ok(outcome);\n",
      },
    ],
  },
  {
    name: "damaged-records-taken",
    what: "A damaged record of KV is used unchecked.",
    edits: [
      {
        file: "src/credentials/kv-records.ts",
        find: "return isRecordOf(appid, record) ? record : undefined;",
        replace: "return record === null ? undefined : (record as AppRecord | undefined);",
      },
    ],
  },
  {
    name: "relocation-not-shared",
    steps: LONGER,
    what: "Of requests at the same moment, only the first may look up the home of its app.",
    edits: [
      {
        file: "src/credentials/resolve-credentials.ts",
        find: '    if (question.trust === "directory") {\n',
        replace:
          '    if (question.trust === "directory") {\n      const asked = this as unknown as { at?: Map<string, number> };\n      asked.at ??= new Map();\n      if (this.#runtime.now() < (asked.at.get(question.client) ?? 0) + 5_000) return undefined;\n      asked.at.set(question.client, this.#runtime.now());\n',
      },
    ],
  },
  {
    name: "isolate-cache-not-asked",
    what: "Each request looks its app up again.",
    edits: [
      {
        file: "src/credentials/resolve-credentials.ts",
        find: "this.#cache.fresh(appid) ?? this.#askKvAndD1(",
        replace: "this.#askKvAndD1(",
      },
    ],
  },
  {
    name: "signature-in-answer",
    what: "The detail of a refusal holds the signature.",
    edits: [
      {
        file: "src/http/signed/envelope.ts",
        find: 'c.header("x-error-detail", detail);',
        replace: 'c.header("x-error-detail", `${detail} ${c.req.header("x-chat-signature")}`);',
      },
    ],
  },
  {
    name: "no-relocation",
    what: "A record that names an unknown home stops its app.",
    edits: [
      {
        file: "src/signed/decide.ts",
        find: "    () => verifyElsewhere(tools, claimant, caller),\n",
        replace: "    () => verifyElsewhere(tools, claimant, caller).then(() => undefined),\n",
      },
    ],
  },
  {
    name: "closed-home-of-cache",
    what: "A record of KV that names a closed home stops the app, and the directory is not asked.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: '|| found.source === "d1") return found;',
        replace: "|| found !== undefined) return found;",
      },
    ],
  },
  {
    name: "closed-site-calls-count",
    steps: LONGER,
    what: "Calls that meet a closed site count for the limit of the app, however often a captured one is sent.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "  if (USED_ITS_NONCE[outcome.kind]) {\n",
        replace:
          '  if (outcome.kind === "site_closed") waitUntil(limits.count(config.appLimit, appid, EXCEEDED_SECONDS));\n  if (USED_ITS_NONCE[outcome.kind]) {\n',
      },
    ],
  },
  {
    name: "malformed-calls-count-for-nothing",
    what: "Signed calls with a bad field count for no limit, however often one is sent.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: '    if (refusal.code === "invalid_parameters") waitUntil(limits.count(config.appLimit, malformedKey, EXCEEDED_SECONDS));\n',
        replace: "",
      },
    ],
  },
  {
    name: "malformed-calls-take-quota",
    what: "Signed calls with a bad field count for the limit of the app.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "const malformedKey = `malformed ${appid}`;",
        replace: "const malformedKey = appid;",
      },
    ],
  },
  {
    name: "malformed-calls-read-kv",
    what: "A signed call with a bad field costs a read of KV even over the limit of such calls.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "const early = !tooManyMalformed && !limits",
        replace: "const early = !limits",
      },
    ],
  },
];
