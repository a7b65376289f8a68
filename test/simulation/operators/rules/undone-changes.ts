import { hasEnded, type Model } from "../../checker/model.ts";
import { hasKeyOf, keyId, sealedWith } from "../../checker/seals.ts";
import { sessionsOf } from "../../erasure/rules/erased-rows.ts";
import { wrongSiteEndAnswer } from "../../erasure/rules/site-ends.ts";
import { wrongRestoredAnswer } from "../../homes/rules/restores.ts";
import type { Row } from "../../platform/database.ts";
import type { Operation, OperationOf } from "./intents.ts";

/**
 * What an answer tells an operator is done. Tests of the calls check what an answer shows. These rules check whether
 * the change is stored, even if some tries failed.
 */

type JsonBody = Record<string, unknown>;

/** @returns what a 2xx answer says that is not true */
export function undoneBy(model: Model, operation: Operation): string | undefined {
  const { call, intent, changes } = operation;
  const text = call.answer?.body ?? "";
  const body = (text === "" ? {} : JSON.parse(text)) as JsonBody;
  const isMade = (table: string) => changes.some((each) => each.table === table && each.after !== null);
  switch (intent.kind) {
    case "createSite": {
      const id = Number(body.id);
      const isThere = model.directory.get(id)?.home === intent.home && model.home(intent.home).sites.has(id);
      return isThere ? undefined : "home and directory do not have this site";
    }
    case "change":
      return wrongChange(model, { ...operation, intent });
    case "add":
      if (intent.table === "apps") return wrongIssueApp(model, { ...operation, intent }, body);
      return isMade(intent.table) ? undefined : "it added no row";
    case "rotate": {
      if (!changes.some(({ after }) => after?.version === body.version)) return "it did not rotate to this version";
      return model.secrets.get(String(body.version)) === body.secret ? undefined : "another secret is stored";
    }
    case "endOverlap": {
      const now = operation.rows.at(-1);
      const isThere = now !== undefined && now.version === body.version && now.previous_version !== null;
      return isThere ? "the previous secret is still valid" : undefined;
    }
    case "revoke":
      return model.listedApp(intent.appid)?.isRevoked === false && !operation.isTouched
        ? "the app is not revoked"
        : undefined;
    case "send":
      return intent.what !== "ping" || isMade("deliveries") ? undefined : "it sends nothing";
    case "addToken":
      return isMade("admin_tokens") ? undefined : "it made no token";
    case "addPerson":
      return isMade("people") ? undefined : "it let nobody in";
    case "reseal":
      return wrongReseal(model, operation, body);
    case "restored":
      return wrongRestoredAnswer(model, { ...operation, intent }, body);
    case "eraseCustomer": {
      const erasure = model.erasures.get(String(body.erasure_id));
      if (body.remaining !== 0) return undefined;
      if (erasure === undefined) return "no such erasure was begun";
      const sessionsLeft = sessionsOf(model.home(erasure.home), erasure).find(
        ({ row }) => Number(row.id) <= erasure.until,
      );
      return sessionsLeft && `session ${sessionsLeft.row.id} is left`;
    }
    case "deleteSite":
      return wrongSiteEndAnswer(model, { ...operation, intent }, body);
    default:
      return undefined;
  }
}

/** Checks the answer of a PATCH. It may show each state since the call's arrival that has the requested values. */
function wrongChange(model: Model, { intent, rows, changes }: OperationOf<"change">): string | undefined {
  const { table, wantedColumns } = intent;
  const writtenRows = changes.flatMap((each) => (each.table === table && each.after !== null ? [each.after] : []));
  const fitting = [...rows, ...writtenRows].filter((row) =>
    Object.entries(wantedColumns).every(([column, value]) => row[column] === value),
  );
  if (fitting.length === 0) return "the row never had the requested values";
  // docs/decisions.md: a change that sets the present values also gives a new revision.
  const isOld = (row: Row) => row.revision === rows[0]?.revision;
  const stopsNothing = writtenRows.length === 0 ? rows.length === 1 : writtenRows.every(isOld);
  if (stopsNothing) return "it has no new revision, so it does not stop an earlier change";
  const entry = model.directory.get(Number(intent.siteId));
  // A site whose end came between the two writes gets no copy in the directory.
  if (table !== "home_sites" || entry === undefined || hasEnded(entry)) return undefined;
  if (fitting.every((each) => entry.revision < Number(each.revision))) return "the directory has an older copy";
  const { row } = model.home(entry.home).sites.get(Number(intent.siteId)) ?? {};
  const agree = row?.name === entry.name && row.status === entry.status && row.retention_days === entry.retentionDays;
  if (row?.revision === entry.revision && !agree) return "home and directory do not agree";
  return entry.firstChatId <= Number(wantedColumns.chat_id_floor ?? 0)
    ? "the directory lacks first_chat_id"
    : undefined;
}

function wrongIssueApp(model: Model, { intent, changes }: OperationOf<"add">, body: JsonBody): string | undefined {
  const row = changes.findLast((each) => each.table === "apps")?.after;
  if (row == null) return "it made no app";
  const appid = String(row.appid);
  if (model.routes.get(appid) !== intent.siteId) return "no route leads to it";
  // The site's end may have deleted the app since.
  const isGone = hasEnded(model.directory.get(intent.siteId ?? 0));
  if (!isGone && model.listedApp(appid) === undefined) return "its home does not have it";
  const secret = model.secrets.get(String(row.version));
  return body.secret === secret && secret === (intent.secret ?? secret) ? undefined : "another secret is stored";
}

function wrongReseal(model: Model, { call, meanwhile }: Operation, body: JsonBody): string | undefined {
  const { remaining, unopened, homes_down } = body as { remaining: number; unopened: number; homes_down: string[] };
  const { settings } = call;
  const owners = [...model.homes.values()].flatMap((home) =>
    [...[...home.apps.values()].map(({ row }) => row), ...home.outbox.webhooks.values()].map((row) => ({ home, row })),
  );
  const sealsOf = (row: Row) => [row.secret, row.previous_secret].filter((seal) => seal != null);
  const isShut = (row: Row) => sealsOf(row).some((seal) => !hasKeyOf(settings, seal));
  // A rotation or the end of an overlap may have removed the seal since it was read.
  if (unopened > 0 && !owners.some(({ row }) => isShut(row)) && meanwhile.size === 0) return "every seal can be opened";
  if (remaining > 0 || unopened > 0) return undefined;
  const closedHome = [...model.homes.keys()].find((name) => settings.closedHomes.includes(name));
  if (closedHome !== undefined && !homes_down.includes(closedHome)) return `${closedHome} is closed and not named`;
  // Other calls may have stored secrets (`meanwhile`) after this call counted the home, under another master key.
  const owner = owners.find(
    ({ home, row }) =>
      !homes_down.includes(home.name) &&
      !meanwhile.has(row.version) &&
      sealsOf(row).some((seal) => sealedWith(seal) !== keyId(settings.masterKey)),
  );
  return owner && `${owner.row.appid ?? owner.row.id} is sealed with another key`;
}
