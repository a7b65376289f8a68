import type { Model } from "../../checker/model.ts";
import type { BrokenRule } from "../../checker/violate.ts";
import { wrongSiteEnd } from "../../erasure/rules/site-ends.ts";
import { wrongRestoredWrite } from "../../homes/rules/restores.ts";
import type { Row } from "../../platform/database.ts";
import type { Intent, Operation, WrittenInHome } from "./intents.ts";
import { wrongSecrets } from "./secrets.ts";
import { wrongChangeSite, wrongCreateSite, wrongRelease } from "./sites.ts";
import { wrongSend } from "./webhook-writes.ts";

/**
 * What each call of the admin API may change: its tables, and for each table "+" for a new row, "-" for a deleted row,
 * and the columns. Tests of the calls check the values.
 */
const SECRET = /^(version|secret|previous_version|previous_secret|previous_expires_at)$/;
const MAY: Record<
  Exclude<Intent["kind"], "restored" | "eraseCustomer" | "deleteSite">,
  Record<string, ("+" | "-" | RegExp)[]>
> = {
  createSite: { sites: ["+", /^status$/], home_sites: ["+"] },
  change: {
    home_sites: [/^(name|status|chat_id_floor|events|retention_days|revision)$/],
    sites: [/^(name|status|first_chat_id|retention_days|revision)$/],
    agents: [/^(name|status|revision)$/],
    webhooks: [/^(?!id|site_id|version|secret|previous|created)/],
    deliveries: [/^(?!webhook_id|site_id|seq|created)/],
  },
  add: { agents: ["+"], apps: ["+"], app_routes: ["+", /^claim$/], webhooks: ["+"], home_sites: [/^events$/] },
  rotate: { apps: [SECRET], webhooks: [SECRET] },
  endOverlap: { apps: [SECRET], webhooks: [SECRET] },
  revoke: { apps: [/^revoked_at$/], home_sites: [/^revision$/], app_routes: ["-"] },
  deleteWebhook: { webhooks: ["-"], deliveries: ["-"] },
  send: { events: ["+"], deliveries: ["+", /./] },
  addToken: { admin_tokens: ["+"] },
  deleteToken: { admin_tokens: [/^deleted_at$/] },
  addPerson: { people: ["+"] },
  endPerson: { people: [/^deleted_at$/] },
  reseal: { apps: [/secret$/], webhooks: [/secret$/] },
};

/** The tables of the directory. All other tables belong to a home. */
const OF_DIRECTORY = ["sites", "app_routes", "admin_tokens", "people"];

/** The tables of the rows that some calls name by their id alone. */
const TABLE_OF: Partial<Record<Intent["kind"], string>> = { deleteToken: "admin_tokens", endPerson: "people" };

const PURPOSE = "an operator's call makes the change that it asks for, and no other";
const SECRET_RULE = "a secret is never lost, and becomes invalid only by an operator's call";
const ENDS =
  "only a closed site ends, when its own name is given, and its end is known elsewhere before its rows are deleted";
const SETTLES = "reconciling a restored home gives back what other databases know, and makes its sites skip ids";

const brokenRule = (rule: string, what: string | undefined): BrokenRule =>
  what === undefined ? undefined : [rule, what];

/** @returns the rule that a change by an operator's call breaks, and how */
export function wrongWrite(model: Model, operation: Operation, change: WrittenInHome): BrokenRule {
  const { intent } = operation;
  switch (intent.kind) {
    case "restored":
      return brokenRule(SETTLES, wrongRestoredWrite(model, { ...operation, intent }, change));
    case "deleteSite":
      return brokenRule(ENDS, wrongSiteEnd(model, { ...operation, intent }, change));
    case "eraseCustomer":
      // The whole transaction is checked at once: erasures.ts.
      return undefined;
    default: {
      const may = MAY[intent.kind][change.table];
      return (
        brokenRule(PURPOSE, wrongPlace(model, operation, change) ?? changedBeyond(may, change)) ??
        brokenRule(SECRET_RULE, wrongSecrets(model, operation, change)) ??
        brokenRule(PURPOSE, wrongValues(model, operation, change))
      );
    }
  }
}

