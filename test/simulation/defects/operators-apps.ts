import { type Defect, LONGER } from "./defect.ts";

/** Defects of apps, their appids and their secrets. */
export const APP_DEFECTS: Defect[] = [
  {
    name: "door-left-open",
    what: "Calls that delete pass no door: whoever knows an appid revokes its app.",
    edits: [
      {
        file: "src/http/operator/call.ts",
        find: 'each.role === "anyone"',
        replace: 'each.role === "anyone" || each.method === "delete"',
      },
    ],
  },
  {
    name: "rotate-without-overlap",
    what: "A rotation ends the previous secret at once.",
    edits: [
      {
        file: "src/services/rotation.ts",
        find: "previousExpiresAt: ctx.now + input.overlapSeconds,",
        replace: 'previousExpiresAt: ctx.now + input.overlapSeconds * ("appid" in owner ? 0 : 1),',
      },
    ],
  },
  {
    name: "rotate-ignores-expected-version",
    what: "A rotation that is repeated rotates again.",
    edits: [
      {
        file: "src/services/rotation.ts",
        find: "  requireVersion(stored, input);",
        replace: '  if ("webhookId" in owner) requireVersion(stored, input);',
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
    name: "rotate-revoked",
    steps: LONGER,
    what: "An app that was revoked meanwhile is rotated.",
    edits: [
      {
        file: "src/store/home/apps.ts",
        find: ".where(and(isApp(before), hasSecretsOf(apps, before), isNull(apps.revokedAt)))",
        replace: ".where(and(isApp(before), hasSecretsOf(apps, before)))",
      },
    ],
  },
  {
    name: "rotate-previous-not-resealed",
    what: "A rotation moves the old seal unchanged into another slot, where it does not open.",
    edits: [
      {
        file: "src/services/rotation.ts",
        find: `previousSecret: await seal(ctx.runtime, keyring, own(stored.version), "previous", current),`,
        replace: "previousSecret: current === '' ? '' : stored.secret,",
      },
    ],
  },
  {
    name: "appid-of-another-site",
    what: "An appid of another site can be imported.",
    edits: [
      {
        file: "src/services/apps.ts",
        find: "if (routed !== siteId) throw appidTaken();",
        replace: "",
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
    name: "route-without-audit",
    what: "A new route leaves no row in the audit log.",
    edits: [
      {
        file: "src/store/directory/app-routes.ts",
        find: `auditOf(db, author, audited, ONE_ROW, CHANGED),
      store
        .update(appRoutes)`,
        replace: `auditOf(db, author, audited, ONE_ROW, sql\`0\`),
      store
        .update(appRoutes)`,
      },
    ],
  },
  {
    name: "release-without-audit",
    what: "An appid that is released leaves no row in the audit log.",
    edits: [
      {
        file: "src/store/directory/app-routes.ts",
        find: `store.delete(appRoutes).where(isSame),
      auditOf(db, author, audited, ONE_ROW, CHANGED),`,
        replace: `store.delete(appRoutes).where(isSame),
      auditOf(db, author, audited, ONE_ROW, sql\`0\`),`,
      },
    ],
  },
  {
    name: "release-route-of-app",
    what: "A release deletes the route of an app.",
    edits: [
      {
        file: "src/services/apps.ts",
        find: "await revokeApp(ctx, { appid });",
        replace: "await releaseApp(ctx, { appid });",
      },
      {
        file: "src/services/apps.ts",
        find: 'if (fence === "issued") throw appIssued();',
        replace: 'if (fence === "never") throw appIssued();',
      },
    ],
  },
  {
    name: "app-not-published",
    what: "A new app's record does not reach KV.",
    edits: [
      {
        file: "src/services/apps.ts",
        find: "publishApp(ctx, { siteId,",
        replace: "if (name === '') publishApp(ctx, { siteId,",
      },
    ],
  },
  {
    name: "revoke-moves-time",
    what: "A second revocation moves the time of the first.",
    edits: [
      {
        file: "src/store/home/apps.ts",
        find: ".where(and(isApp(key), isNull(apps.revokedAt))),",
        replace: ".where(isApp(key)),",
      },
    ],
  },
  {
    name: "rotate-keeps-oldest",
    what: "A rotation that ends the previous secret keeps it, and ends the one in use.",
    edits: [
      {
        file: "src/services/rotation.ts",
        find: `return "in use";`,
        replace: `return isRunning ? "previous" : "in use";`,
      },
    ],
  },
  {
    name: "rotate-in-overlap",
    what: "A rotation during an overlap ends a secret that nobody named.",
    edits: [
      {
        file: "src/services/rotation.ts",
        find: "if (isRunning && ends === undefined) throw overlapRunning(previousExpiresAt);",
        replace: "if (isRunning && ends === undefined && now < 0) throw overlapRunning(previousExpiresAt);",
      },
    ],
  },
  {
    name: "rotate-current-ends-previous",
    what: "A rotation that ends the secret made last ends the previous one.",
    edits: [
      {
        file: "src/services/rotation.ts",
        find: `return "previous";`,
        replace: `return "in use";`,
      },
    ],
  },
  {
    name: "rotate-current-without-overlap",
    what: "A rotation without an overlap ends the only secret that is in use.",
    edits: [
      {
        file: "src/services/rotation.ts",
        find: "if (!isRunning) throw overlapOver();",
        replace: "if (!isRunning && now < 0) throw overlapOver();",
      },
    ],
  },
  {
    name: "rotate-none-keeps-previous",
    what: "A rotation without overlap leaves the secret of before in the row, with a time that is over.",
    edits: [
      {
        file: "src/services/rotation.ts",
        find: `if (overlapSeconds === 0) return "none";`,
        replace: `if (overlapSeconds === 0) return "in use";`,
      },
    ],
  },
  {
    name: "rotate-contradiction",
    what: "A rotation that ends every old secret and keeps one is accepted.",
    edits: [
      {
        file: "src/services/rotation.ts",
        find: `if (overlapSeconds > 0 || ends !== "current") return;`,
        replace: `if (overlapSeconds >= 0 || ends !== "current") return;`,
      },
    ],
  },
  {
    name: "rotate-forgets-its-own",
    steps: LONGER,
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
    name: "end-overlap-of-newer",
    steps: LONGER,
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
    name: "end-overlap-ignores-expected-version",
    what: "The end of an overlap ignores the version that is expected.",
    edits: [
      {
        file: "src/services/app-secrets.ts",
        find: "requireVersion(app, input);",
        replace: "",
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
  {
    name: "end-overlap-without-audit",
    what: "The end of an overlap leaves no row in the audit log.",
    edits: [
      {
        file: "src/store/home/apps.ts",
        find: "auditOf(db, author, audited, apps, unchanged),",
        replace: "auditOf(db, author, audited, apps, sql`0`),",
      },
    ],
  },
  {
    name: "end-overlap-audited-twice",
    what: "The end of an overlap that has ended leaves one more row in the audit log.",
    edits: [
      {
        file: "src/services/app-secrets.ts",
        find: "if (app.previousVersion === null) return { version };",
        replace: "",
      },
    ],
  },
  {
    name: "end-overlap-keeps-seal",
    what: "The end of an overlap leaves the sealed secret in the row.",
    edits: [
      {
        file: "src/store/home/rotated-secrets.ts",
        find: "{ previousVersion: null, previousSecret: null, previousExpiresAt: null } as const",
        replace: "{ previousVersion: null, previousExpiresAt: null } as const",
      },
    ],
  },
  {
    name: "end-overlap-not-published",
    what: "The end of an overlap does not reach KV.",
    edits: [
      {
        file: "src/services/app-secrets.ts",
        find: "publishApp(ctx, { ...now, home });",
        replace: "",
      },
    ],
  },
];
