import type { Defect } from "./defect.ts";

/** Of the audit log: what it says of each change, and how it is read. */
export const AUDIT_DEFECTS: Defect[] = [
  {
    name: "audit-details-empty",
    what: "The audit log says nothing of the name that a site is given.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "sql`json_object('from', ${homeSites.name}, 'to', ${next.name})`",
        replace: "sql`'{}'`",
      },
    ],
  },
  {
    name: "audit-details-swapped",
    what: "The audit log has the names of a renamed agent the wrong way round.",
    edits: [
      {
        file: "src/store/home/agents.ts",
        find: "sql`json_object('from', ${agents.name}, 'to', ${name})`",
        replace: "sql`json_object('from', ${name}, 'to', ${agents.name})`",
      },
    ],
  },
  {
    name: "audit-details-of-before",
    what: "The audit log has the version that a rotation ended.",
    edits: [
      {
        file: "src/store/home/apps.ts",
        find: "'version', ${apps.version}, 'previous_expires_at', ${apps.previousExpiresAt}",
        replace: "'version', ${apps.previousVersion}, 'previous_expires_at', ${apps.previousExpiresAt}",
      },
    ],
  },
  {
    name: "audit-details-of-another",
    what: "The audit log has the name of the first agent for each that is disabled or enabled.",
    edits: [
      {
        file: "src/store/home/agents.ts",
        find: "sql`json_object('name', ${name})`",
        replace: "sql`json_object('name', (SELECT name FROM agents ORDER BY site_id, id LIMIT 1))`",
      },
    ],
  },
  {
    name: "audit-details-with-secret",
    what: "The audit log holds the sealed secret of a rotated webhook.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "sql`json_object('version', ${webhooks.version}, 'previous_expires_at', ${webhooks.previousExpiresAt})`",
        replace:
          "sql`json_object('version', ${webhooks.version}, 'previous_expires_at', ${webhooks.previousExpiresAt}, 'secret', ${webhooks.secret})`",
      },
    ],
  },
  {
    name: "audit-details-without-import",
    what: "The audit log does not say what an imported app has brought along.",
    edits: [
      {
        file: "src/store/home/apps.ts",
        find: "{ name: app.name, imported }",
        replace: "{ name: app.name, imported: imported.slice(1) }",
      },
    ],
  },
  {
    name: "audit-details-without-lift",
    what: "The audit log does not say how far a restored home was lifted.",
    edits: [
      {
        file: "src/store/reconciliations.ts",
        find: "{ lifted_by: skip, settling_id: id }",
        replace: "{ lifted_by: skip && 0, settling_id: id }",
      },
    ],
  },
  {
    name: "audit-details-of-worker",
    what: "The audit log does not say why the Worker has disabled a webhook.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "{ origin: URL.parse(url)?.origin, reason: disabling.reason }",
        replace: "{ origin: URL.parse(url)?.origin }",
      },
    ],
  },
  {
    name: "audit-list-of-all-sites",
    what: "The audit log of a site has the rows of all sites.",
    edits: [
      {
        file: "src/store/audit.ts",
        find: "siteId === undefined ? undefined : eq(auditLog.siteId, siteId)",
        replace: "siteId === undefined ? undefined : sql`true`",
      },
    ],
  },
  {
    name: "audit-list-without-directory",
    what: "The audit log of a site leaves out what was begun in the directory.",
    edits: [
      {
        file: "src/services/audit.ts",
        find: "only === undefined || home === only || home === MAIN_HOME",
        replace: "only === undefined || home === only",
      },
    ],
  },
  {
    name: "audit-page-skips-one",
    what: "A page of the audit log leaves out the entry after each one of the page before.",
    edits: [
      {
        file: "src/services/audit.ts",
        find: "before.set(home, row.id);",
        replace: "before.set(home, row.id - 1);",
      },
    ],
  },
];