/** Why a row does not belong to the subject of the call. */
function wrongPlace(model: Model, { intent, isDisturbed }: Operation, { home, table, before, after }: WrittenInHome) {
  const row = (after ?? before) as Row;
  const isOfDirectory = OF_DIRECTORY.includes(table);
  if (isOfDirectory && home !== "main") return "a home does not have this table";
  // After a restore the directory may have lost its row, so nothing can be compared.
  if (isDisturbed) return undefined;
  const id = "id" in intent ? intent.id : undefined;
  const wantedTable = "table" in intent ? intent.table : TABLE_OF[intent.kind];
  const appid = intent.kind === "revoke" ? intent.appid : wantedTable === "apps" ? id : undefined;
  const webhook_id = "webhookId" in intent ? intent.webhookId : wantedTable === "webhooks" ? id : undefined;
  const site_id =
    ("siteId" in intent ? intent.siteId : undefined) ?? (appid === undefined ? undefined : model.siteOf(appid));
  const ownColumns = {
    site_id,
    appid,
    webhook_id,
    id: table === "webhooks" ? webhook_id : table === wantedTable ? id : undefined,
  };
  const ids = Object.entries(table === "sites" ? { id: site_id } : ownColumns);
  const wrong = ids.find(
    ([name, value]) => value !== undefined && row[name] != null && String(row[name]) !== String(value),
  );
  if (wrong !== undefined) return `another ${wrong[0]}`;
  const isThere = isOfDirectory || site_id === undefined || home === model.directory.get(site_id)?.home;
  return isThere ? undefined : "the row is not in the site's home";
}

/** Which part of a change the call may not make. */
function changedBeyond(may: ("+" | "-" | RegExp)[] | undefined, { before, after }: WrittenInHome): string | undefined {
  if (may === undefined) return "the call may not change this table";
  if (before === null) return may.includes("+") ? undefined : "it inserts a row";
  if (after === null) return may.includes("-") ? undefined : "it deletes a row";
  const column = Object.keys(after).find(
    (name) => after[name] !== before[name] && !may.some((part) => part instanceof RegExp && part.test(name)),
  );
  return column && `it changes ${column}`;
}

function wrongValues(model: Model, operation: Operation, change: WrittenInHome): string | undefined {
  const { intent, changes } = operation;
  const { table, before, after } = change;
  switch (intent.kind) {
    case "createSite":
      return wrongCreateSite(model, { ...operation, intent }, change);
    case "change":
      if (intent.table === "home_sites") return wrongChangeSite(model, { ...operation, intent }, change);
      return table === intent.table ? findUnasked(intent.wantedColumns, change) : undefined;
    case "add":
      if (table === "app_routes") return after?.claim === before?.claim ? "it has no new reservation" : undefined;
      if (table === "apps" && model.routes.get(String(after?.appid)) !== intent.siteId) return "no route leads to it";
      // A call may reserve an appid again when another call has released it. But it adds its row only once.
      return changes.some((each) => each.table === table) ? "the call has done that already" : undefined;
    case "revoke":
      return wrongRelease(model, intent.appid, change);
    case "send":
      return wrongSend(model, { ...operation, intent }, change);
    default:
      return undefined;
  }
}

/** The columns that a PATCH may name. */
const NAMED = ["name", "status", "url", "events", "retention_days"];

/** Which column has neither the requested value nor, when none was requested, its earlier value. */
export function findUnasked(
  wantedColumns: Row,
  { before, after }: WrittenInHome,
  base: Row = before ?? {},
): string | undefined {
  const wantedRow = { ...base, ...wantedColumns };
  const column = NAMED.find((name) => name in base && after?.[name] !== wantedRow[name]);
  return column && `${column} is ${after?.[column]}, expected ${wantedRow[column]}`;
}
