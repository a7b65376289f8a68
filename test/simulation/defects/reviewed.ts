import type { Defect } from "./defect.ts";

/** Faults that a review once found by hand. Each edit brings the old code back. */
export const REVIEWED_DEFECTS: Defect[] = [
  {
    name: "app-of-another-site",
    what: "Neither the claim nor the seal checks the site of an app, so a record with another site's id writes there.",
    edits: [
      {
        file: "src/store/home/claim.ts",
        find: "sql`${homeSites} JOIN ${apps} ON ${apps.siteId} = ${homeSites.siteId}`",
        replace: "sql`${homeSites} JOIN ${apps} ON true`",
      },
      {
        file: "src/credentials/sealed-secret.ts",
        find: "`v2|${owner.siteId}|",
        replace: "`v2|${owner.siteId && 0}|",
      },
    ],
  },
  {
    name: "replays-use-up-the-limit",
    what: "A request counts for its app's limit before D1 has decided that it is not a replay.",
    edits: [
      {
        file: "src/signed/run-request.ts",
        find: "  const decided = await decide(tools, claimant, caller, ready);\n",
        replace:
          "  waitUntil(limits.count(config.appLimit, appid, EXCEEDED_SECONDS));\n  const decided = await decide(tools, claimant, caller, ready);\n",
      },
      {
        file: "src/signed/run-request.ts",
        find: "    waitUntil(limits.count(config.appLimit, appid, EXCEEDED_SECONDS));\n    waitUntil(limits.count(config.siteLimit",
        replace: "    waitUntil(limits.count(config.siteLimit",
      },
    ],
  },
  {
    name: "second-try-restores",
    what: "The Worker's own second try brings back a session that was erased after the first, whose answer was lost.",
    edits: [
      {
        file: "src/store/home/claim.ts",
        find: "sql`${mine(v)} AND ${nonces.attempt} = ${v.attempt}`",
        replace: "sql`${mine(v)}`",
      },
    ],
  },
  {
    name: "nonces-as-long-as-the-tolerance",
    what: "A ranstr is remembered for the tolerance at the time of the request, so a later, higher tolerance accepts it again.",
    edits: [
      {
        file: "src/signed/decide.ts",
        find: "const claim = await claimOf(runtime, caller, ready, trace.requestId, signed.now);",
        replace:
          "const claim = { ...(await claimOf(runtime, caller, ready, trace.requestId, signed.now)), nonceExpiresAt: signed.now + 2 * tools.config.timestampToleranceSeconds + 60 };",
      },
    ],
  },
  {
    name: "revoked-until-kv-forgets",
    what: "An app that was revoked, and restored by Time Travel, stays refused until KV forgets the revocation.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: '(result.reason === "signature_mismatch" || result.reason === "app_revoked")',
        replace: 'result.reason === "signature_mismatch"',
      },
    ],
  },
  {
    name: "versions-are-counters",
    what: "Versions of secrets count up: a rotation that Time Travel undid and the next one have the same version.",
    edits: [
      {
        file: "src/services/apps.ts",
        find: "const version = newVersion(runtime);",
        replace: "const version = `${appid} ${newVersion(runtime) && 1}`;",
      },
      {
        file: "src/services/rotation.ts",
        find: "const version = newVersion(ctx.runtime);",
        replace:
          "const version = 'webhookId' in owner ? newVersion(ctx.runtime) : stored.version.replace(/\\d+$/, (count) => String(Number(count) + (newVersion(ctx.runtime) ? 1 : 0)));",
      },
    ],
  },
];
