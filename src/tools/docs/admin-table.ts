import type { AdminCall } from "../../operators/admin/admin-call.ts";
import { ADMIN_CALLS, ADMIN_DOCUMENTATION } from "../../operators/admin/calls.ts";
import { markdownTable } from "./markdown-table.ts";
import type { OpenApi } from "./reference/openapi.ts";

/** What a token of one site gets, by the scope of a call. docs/operating.md explains these words above the table. */
const SCOPE_TEXTS: Record<AdminCall["scope"], string> = {
  site: "its site",
  app: "its site",
  sites: "its site's part",
  own: "its own",
  deployment: "–",
};

/** The Chinese of the summaries of the calls. */
export const ADMIN_CHINESE: Record<string, string> = Object.fromEntries(
  Object.values(ADMIN_DOCUMENTATION).map((words) => [words().summary, words().chinese]),
);

const code = (text: string) => `\`${text}\``;

/** The table of the admin API in docs/operating.md. It has a row for each call. */
export function adminTable({ components }: OpenApi): string {
  const rows = ADMIN_CALLS.map(({ id, method, path, role, scope, audit }) => {
    const { body, row } = ADMIN_DOCUMENTATION[id]();
    const { properties = {}, required = [] } = components.schemas[body?.name ?? ""] ?? {};
    const fields = Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`));
    return [
      code(`${method.toUpperCase()} /admin${path}`) + (body ? ` ${code(`{${fields.join(", ")}}`)}` : ""),
      code(role),
      SCOPE_TEXTS[scope],
      row,
      audit.map(code).join(", ") || "nothing",
    ];
  });
  const head = [
    "call",
    "[role](operating/people.md#who-may)",
    "a token of one site",
    "answer",
    "leaves in the [audit log](operating/people.md#the-audit-log)",
  ];
  return markdownTable(head, rows);
}
