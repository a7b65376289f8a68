import type { Defect } from "./defect.ts";

/** Defects of the audit log: the content of its rows, and how it is read. */
export const AUDIT_DEFECTS: Defect[] = [
  {
    name: "audit-details-empty",
    what: "The audit log does not record the name of a new site.",
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
    what: "The audit log swaps the old and the new name of a renamed agent.",
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
    what: "The audit log names the old version of a rotation instead of the new one.",
    edits: [
      {
        file: "src/store/home/apps.ts",
        find: "details: rotationDetails(apps, before.version, ends),",
        replace: "details: rotationDetails({ ...apps, version: apps.previousVersion } as never, before.version, ends),",
      },
    ],
  },
  {
    name: "audit-details-of-another",
    what: "The audit log gives each disabled or enabled agent the name of the first agent.",
    edits: [
      {
        file: "src/store/home/agents.ts",
        find: "sql`json_object('name', ${name}, ",
        replace: "sql`json_object('name', (SELECT name FROM agents ORDER BY site_id, id LIMIT 1), ",
      },
    ],
  },
  {
    name: "audit-details-with-secret",
    what: "The audit log contains the sealed secret of a rotated webhook.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "details: rotationDetails(webhooks, before.version, ends),",
        replace:
          "details: sql`json_insert(${rotationDetails(webhooks, before.version, ends)}, '$.secret', ${webhooks.secret})`,",
      },
    ],
  },
  {
    name: "audit-details-without-import",
    what: "The audit log does not record whether an import brought an appid or a secret.",
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
    what: "The audit log does not record how many ids a reconciliation skipped.",
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
    what: "The audit log does not record why the Worker has disabled a webhook.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "{ origin: URL.parse(url)?.origin, reason, ",
        replace: "{ origin: URL.parse(url)?.origin, ",
      },
    ],
  },
  {
    name: "audit-details-same-status",
    what: "The audit log says that a site had the same status before it was closed or opened.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "'from', ${homeSites.status}, 'to', ${next.status}",
        replace: "'from', ${next.status}, 'to', ${next.status}",
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
    what: "The audit log of a site lacks the rows of the directory.",
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
    what: "A page of the audit log skips an entry after each page.",
    edits: [
      {
        file: "src/services/audit.ts",
        find: "before.set(home, row.id);",
        replace: "before.set(home, row.id - 1);",
      },
    ],
  },
];
