import { isDeepStrictEqual } from "node:util";
import { EPOCH as EPOCH_MS } from "../../machine/program.ts";
import type { KvTruth } from "../../platform/kv.ts";
import { nextSeq } from "../events/expected-event.ts";
import type { Model } from "../model.ts";
import { NONCE_SECONDS } from "../periods.ts";
import type { OperationOf, Written } from "./intents.ts";
import { misses } from "./row-changes.ts";

/** How a restored home is settled, `POST /homes/{home}/restored`: docs/operating.md, "Restoring a home". */

/** KV keeps an app's record for so long: docs/operating.md, "Look at each of `apps`". */
const RECORD_MS = 86_400_000;
/** A place of KV may show what was there before for so long. */
const KV_LATE_MS = 60_000;

/** docs/operating.md, "Restoring a home": the directory and the home get what the other knows, and every site is lifted. */
export function wrongRestoredWrite(
  model: Model,
  { intent }: OperationOf<"restored">,
  change: Written,
): string | undefined {
  const { before, after } = change;
  if (change.table === "home_sites" && change.home === intent.home) return wrongRestoredSite(model, intent, change);
  if (intent.home !== "main" || change.home !== "main") return "not a place of what was lost";
  if (change.table === "app_routes") {
    const siteId = Number(after?.site_id);
    const home = model.directory.get(siteId)?.home ?? "";
    const isThere = model.homes.get(home)?.apps.has(`${siteId}/${after?.appid}`) === true;
    return before === null && isThere ? undefined : "no home has this app";
  }
  const site = model.homes.get(String(after?.home))?.sites.get(Number(after?.id));
  if (change.table !== "sites" || site === undefined) return "no home has this site";
  const newer = Number(site.row.revision) >= Number(before?.revision ?? 0);
  const { name, status } =
    newer || before === null ? site : { name: String(before.name), status: String(before.status) };
  const isFinished = before === null || before.home === after?.home || before.status === "creating";
  if (!isFinished) return "the id is another site's";
  if (Number(after?.first_chat_id) < Number(before?.first_chat_id ?? 0)) return "first_chat_id is lower";
  return misses(after, { name, status });
}

function wrongRestoredSite(
  model: Model,
  { home, lift }: OperationOf<"restored">["intent"],
  change: Written,
): string | undefined {
  const { before, after } = change;
  const siteId = Number(after?.site_id);
  const listed = model.directory.get(siteId);
  const highest = model.home(home).highestId(siteId);
  const event_seq_floor = nextSeq(model.home(home), siteId) - 1 + lift;
  const isLifted = isDeepStrictEqual(after, { ...before, chat_id_floor: highest + lift, event_seq_floor });
  if (before !== null && isLifted) return undefined;
  if (home === "main" || listed?.home !== home) return "no site of this home";
  if (listed.status === "creating") return "its site is not made yet";
  const newer = listed.revision >= Number(before?.revision ?? 0);
  const { name, status } = newer ? listed : { name: String(before?.name), status: String(before?.status) };
  const floor = Math.max(Number(before?.chat_id_floor ?? 0), listed.firstChatId - 1);
  const revision = Math.max(Number(before?.revision ?? 0), listed.revision);
  return misses(after, { ...before, name, status, revision, chat_id_floor: floor });
}

/** Why the answer of the settling is not what is stored; undefined when it is. */
export function wrongRestoredAnswer(
  model: Model,
  operation: OperationOf<"restored">,
  body: object,
  credentials: KvTruth | undefined,
): string | undefined {
  const { call, intent, highest } = operation;
  const answer = body as unknown as {
    sites: number;
    lifted_by: number;
    reopen_after: number;
    apps: { appid: string; site_id: number; why: string }[];
    homes_down: string[];
  };
  const home = model.home(intent.home);
  if (answer.lifted_by !== intent.lift || answer.sites !== home.sites.size) return "not what was lifted";
  if (answer.reopen_after < call.clock + NONCE_SECONDS) return "reopen_after is too early";
  for (const [siteId, { floor }] of home.sites) {
    if (floor < (highest.get(siteId) ?? 0) + intent.lift) return `site ${siteId} is not lifted`;
  }
  for (const [siteId, { home: name, status }] of model.directory) {
    const isLost = name === intent.home && status !== "creating" && intent.home !== "main" && !home.sites.has(siteId);
    if (isLost) return `the home lacks site ${siteId}`;
  }
  const unlisted = doubtful(model, call.arrivedAt ?? 0, intent.home, credentials).find(
    ({ appid, why }) => !answer.apps.some((each) => each.appid === appid && each.why === why),
  );
  if (unlisted !== undefined) return `${unlisted.appid} (${unlisted.why}) is not in the list`;
  return intent.home === "main" ? lostByDirectory(model, answer.homes_down) : undefined;
}

/** The apps that a list must name: what the directory and KV have known for a while. */
function doubtful(model: Model, arrivedAt: number, homeName: string, credentials: KvTruth | undefined) {
  const found: { appid: string; why: string }[] = [];
  for (const [appid, siteId] of model.routes) {
    if (model.directory.get(siteId)?.home !== homeName) continue;
    const app = model.home(homeName).apps.get(`${siteId}/${appid}`);
    if (app === undefined) {
      found.push({ appid, why: "missing" });
      continue;
    }
    const entry = credentials?.get(`app:${appid}`);
    const putAt = (entry?.expiresAt ?? 0) - RECORD_MS - EPOCH_MS;
    if (entry === undefined || app.revoked || putAt > arrivedAt - KV_LATE_MS || putAt + RECORD_MS < arrivedAt + 10_000)
      continue;
    const record = recordIn(entry.value);
    if (record?.revokedAt != null) found.push({ appid, why: "revoked" });
    else if (record !== undefined && record.version !== app.version) found.push({ appid, why: "rotated" });
  }
  return found;
}

/** A record of KV; undefined when it is none. */
function recordIn(value: string): { version: string; revokedAt: number | null } | undefined {
  try {
    const record = JSON.parse(value) as { version?: unknown; revokedAt?: unknown };
    return typeof record.version === "string" && record.revokedAt !== undefined ? (record as never) : undefined;
  } catch {
    return undefined;
  }
}

function lostByDirectory(model: Model, down: string[]): string | undefined {
  for (const home of model.homes.values()) {
    if (home.name === "main" || down.includes(home.name)) continue;
    for (const siteId of home.sites.keys()) {
      if (model.directory.get(siteId)?.home !== home.name) return `the directory lacks site ${siteId} of ${home.name}`;
    }
    for (const { appid, siteId } of home.apps.values()) {
      if (!model.moved.has(appid) && model.routes.get(appid) !== siteId) return `no route leads to ${appid}`;
    }
  }
  return undefined;
}
