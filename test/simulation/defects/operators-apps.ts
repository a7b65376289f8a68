import { type Defect, LONGER } from "./defect.ts";

/** Defects of apps, their appids and their secrets. */
export const APP_DEFECTS: Defect[] = [
  {
    name: "door-left-open",
    what: "Calls that delete pass no door: whoever knows an appid revokes its app.",
    edits: [
      {
        file: "src/http/operator/call.ts",
        find: 'if (role === "anyone") routes',
        replace: 'if (role === "anyone" || method === "delete") routes',
      },
    ],
  },
  {
    name: "rotate-without-overlap",
    what: "A rotation ends the previous secret at once.",
    edits: [
      {
        file: "src/services/app-secrets.ts",
        find: "const previousExpiresAt = ctx.now + overlapSeconds;",
        replace: "const previousExpiresAt = ctx.now;",
      },
    ],
  },
  {
    name: "rotate-ignores-expected-version",
    what: "A rotation that is repeated rotates again.",
    edits: [
      {
        file: "src/services/app-secrets.ts",
        find: "if (expectedVersion !== undefined && app.version !== expectedVersion) throw otherVersion();",
        replace: "",
      },
    ],
  },
  {
    name: "rotate-lost-update",
    what: "Of two rotations at the same time, the secret of one is lost.",
    edits: [
      {
        file: "src/store/home/apps.ts",
        find: "and(isApp(key), eq(apps.version, change.previousVersion), isNull(apps.revokedAt))",
        replace: "and(isApp(key), isNull(apps.revokedAt))",
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
        find: "eq(apps.version, change.previousVersion), isNull(apps.revokedAt))",
        replace: "eq(apps.version, change.previousVersion))",
      },
    ],
  },
  {
    name: "rotate-previous-not-resealed",
    what: "A rotation moves the old seal unchanged into another slot, where it does not open.",
    edits: [
      {
        file: "src/services/app-secrets.ts",
        find: `previousSecret: await seal(ctx.runtime, keyring, app, "previous", current),`,
        replace: "previousSecret: current === '' ? '' : app.secret,",
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
    what: "A rotation during an overlap keeps the oldest secret and ends the latest one.",
    edits: [
      {
        file: "src/store/home/apps.ts",
        find: "store.update(apps).set(change).where(unchanged),",
        replace: `store.update(apps).set({
        ...change,
        previousSecret: sql\`CASE WHEN previous_expires_at > \${author.now} THEN previous_secret ELSE \${change.previousSecret} END\`,
        previousVersion: sql\`CASE WHEN previous_expires_at > \${author.now} THEN previous_version ELSE \${change.previousVersion} END\`,
      }).where(unchanged),`,
      },
    ],
  },
];
