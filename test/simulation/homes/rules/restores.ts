import { isDeepStrictEqual } from "node:util";
import { hasEnded, type Model } from "../../checker/model.ts";
import { isReconciling, misses, wrongRow } from "../../checker/row-changes.ts";
import { nextSeq } from "../../deliveries/rules/expected-event.ts";
import { backAgain } from "../../erasure/rules/erased-texts.ts";
import { NONCE_SECONDS } from "../../erasure/rules/periods.ts";
import { isOfEnd, wrongEndAgain } from "../../erasure/rules/site-ends.ts";
import type { OperationOf, WrittenInHome } from "../../operators/rules/intents.ts";

/**
 * How a restored home is reconciled (on the wire: settled), `POST /homes/{home}/restored`: docs/operating/data-and-restore.md,
 * "Restoring a home".
 */

type RestoreOperation = OperationOf<"restored">;

/** The service's answer. */
export interface RestoredAnswer {
  settling_id: string;
  sites: number;
  lifted_by: number;
  /** Unix seconds. */
  reopen_after: number;
  homes_down: string[];
  erasures_left: number;
}

/** The largest error of an isolate's clock. */
const SKEW_SECONDS = 20;

/** Checks a write of a reconciliation. Directory and home get each other's missing rows, and each site skips ids. */
export function wrongRestoredWrite(
  model: Model,
  operation: RestoreOperation,
  change: WrittenInHome,
): string | undefined {
  const { intent } = operation;
  const { before, after } = change;
  if (isOfEnd(change)) return wrongEndAgain(model, operation, change);
  if (change.table === "settlings") return wrongReconciliationRow(intent, change);
  if (change.table === "home_sites" && change.home === intent.home) return wrongRestoredSite(model, operation, change);
  if (intent.home !== "main" && change.table === "sites") return wrongKeptFloors(change, intent.home);
  if (intent.home !== "main" || change.home !== "main") return "this database has lost nothing";
  if (change.table === "app_routes") {
    const siteId = Number(after?.site_id);
    const home = model.directory.get(siteId)?.home ?? "";
    const isThere = model.homes.get(home)?.apps.has(`${siteId}/${after?.appid}`) === true;
    return before === null && isThere ? undefined : "no home has this app";
  }
  const site = model.homes.get(String(after?.home))?.sites.get(Number(after?.id));
  if (change.table !== "sites" || site === undefined) return "no home has this site";
  const isNewer = before === null || Number(site.row.revision) >= Number(before.revision);
  const { name = "", status = "", retention_days = null } = isNewer ? site.row : before;
  const isFinished = before === null || before.home === after?.home || before.status === "creating";
  if (!isFinished) return "the id is another site's";
  if (Number(after?.first_chat_id) < Number(before?.first_chat_id ?? 0)) return "first_chat_id is lower";
  return misses(after, { name, status, retention_days });
}

/** Whether a call has already skipped ids: the batch that inserts the reconciliation does that. */
const hasSkipped = ({ intent, changes }: RestoreOperation): boolean =>
  changes.some((change) => change.home === intent.home && isReconciling(change, intent.home));

function wrongReconciliationRow(
  { home, reconciliationId }: RestoreOperation["intent"],
  change: WrittenInHome,
): string | undefined {
  const { before, after } = change;
  if (reconciliationId !== undefined && after?.id !== reconciliationId) return "it belongs to another reconciliation";
  if (before !== null) return misses(after, { ...before, site_id_floor: after?.site_id_floor ?? 0 });
  const isCopy = home === "main" && change.home === "main" && String(after?.home).startsWith("main:");
  const isItself = after?.home === home && (change.home === home || change.home === "main");
  return isCopy || isItself ? undefined : "this database has no row of this reconciliation";
}

/** Checks the floors that the directory stores for another home than `main`. They only rise: see floors.ts. */
function wrongKeptFloors({ before, after }: WrittenInHome, home: string): string | undefined {
  if (before?.home !== home) return "the site is not of this home";
  const { first_chat_id = 0, event_seq_floor = 0 } = after ?? {};
  return misses(after, { ...before, first_chat_id, event_seq_floor });
}

