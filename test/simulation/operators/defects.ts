import { type Defect, oneEditDefect } from "../planted-defect.ts";

const OWNERS = "src/operators/store/home/secret-owners.ts";

/** Defects of operators' calls: late tries, and changes that are done only in part. */
export const OPERATOR_DEFECTS: Defect[] = [
  oneEditDefect(
    "site-late-try",
    "A late try of a PATCH of a site undoes a newer PATCH.",
    "src/operators/store/home/sites.ts",
    "      eq(homeSites.revision, before.revision),\n      eq(homeSites.events, before.events),\n      allowed,",
    "      allowed,",
  ),
  oneEditDefect(
    "site-opened-before-home",
    "The directory opens a site before its home has it.",
    "src/operators/services/sites.ts",
    `if (!(await insertHomeSite(runtime, homeDatabase(config, home), row, authorOf(ctx)))) throw idTaken(site);
  return updateSiteOpen(runtime, config.directory, siteId);`,
    `const done = await updateSiteOpen(runtime, config.directory, siteId);
  if (!(await insertHomeSite(runtime, homeDatabase(config, home), row, authorOf(ctx)))) throw idTaken(site);
  return done;`,
  ),
  oneEditDefect(
    "webhook-late-try",
    "A late try of a PATCH of a webhook undoes a newer PATCH.",
    "src/operators/store/home/webhooks.ts",
    "eq(webhooks.revision, before.revision),\n      isEnabling ? notExists(pending) : undefined,",
    "sql`${webhooks.revision} + 0 * ${before.revision} >= 0`,\n      isEnabling ? notExists(pending) : undefined,",
  ),
  oneEditDefect(
    "rotate-lost-update",
    "Of two rotations at the same time, the secret of one is lost.",
    OWNERS,
    ".set(change).where(isUnchanged(owners, before))",
    ".set(change).where(and(isOwner(owners, before), OWNERS[owners].mayRotate))",
  ),
  oneEditDefect(
    "end-overlap-of-newer",
    "A late try to end an overlap ends the overlap of a newer rotation.",
    OWNERS,
    ".set(none).where(isUnchanged(owners, before))",
    ".set(none).where(and(isOwner(owners, before), table.previousVersion, OWNERS[owners as Owners].mayRotate))",
  ),
  oneEditDefect(
    "unanswered-try-is-forgotten",
    "A change that meets another operator's newer change starts again, although a try of it without an answer may have been done before.",
    "src/operators/store/change-row.ts",
    "if (isMade || unanswered > 0) throw changedMeanwhile();",
    "if (isMade) throw changedMeanwhile();",
  ),
  oneEditDefect(
    "confirming-an-agent-stops-nothing",
    "A change of an agent that sets the present values gives no new revision.",
    "src/operators/store/home/agents.ts",
    ".set({ name, status, revision: before.revision + 1 })",
    ".set({ name, status, revision: before.revision + Number(name !== before.name || status !== before.status) })",
  ),
  oneEditDefect(
    "renaming-turns-events-off-again",
    "A change of a site does not see that its events were turned on meanwhile, and turns them off again.",
    "src/operators/store/home/sites.ts",
    "      eq(homeSites.events, before.events),\n      allowed,",
    "      allowed,",
  ),
  oneEditDefect(
    "new-webhook-comes-back",
    "A late try of the call that added a webhook brings the webhook back after its deletion.",
    "src/operators/store/home/webhooks.ts",
    ", not(wasAdded), ",
    ", ",
  ),
  oneEditDefect(
    "ending-site-is-changed",
    "A late change of a site is made although the deletion of the site has begun.",
    "src/operators/store/home/sites.ts",
    "const isSite = and(eq(homeSites.siteId, knownSite.siteId), notExists(endOf(db, knownSite)));",
    "const isSite = and(eq(homeSites.siteId, knownSite.siteId), undefined);",
  ),
  oneEditDefect(
    "rotate-forgets-its-own",
    "A rotation does not recognize its own secret after D1 has lost the answer.",
    "src/operators/services/rotation.ts",
    "if (ownRotation !== undefined && storedSecrets.version === ownRotation.change.version)",
    `if (ownRotation !== undefined && storedSecrets.version === "")`,
  ),
  oneEditDefect(
    "app-before-route",
    "An app is made before its route.",
    "src/operators/services/apps.ts",
    "const route = { appid, siteId, reservation: runtime.uuid(), name };",
    `await insertApp(runtime, db, app, homeSite.revision, authorOf(ctx), answerBy);
    const route = { appid, siteId, reservation: runtime.uuid(), name };`,
  ),
  {
    name: "end-overlap-of-revoked",
    what: "The overlap of a revoked app is ended.",
    edits: [
      {
        file: "src/operators/services/app-secrets.ts",
        find: "  if (app.revokedAt !== null) throw appRevoked();\n",
        replace: "",
      },
      {
        file: OWNERS,
        find: "mayRotate: isNull(apps.revokedAt)",
        replace: "mayRotate: isNull(apps.revokedAt) && undefined",
      },
    ],
  },
  oneEditDefect(
    "redelivery-is-logged-twice",
    "A second try of sending one event again looks for its own audit row only in the newest row of the site.",
    "src/operators/store/home/redeliver-one.ts",
    "ORDER BY id DESC LIMIT 100) WHERE request_id = ${requestId} AND action",
    "ORDER BY id DESC LIMIT 1) WHERE request_id = ${requestId} AND action",
  ),
  oneEditDefect(
    "site-copied-first",
    "The directory accepts a late copy of a site that is older than its own.",
    "src/operators/store/directory/sites.ts",
    "and(eq(sites.id, id), lt(sites.revision, copy.revision), notEndedCondition)",
    "eq(sites.id, id)",
  ),
  {
    name: "release-route-of-app",
    what: "The release of an appid deletes the route of an app that exists.",
    edits: [
      {
        file: "src/operators/services/apps.ts",
        find: "await revokeApp(ctx, { appid });",
        replace: "await releaseApp(ctx, { appid });",
      },
      {
        file: "src/operators/services/apps.ts",
        find: 'if (fence === "issued") throw appIssued();',
        replace: 'if (fence === "never") throw appIssued();',
      },
    ],
  },
  oneEditDefect(
    "deleted-token-leaves-no-row",
    "Deleting a token deletes its row at once, instead of marking it for a day.",
    "src/operators/store/directory/admin-tokens.ts",
    "drizzle(db).update(adminTokens).set({ deletedAt: author.now }).where(isUndeletedToken(id)),",
    "drizzle(db).delete(adminTokens).where(isUndeletedToken(id)),",
  ),
];
