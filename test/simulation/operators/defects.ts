import type { Defect } from "../defect.ts";

/** Defects of operators' calls: late tries, and changes of which only a part is done. */
export const OPERATOR_DEFECTS: Defect[] = [
  {
    name: "site-late-try",
    what: "A late try of a PATCH of a site undoes a later one.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "and(named, eq(homeSites.revision, before.revision), eq(homeSites.events, before.events), allowed)",
        replace: "and(named, allowed)",
      },
    ],
  },
  {
    name: "site-opened-before-home",
    what: "The directory opens a site before its home has it.",
    edits: [
      {
        file: "src/services/sites.ts",
        find: `if (!(await insertHomeSite(runtime, homeDatabase(config, home), row, authorOf(ctx)))) throw idTaken(site);
  return updateSiteOpen(runtime, config.directory, siteId);`,
        replace: `const done = await updateSiteOpen(runtime, config.directory, siteId);
  if (!(await insertHomeSite(runtime, homeDatabase(config, home), row, authorOf(ctx)))) throw idTaken(site);
  return done;`,
      },
    ],
  },
  {
    name: "webhook-late-try",
    what: "A late try of a PATCH of a webhook undoes a later one.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "eq(webhooks.revision, before.revision),\n      isEnabling ? notExists(pending) : undefined,",
        replace:
          "sql`${webhooks.revision} + 0 * ${before.revision} >= 0`,\n      isEnabling ? notExists(pending) : undefined,",
      },
    ],
  },
  {
    name: "rotate-lost-update",
    what: "Of two rotations at the same time, the secret of one is lost.",
    edits: [
      {
        file: "src/store/home/apps.ts",
        find: ".where(and(isApp(before), hasSecretsOf(apps, before), isNull(apps.revokedAt)))",
        replace: ".where(and(isApp(before), isNull(apps.revokedAt)))",
      },
    ],
  },
  {
    name: "end-overlap-of-newer",
    what: "A late try to end an overlap ends that of a newer rotation.",
    edits: [
      {
        file: "src/store/home/apps.ts",
        find: "isNull(apps.revokedAt), hasSecretsOf(apps, before));",
        replace: "isNull(apps.revokedAt), sql`${apps.previousVersion} IS NOT NULL`);",
      },
    ],
  },
  {
    name: "unanswered-try-is-forgotten",
    what: "A change that meets another operator's newer change begins anew, although a try of it got no answer and may have been made before.",
    edits: [
      {
        file: "src/store/change-row.ts",
        find: "    let unanswered = 0;\n    let isMade = false;\n    const { changed, now } = await retry(async () => {\n      unanswered += 1;\n      const tried = await write(row);\n      unanswered -= 1;\n",
        replace:
          "    let isMade = false;\n    const { changed, now } = await retry(async () => {\n      const tried = await write(row);\n",
      },
      {
        file: "src/store/change-row.ts",
        find: "if (isMade || unanswered > 0) throw changedMeanwhile();",
        replace: "if (isMade) throw changedMeanwhile();",
      },
    ],
  },
  {
    name: "confirming-an-agent-stops-nothing",
    what: "A change of an agent that keeps its values gives it no new revision.",
    edits: [
      {
        file: "src/store/home/agents.ts",
        find: ".set({ name, status, revision: before.revision + 1 })",
        replace:
          ".set({ name, status, revision: before.revision + Number(name !== before.name || status !== before.status) })",
      },
    ],
  },
  {
    name: "renaming-turns-events-off-again",
    what: "A change of a site does not look whether its events were turned on since it was read, and writes back what it read.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "eq(homeSites.revision, before.revision), eq(homeSites.events, before.events), allowed);",
        replace: "eq(homeSites.revision, before.revision), allowed);",
      },
    ],
  },
  {
    name: "new-webhook-comes-back",
    what: "A late try of the call that added a webhook brings it back after its deletion.",
    edits: [{ file: "src/store/home/webhooks.ts", find: ", not(wasAdded), ", replace: ", " }],
  },
  {
    name: "ending-site-is-changed",
    what: "A late change of a site is made although its end has begun since.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "const named = and(eq(homeSites.siteId, known.siteId), notExists(endOf(db, known)));",
        replace: "const named = and(eq(homeSites.siteId, known.siteId), undefined);",
      },
    ],
  },
  {
    name: "rotate-forgets-its-own",
    what: "A rotation whose answer D1 lost does not know its own secret.",
    edits: [
      {
        file: "src/services/app-secrets.ts",
        find: "if (mine !== undefined && app.version === mine.change.version)",
        replace: `if (mine !== undefined && app.version === "")`,
      },
    ],
  },
  {
    name: "app-before-route",
    what: "An app is made before its route.",
    edits: [
      {
        file: "src/services/apps.ts",
        find: "const route = { appid, siteId, reservation: runtime.uuid(), name };",
        replace: `await insertApp(runtime, db, app, found.revision, authorOf(ctx), answerBy);
    const route = { appid, siteId, reservation: runtime.uuid(), name };`,
      },
    ],
  },
  {
    name: "end-overlap-of-revoked",
    what: "The overlap of a revoked app is ended.",
    edits: [
      {
        file: "src/services/app-secrets.ts",
        find: "if (app.revokedAt !== null) throw appRevoked();\n  return app;",
        replace: "return app;",
      },
      {
        file: "src/store/home/apps.ts",
        find: "isNull(apps.revokedAt), hasSecretsOf(apps, before));",
        replace: "hasSecretsOf(apps, before));",
      },
      {
        file: "src/services/app-secrets.ts",
        find: "if (now.revokedAt !== null) throw appRevoked();",
        replace: "",
      },
    ],
  },
];