function wrongRestoredSite(model: Model, operation: RestoreOperation, change: WrittenInHome): string | undefined {
  const { home, lift } = operation.intent;
  const { before, after } = change;
  const siteId = Number(after?.site_id);
  const isEnd =
    before !== null && model.ends.has(`${home}/${siteId}`) && wrongRow(change, { status: "closed" }) === undefined;
  if (isEnd) return undefined;
  const entry = model.directory.get(siteId);
  const isMine = home !== "main" && entry?.home === home && entry.status !== "creating" && !hasEnded(entry);
  if (before === null && !isMine) return "the site is not of this home";
  const { chat_id_floor = 0, event_seq_floor = 0 } = after ?? {};
  if (hasSkipped(operation)) {
    if (Number(chat_id_floor) < model.home(home).highestId(siteId) + lift) return "it skips too few chat ids";
    if (Number(event_seq_floor) < nextSeq(model.home(home), siteId) - 1 + lift) return "it skips too few seqs";
  } else {
    const knownFloors = model.floors.get(`${home}/${siteId}`) ?? { chatId: 0, eventSeq: 0 };
    const first = isMine ? entry.firstChatId - 1 : 0;
    if (Number(chat_id_floor) > Math.max(knownFloors.chatId, first))
      return "it skips ids without a reconciliation, or a second time";
    if (Number(event_seq_floor) > knownFloors.eventSeq)
      return "it skips seqs without a reconciliation, or a second time";
  }
  const floors = { chat_id_floor, event_seq_floor };
  const hasFloorsOnly = before !== null && isDeepStrictEqual(after, { ...before, ...floors });
  if (hasFloorsOnly) return undefined;
  if (before !== null && model.changedSinceRestore.has(`${home}/${siteId}`)) {
    return "it undoes what an operator has changed since the restore";
  }
  if (!isMine || entry.revision < Number(before?.revision ?? 0)) return misses(after, { ...before, ...floors });
  const { name, status, retentionDays: retention_days, revision } = entry;
  return misses(after, { ...before, name, status, retention_days, revision, ...floors });
}

/** Why the answer of a reconciliation is not what is stored; undefined when it is. */
export function wrongRestoredAnswer(model: Model, operation: RestoreOperation, body: object): string | undefined {
  const { intent, highest } = operation;
  const answer = body as RestoredAnswer;
  const home = model.home(intent.home);
  // Without KV, an operator sends the receipts, perhaps in parts.
  const isSettled =
    answer.erasures_left === 0 && !model.mayKvLose && "CREDENTIALS" in (operation.call.isolate?.env ?? {});
  const back = isSettled ? backAgain(model, intent.home) : undefined;
  if (back !== undefined) return back;
  const isSkipping = hasSkipped(operation);
  if (answer.settling_id !== (intent.reconciliationId ?? answer.settling_id)) return "settling_id is wrong";
  if (home.sites.size > 0 && answer.lifted_by !== (isSkipping ? intent.lift : 0)) return "lifted_by is wrong";
  if (answer.sites !== home.sites.size) return "the number of sites is wrong";
  const restoredAt = model.restoredAt.get(intent.home) ?? 0;
  if (answer.reopen_after < restoredAt - SKEW_SECONDS + NONCE_SECONDS) return "reopen_after is too early";
  for (const [siteId, { floor }] of home.sites) {
    const least = (highest.get(siteId) ?? 0) + (isSkipping ? intent.lift : 0);
    if (floor < least) return `site ${siteId} skips too few ids`;
  }
  for (const [siteId, { home: name, status }] of model.directory) {
    const isLost =
      name === intent.home && ["open", "closed"].includes(status) && intent.home !== "main" && !home.sites.has(siteId);
    if (isLost) return `the home lacks site ${siteId}`;
  }
  return intent.home === "main" ? lostByDirectory(model, answer.homes_down) : undefined;
}

function lostByDirectory(model: Model, down: string[]): string | undefined {
  for (const home of model.homes.values()) {
    if (home.name === "main" || down.includes(home.name)) continue;
    for (const siteId of home.sites.keys()) {
      if (home.deletions.has(siteId)) continue;
      if (model.directory.get(siteId)?.home !== home.name) return `the directory lacks site ${siteId} of ${home.name}`;
    }
    for (const { appid, siteId } of home.apps.values()) {
      // A route of the directory to another site stays. Then the list of divergent apps names this app as "unrouted".
      if (!model.routes.has(appid)) return `no route leads to ${appid} of site ${siteId}`;
    }
  }
  return undefined;
}
