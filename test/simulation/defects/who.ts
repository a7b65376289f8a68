import type { Defect } from "./defect.ts";

/** Defects of the door: who is let in, what they see, and what is noted of them. Tokens: tokens.ts. */
export const WHO_DEFECTS: Defect[] = [
  {
    name: "door-without-role",
    what: "Every role may do everything.",
    edits: [
      {
        file: "src/http/operator/call.ts",
        find: 'if (role !== "anyone" && !isAtLeast(theirs, role)) throw roleTooLow(role, theirs);',
        replace: "",
      },
    ],
  },
  {
    name: "door-role-of-one-call",
    what: "A viewer may rename agents.",
    edits: [
      {
        file: "src/http/admin/agents.ts",
        find: 'path: "/sites/:site_id/agents/:id",\n      role: "operator",',
        replace: 'path: "/sites/:site_id/agents/:id",\n      role: "viewer",',
      },
    ],
  },
  {
    name: "door-tokens-for-operators",
    what: "An operator may make tokens, and so one of an owner.",
    edits: [
      {
        file: "src/http/admin/tokens.ts",
        find: 'path: "/tokens",\n      role: "owner",\n      scope: "deployment",\n      audit: ["token.created"],',
        replace: 'path: "/tokens",\n      role: "viewer",\n      scope: "sites",\n      audit: ["token.created"],',
      },
    ],
  },
  {
    name: "door-roles-turned-round",
    what: "A lower role may do what a higher one may, and not the other way round.",
    edits: [
      {
        file: "src/access/role.ts",
        find: "ROLES.indexOf(role) >= ROLES.indexOf(needed)",
        replace: "ROLES.indexOf(role) <= ROLES.indexOf(needed)",
      },
    ],
  },
  {
    name: "door-role-above-only",
    what: "Only a role above the one that a call needs may make it.",
    edits: [
      {
        file: "src/access/role.ts",
        find: "ROLES.indexOf(role) >= ROLES.indexOf(needed)",
        replace: 'role === "owner" || ROLES.indexOf(role) > ROLES.indexOf(needed)',
      },
    ],
  },
  {
    name: "door-role-before-scope",
    what: "The role is looked at before the scope, so a viewer of one site learns which other sites there are.",
    edits: [
      {
        file: "src/http/operator/call.ts",
        find: "  if (onlySite !== undefined) {",
        replace:
          '  if (role !== "anyone" && !isAtLeast(theirs, role)) throw roleTooLow(role, theirs);\n  if (onlySite !== undefined) {',
      },
    ],
  },
  {
    name: "door-site-without-scope",
    what: "A token of one site opens the paths of every site.",
    edits: [
      {
        file: "src/http/operator/call.ts",
        find: "site.id !== onlySite) throw siteUnknown();",
        replace: "site.id < 0) throw siteUnknown();",
      },
    ],
  },
  {
    name: "door-app-without-scope",
    what: "A token of one site may rotate and revoke the apps of every site.",
    edits: [
      {
        file: "src/http/operator/call.ts",
        find: "!== onlySite) throw appUnknown();",
        replace: "=== 0) throw appUnknown();",
      },
    ],
  },
  {
    name: "door-deployment-without-scope",
    what: "A token of one site may make calls about the whole deployment.",
    edits: [
      {
        file: "src/http/operator/call.ts",
        find: 'if (scope === "deployment") throw ofOneSite();',
        replace: "",
      },
    ],
  },
  {
    name: "door-sites-of-all",
    what: "A token of one site lists all sites.",
    edits: [
      {
        file: "src/services/sites.ts",
        find: "input.limit + 1, identity?.onlySite)",
        replace: "input.limit + 1, undefined)",
      },
    ],
  },
  {
    name: "door-find-any-site",
    what: "A token of one site reads the audit log of the site that it asks for.",
    edits: [
      {
        file: "src/services/sites.ts",
        find: "if (!sees(ctx, siteId)) throw siteUnknown();",
        replace: "",
      },
    ],
  },
  {
    name: "door-audit-of-all",
    what: "A token of one site reads the audit log of all sites when it names none.",
    edits: [
      { file: "src/services/audit.ts", find: "{ siteId = ctx.identity?.onlySite, limit", replace: "{ siteId, limit" },
    ],
  },
  {
    name: "door-refusals-of-all",
    what: "A token of one site finds refused calls of the other sites of its home.",
    edits: [
      {
        file: "src/services/journal.ts",
        find: "&& (site === undefined || found.siteId === site.id)) return found;",
        replace: ") return found;",
      },
    ],
  },
  {
    name: "who-is-the-root",
    what: "The audit log says that the root has done what the holder of a token did.",
    edits: [
      {
        file: "src/services/service-context.ts",
        find: "who: identity?.who ?? null,",
        replace: 'who: identity && { kind: "root", id: "root", name: "ADMIN_TOKEN" },',
      },
    ],
  },
  {
    name: "who-without-name",
    what: "The audit log calls each operator by the id.",
    edits: [
      {
        file: "src/store/audit.ts",
        find: "whoName: who?.name ?? null,",
        replace: "whoName: who?.id ?? null,",
      },
    ],
  },
  {
    name: "who-with-whole-address",
    what: "The audit log has the whole address of an operator.",
    edits: [
      {
        file: "src/http/client-address.ts",
        find: '`${address.split(".").slice(0, 3).join(".")}.0/24`',
        replace: "address",
      },
    ],
  },
  {
    name: "who-of-the-worker",
    what: "The audit log says that the root has disabled the webhooks that the Worker disables.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "auditLog.actor, auditLog.action, auditLog.subject, auditLog.details)}",
        replace: "auditLog.actor, auditLog.whoKind, auditLog.action, auditLog.subject, auditLog.details)}",
      },
      {
        file: "src/store/home/webhook-health.ts",
        find: "'worker', 'webhook.disabled',",
        replace: "'worker', 'root', 'webhook.disabled',",
      },
    ],
  },
  {
    name: "refused-each-time",
    what: "Each refused token leaves a row in the audit log.",
    edits: [
      { file: "src/services/sign-in-log.ts", find: "const REFUSED_MS = 60_000;", replace: "const REFUSED_MS = 0;" },
    ],
  },
  {
    name: "refused-counted-again",
    what: "A row about refused tokens counts those again that an earlier row has counted.",
    edits: [
      {
        file: "src/services/sign-in-log.ts",
        find: "memory.refused.set(actor, { at: now, count: 0 });",
        replace: "memory.refused.set(actor, { at: now, count: count + 1 });",
      },
    ],
  },
  {
    name: "root-read-each-time",
    what: "Each isolate notes a read by the root once more in an hour.",
    edits: [{ file: "src/store/audit.ts", find: "ONE_ROW, notExists(earlier))", replace: "ONE_ROW, undefined)" }],
  },
];
