import { type Defect, LONGER } from "./defect.ts";

/** Defects of sites, in their home and in the directory. */
export const SITE_DEFECTS: Defect[] = [
  {
    name: "site-begun-without-audit",
    what: "A site's row in the directory leaves no row in the audit log.",
    edits: [
      {
        file: "src/store/directory/sites.ts",
        find: "auditOf(db, author, audited, ONE_ROW, CHANGED),",
        replace: "auditOf(db, author, audited, ONE_ROW, sql`0`),",
      },
    ],
  },
  {
    name: "floor-lowered",
    what: "A first_chat_id below a given id is accepted.",
    edits: [
      {
        file: "src/store/home/sites.ts",
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
        file: "src/store/home/sites.ts",
        find: "and(named, eq(homeSites.revision, before.revision), eq(homeSites.events, before.events), allowed)",
        replace: "and(named, allowed)",
      },
    ],
  },
  {
    name: "site-not-copied",
    what: "The directory does not receive a site's change.",
    edits: [
      {
        file: "src/services/sites.ts",
        find: "await updateSiteCopy(runtime, config.directory, site.id, copy).catch(sayNotCopied);",
        replace:
          "if (copy.name === '') await updateSiteCopy(runtime, config.directory, site.id, copy).catch(sayNotCopied);",
      },
    ],
  },
  {
    name: "site-copied-first",
    what: "The directory accepts a late copy that is older than its own.",
    edits: [
      {
        file: "src/store/directory/sites.ts",
        find: "and(eq(sites.id, id), lt(sites.revision, copy.revision), hasNotEnded)",
        replace: "eq(sites.id, id)",
      },
    ],
  },
  {
    name: "site-copy-without-first-id",
    steps: LONGER,
    what: "The copy of a later change loses the first_chat_id of an earlier one.",
    edits: [
      {
        file: "src/services/sites.ts",
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
    name: "site-begun-twice",
    steps: LONGER,
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
    steps: LONGER,
    what: "Two calls at the same time get the same site.",
    edits: [
      {
        file: "src/services/sites.ts",
        find: "if (!(await finishSite(ctx, { site }))) continue;",
        replace: "await finishSite(ctx, { site });",
      },
    ],
  },
  {
    name: "site-renamed-opened",
    what: "A closed site that is renamed is opened.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "status: wanted.status ?? status,",
        replace: `status: wanted.status ?? (wanted.name === undefined ? status : "open"),`,
      },
    ],
  },
  {
    name: "site-lifted-opened",
    what: "A closed site that gets a first_chat_id is opened.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "status: wanted.status ?? status,",
        replace: `status: wanted.status ?? (wanted.chatIdFloor === undefined ? status : "open"),`,
      },
    ],
  },
  {
    name: "site-told-opened",
    what: "A closed site whose events are turned on or off is opened.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "status: wanted.status ?? status,",
        replace: `status: wanted.status ?? (wanted.events === undefined ? status : "open"),`,
      },
    ],
  },
  {
    name: "site-closed-not-told",
    what: "Closing a site turns its events off.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "events: wanted.events ?? before.events,",
        replace: `events: wanted.events ?? (before.events && wanted.status !== "closed"),`,
      },
    ],
  },
  {
    name: "site-late-change",
    what: "A change of a site that D1 applies late undoes one that was answered since.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "and(named, eq(homeSites.revision, before.revision), eq(homeSites.events, before.events), allowed)",
        replace: "and(named, allowed)",
      },
      {
        file: "src/store/home/sites.ts",
        find: "ne(homeSites.name, next.name)",
        replace: "sql`${homeSites.name} <> ${wanted.name ?? null}`",
      },
      {
        file: "src/store/home/sites.ts",
        find: "ne(homeSites.status, next.status)",
        replace: "sql`${homeSites.status} <> ${wanted.status ?? null}`",
      },
      {
        file: "src/store/home/sites.ts",
        find: "ne(homeSites.events, next.events)",
        replace: "wanted.events === undefined ? sql`0` : ne(homeSites.events, next.events)",
      },
      {
        file: "src/store/home/sites.ts",
        find: "store.update(homeSites).set(next).where(unchanged)",
        replace:
          "store.update(homeSites).set({ ...wanted, chatIdFloor: next.chatIdFloor, revision: sql`max(${homeSites.revision}, ${known.revision}) + 1` }).where(unchanged)",
      },
    ],
  },
];
