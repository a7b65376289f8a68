import type { Defect } from "./defect.ts";

/** By then many a home was restored twice. */
const TWO_RESTORES = 24_000;

/** Of what operators do: sites, apps, secrets, pruning, restores. */
export const OPERATOR_DEFECTS: Defect[] = [
  {
    name: "lift-by-floor-only",
    what: "Settling a restored home lifts the floor and forgets ids of sessions above it.",
    edits: [
      {
        file: "src/store/settlings.ts",
        find: "const highest = sql`max(${homeSites.chatIdFloor}, ${newestSessionId(homeSites.siteId)})`;",
        replace: "const highest = sql`${homeSites.chatIdFloor}`;",
      },
    ],
  },
  {
    name: "restore-without-lift",
    what: "Settling a restored home lifts no site.",
    edits: [
      {
        file: "src/services/settle-restored-home.ts",
        find: "const settling = { id: settlingId, home, lift };",
        replace: "const settling = { id: settlingId, home, lift: 0 };",
      },
    ],
  },
  {
    name: "restored-home-without-sites",
    what: "A restored home does not get back the sites that it lost.",
    edits: [
      {
        file: "src/services/settle-restored-home.ts",
        find: "if (home !== MAIN_HOME) await copySitesToHome(directory, home, db, begunAt === undefined ? 0 : lift);",
        replace: "if (home === '') await copySitesToHome(directory, home, db, begunAt === undefined ? 0 : lift);",
      },
    ],
  },
  {
    name: "restored-home-first-id",
    what: "A restored home forgets a first_chat_id that was set after the point.",
    edits: [
      {
        file: "src/store/reconcile.ts",
        find: 'chatIdFloor: sql`max(${homeSites.chatIdFloor}, ${excluded("chat_id_floor")} - ${lift})`,',
        replace: "",
      },
      {
        file: "src/services/settle-restored-home.ts",
        find: "const remembered = await readFloors(credentials, home, askKv);",
        replace: "const remembered = { floors: [], highestSite: 0 };",
      },
    ],
  },
  {
    name: "restored-directory-without-routes",
    what: "A restored directory does not get back the routes of the other homes.",
    edits: [
      {
        file: "src/store/reconcile.ts",
        find: `.innerJoin(sites, and(eq(sites.id, field("siteId")), eq(sites.home, home))),`,
        replace: `.innerJoin(sites, and(eq(sites.id, field("siteId")), eq(sites.home, ''))),`,
      },
    ],
  },
  {
    name: "lift-not-in-directory",
    what: "What a further home was lifted to is not kept in the directory, nor in KV: a second restore gives ids twice.",
    steps: TWO_RESTORES,
    edits: [
      {
        file: "src/services/settle-restored-home.ts",
        find: "if (home !== MAIN_HOME) await keepInDirectory(directory, settling, floors, authorOf(ctx));",
        replace: "if (home === '') await keepInDirectory(directory, settling, floors, authorOf(ctx));",
      },
      {
        file: "src/services/settle-restored-home.ts",
        find: "await askKv(() => writeSettledFloors(credentials, home, settlingId, floors));",
        replace: "await askKv(() => writeSettledFloors(credentials, home, settlingId, []));",
      },
    ],
  },
  {
    name: "lift-of-main-not-in-kv",
    what: "What `main` was lifted to is not kept in KV: a second restore gives ids twice.",
    steps: TWO_RESTORES,
    edits: [
      {
        file: "src/services/settle-restored-home.ts",
        find: "await askKv(() => writeSettledFloors(credentials, home, settlingId, floors));",
        replace: "await askKv(() => writeSettledFloors(credentials, home, settlingId, []));",
      },
    ],
  },
  {
    name: "first-id-of-main-not-in-kv",
    what: "A first_chat_id of a site in `main` is not kept in KV: a restore forgets it, and only the lift is left.",
    steps: TWO_RESTORES,
    edits: [
      {
        file: "src/services/settle-restored-home.ts",
        find: "const remembered = await readFloors(credentials, home, askKv);",
        replace:
          "const remembered = { floors: [], highestSite: (await readFloors(credentials, home, askKv)).highestSite };",
      },
    ],
  },
  {
    name: "settling-lifts-again",
    what: "The same settling sent again lifts again.",
    edits: [
      {
        file: "src/store/settlings.ts",
        find: "        eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${newestSeq}) + ${lift}`,\n      })\n      .where(CHANGED),",
        replace: "        eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${newestSeq}) + ${lift}`,\n      }),",
      },
    ],
  },
  {
    name: "settles-open-home",
    what: "An open home is settled without being forced to.",
    edits: [
      {
        file: "src/services/settle-restored-home.ts",
        find: "if (!closedHomes.has(home) && !force) throw",
        replace: "if (!closedHomes.has(home) && home === '') throw",
      },
    ],
  },
  {
    name: "divergent-without-revoked",
    what: "The list after a restore does not name revoked apps.",
    edits: [
      {
        file: "src/services/list-divergent-apps.ts",
        find: "if (record.revokedAt !== null) return",
        replace: "if (record.revokedAt === 0) return",
      },
    ],
  },
  {
    name: "divergent-without-rotated",
    what: "The list after a restore does not name rotated apps.",
    edits: [
      {
        file: "src/services/list-divergent-apps.ts",
        find: 'return record.version === version ? undefined : "rotated";',
        replace: 'return record.version !== "" ? undefined : "rotated";',
      },
    ],
  },
  {
    name: "divergent-without-missing",
    what: "The list after a restore does not name missing apps.",
    edits: [
      {
        file: "src/services/list-divergent-apps.ts",
        find: `if (version === null) return "missing";`,
        replace: "if (version === null) return undefined;",
      },
    ],
  },
  {
    name: "reopen-too-early",
    what: "A restored home may be opened before old requests are stale.",
    edits: [
      {
        file: "src/services/settle-restored-home.ts",
        find: "reopenAfter: at + NONCE_SECONDS",
        replace: "reopenAfter: at + 300",
      },
    ],
  },
  {
    name: "prune-early",
    what: "Rows are pruned a minute before they expire.",
    edits: [{ file: "src/store/pruner.ts", find: "lte(expiresAt, run.now)", replace: "lte(expiresAt, run.now + 60)" }],
  },
  {
    name: "prune-closed-home",
    what: "A closed home is pruned too.",
    edits: [{ file: "src/store/prune.ts", find: ".filter(([home]) => !closedHomes.has(home))", replace: "" }],
  },
  {
    name: "prune-without-keys",
    what: "The keys' rows are never pruned.",
    edits: [
      {
        file: "src/store/pruner.ts",
        find: "lte(expiresAt, run.now)",
        replace: "sql`${expiresAt} <= ${run.now} AND ${getTableName(table)} = 'nonces'`",
      },
    ],
  },
  {
    name: "prune-first-home-only",
    what: "A run prunes one home.",
    edits: [
      {
        file: "src/store/prune.ts",
        find: "const all = served.flatMap(",
        replace: "const all = served.slice(0, 1).flatMap(",
      },
    ],
  },
  {
    name: "rotate-without-overlap",
    what: "A rotation ends the secret before at once.",
    edits: [
      {
        file: "src/services/rotate-secret.ts",
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
        file: "src/services/rotate-secret.ts",
        find: "if (expectedVersion !== undefined && app.version !== expectedVersion) throw otherVersion();",
        replace: "",
      },
    ],
  },
  {
    name: "rotate-lost-update",
    what: "Of two rotations at the same time, one is lost.",
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
    what: "A rotation moves the old seal as it is, which opens in no other slot.",
    edits: [
      {
        file: "src/services/rotate-secret.ts",
        find: `previousSecret: await seal(ctx.runtime, keyring, app, "previous", current),`,
        replace: "previousSecret: current === '' ? '' : app.secret,",
      },
    ],
  },
  {
    name: "reseal-undoes-rotation",
    what: "Sealing anew brings back the secret of before a rotation.",
    edits: [
      {
        file: "src/store/home/seals.ts",
        find: ".where(and(eq(table.siteId, part(0)), eq(name, part(1)), unchanged))",
        replace: ".where(and(eq(table.siteId, part(0)), eq(name, part(1))))",
      },
    ],
  },
  {
    name: "reseal-forgets-previous",
    what: "The previous secret is not counted as sealed with the older key.",
    edits: [
      {
        file: "src/store/home/seals.ts",
        find: "sql<number>`${count(apps.secret)} + ${count(apps.previousSecret)} + ${ofWebhooks}`",
        replace: "sql<number>`${count(apps.secret)}`",
      },
      {
        file: "src/store/home/seals.ts",
        find: "or(differs(secret, mark), differs(previousSecret, mark)),",
        replace: "differs(secret, mark),",
      },
      {
        file: "src/services/reseal-secrets.ts",
        find: "if (previousVersion !== null && previousSecret !== null) {",
        replace: "if (previousVersion === '' && previousSecret !== null) {",
      },
    ],
  },
  {
    name: "reseal-closed-home",
    what: "A closed home is sealed anew.",
    edits: [
      {
        file: "src/services/reseal-secrets.ts",
        find: "const open = [...homes].filter(([home]) => !closedHomes.has(home));",
        replace: "const open = [...homes];",
      },
    ],
  },
  {
    name: "reseal-one-home-done",
    what: "Sealing anew forgets homes beyond the first.",
    edits: [
      { file: "src/services/reseal-secrets.ts", find: "left -= answer.done;", replace: "left = 0;" },
      { file: "src/services/reseal-secrets.ts", find: "      remaining += due;", replace: "      remaining += 0;" },
    ],
  },
  {
    name: "appid-of-another-site",
    what: "An appid of another site can be imported.",
    edits: [
      {
        file: "src/services/issue-app.ts",
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
        file: "src/services/issue-app.ts",
        find: "const route = { appid, siteId, claim: runtime.uuid(), name };",
        replace: `await insertApp(runtime, db, app, found.revision, authorOf(ctx), answerBy);
    const route = { appid, siteId, claim: runtime.uuid(), name };`,
      },
    ],
  },
  {
    name: "route-without-audit",
    what: "A route leaves no row in the audit log.",
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
    name: "site-begun-without-audit",
    what: "A site that is begun leaves no row in the audit log.",
    edits: [
      {
        file: "src/store/directory/sites.ts",
        find: "auditOf(db, author, audited, ONE_ROW, CHANGED),",
        replace: "auditOf(db, author, audited, ONE_ROW, sql`0`),",
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
        file: "src/services/delete-app.ts",
        find: "await revokeApp(ctx, { appid });",
        replace: "await releaseApp(ctx, { appid });",
      },
      {
        file: "src/services/release-app.ts",
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
        file: "src/services/issue-app.ts",
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
    name: "agent-of-all-sites",
    what: "An agent is changed on every site of the home.",
    edits: [
      {
        file: "src/store/home/agents.ts",
        find: "const named = and(eq(agents.siteId, siteId), eq(agents.id, id));",
        replace: "const named = eq(agents.id, id);",
      },
    ],
  },
  {
    name: "floor-lowered",
    what: "First_chat_id below an id that was given is taken.",
    edits: [
      {
        file: "src/store/home/home-sites.ts",
        find: "allowed: floor === undefined ? undefined : and(",
        replace: "allowed: floor !== -1 ? undefined : and(",
      },
    ],
  },
  {
    name: "site-late-try",
    what: "A late try of a PATCH of a site undoes a later one.",
    edits: [
      {
        file: "src/store/home/home-sites.ts",
        find: "and(named, eq(homeSites.revision, before.revision), eq(homeSites.events, before.events), allowed)",
        replace: "and(named, allowed)",
      },
    ],
  },
  {
    name: "webhook-late-try",
    what: "A late try of a PATCH of a webhook undoes a later one.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "and(isWebhook(key), eq(webhooks.revision, before.revision))",
        replace: "isWebhook(key)",
      },
    ],
  },
  {
    name: "disabling-without-revision",
    what: "A late try of an operator enables a webhook that the Worker has disabled.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "disabled_reason = ${v.reason}, revision = revision + 1",
        replace: "disabled_reason = ${v.reason}",
      },
    ],
  },
  {
    name: "settling-undoes-change",
    what: "Settling a restored home undoes what an operator has changed since the restore.",
    edits: [
      {
        file: "src/store/home/home-sites.ts",
        find: "revision: Math.max(before.revision, known.revision) + 1,",
        replace: "revision: before.revision + 1,",
      },
    ],
  },
  {
    name: "site-not-copied",
    what: "The directory does not hear of a site's change.",
    edits: [
      {
        file: "src/services/change-site.ts",
        find: "await copySite(runtime, config.directory, site.id, copy).catch(sayNotCopied);",
        replace: "if (copy.name === '') await copySite(runtime, config.directory, site.id, copy).catch(sayNotCopied);",
      },
    ],
  },
  {
    name: "site-copied-first",
    what: "The directory hears of a late copy that is older than its own.",
    edits: [
      {
        file: "src/store/directory/sites.ts",
        find: "and(eq(sites.id, id), lt(sites.revision, copy.revision))",
        replace: "eq(sites.id, id)",
      },
    ],
  },
  {
    name: "site-copy-without-first-id",
    what: "The copy of a later change loses the first_chat_id of one before.",
    edits: [
      {
        file: "src/services/change-site.ts",
        find: "firstChatId: now.chatIdFloor + 1 }",
        replace: "firstChatId: chatIdFloor === undefined ? site.firstChatId : chatIdFloor + 1 }",
      },
    ],
  },
  {
    name: "site-opened-before-home",
    what: "The directory opens a site before its home has it.",
    edits: [
      {
        file: "src/services/finish-site.ts",
        find: `if (!(await insertHomeSite(runtime, homeDatabase(config, home), row, authorOf(ctx)))) throw idTaken(site);
  return sites.finishSite(runtime, config.directory, siteId);`,
        replace: `const done = await sites.finishSite(runtime, config.directory, siteId);
  if (!(await insertHomeSite(runtime, homeDatabase(config, home), row, authorOf(ctx)))) throw idTaken(site);
  return done;`,
      },
    ],
  },
  {
    name: "site-begun-twice",
    what: "A repeated call begins another site beside the unfinished one.",
    edits: [
      {
        file: "src/store/directory/sites.ts",
        find: ".where(notExists(store.select({ id: sites.id }).from(sites).where(begun))),",
        replace: ".where(sql`true`),",
      },
    ],
  },
  {
    name: "site-shared-by-two",
    what: "Two calls at the same time are given one site.",
    edits: [
      {
        file: "src/services/create-site.ts",
        find: "if (!(await finishSite(ctx, { site }))) continue;",
        replace: "await finishSite(ctx, { site });",
      },
    ],
  },
  {
    name: "directory-open-under-restore",
    what: "Sites and apps are made while the directory may be under restore.",
    edits: [
      {
        file: "src/services/service-context.ts",
        find: "if (config.closedHomes.has(MAIN_HOME)) throw",
        replace: "if (config.closedHomes.has('')) throw",
      },
    ],
  },
  {
    name: "sessions-of-all-sites",
    what: "A session's participants are those of all sites.",
    edits: [
      {
        file: "src/store/home/sessions.ts",
        find: ".where(and(eq(participants.siteId, siteId), eq(participants.sessionId, id)))",
        replace: ".where(eq(participants.sessionId, id))",
      },
    ],
  },
  {
    name: "list-without-customer",
    what: "The list of sessions ignores the customer that was asked for.",
    edits: [
      {
        file: "src/store/home/sessions.ts",
        find: "customerExternalId === undefined ? undefined : eq(sessions.customerExternalId, customerExternalId),",
        replace: "",
      },
    ],
  },
  {
    name: "list-skips-one",
    what: "A page of a list ends one too early.",
    edits: [{ file: "src/services/page.ts", find: "const last = items.at(-1);", replace: "const last = rows.at(-1);" }],
  },
  {
    name: "closed-home-served",
    what: "A closed home is served.",
    edits: [
      {
        file: "src/pipeline/verify-caller.ts",
        find: "if (found !== undefined && config.closedHomes.has(found.credentials.home)) {",
        replace: "if (found !== undefined && config.closedHomes.has('')) {",
      },
      {
        file: "src/pipeline/decide.ts",
        find: "if (config.closedHomes.has(home)) throw",
        replace: "if (config.closedHomes.has('')) throw",
      },
    ],
  },
  {
    name: "kv-holds-closed-home",
    what: "Callers of a closed home wait for KV.",
    edits: [
      {
        file: "src/credentials/resolve-credentials.ts",
        find: `isRefusedFor(error, "home_closed") && refuse(error)`,
        replace: `isRefusedFor(error, "") && refuse(error)`,
      },
    ],
  },
  {
    name: "silent-home-healthy",
    what: "/healthz calls a home that does not answer well.",
    edits: [
      {
        file: "src/http/health.ts",
        find: '() => "down" as const).catch(() => "down" as const);',
        replace: '() => "ok" as const).catch(() => "ok" as const);',
      },
    ],
  },
];
