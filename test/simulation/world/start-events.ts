import { meetAtOneApp } from "../callers/acts/at-one-app.ts";
import { callAtChanges } from "../callers/acts/changed-apps.ts";
import { changeSessions } from "../callers/acts/changed-sessions.ts";
import { applyFirstTriesLate, changeBeforeSecondTries } from "../callers/acts/lost-commits.ts";
import { sendWhenOpen, useOldKeys, useOldRanstrs } from "../callers/acts/used-again.ts";
import { crossTheWorker } from "../deliveries/acts/crossings.ts";
import { meetAttempts } from "../deliveries/acts/in-flight.ts";
import { changeReceivers } from "../deliveries/acts/receivers-day.ts";
import { rushOfCalls } from "../deliveries/acts/rush.ts";
import { silenceSites } from "../deliveries/acts/silences.ts";
import { keepWebhooks } from "../deliveries/acts/webhook-day.ts";
import { keepCustomers } from "../erasure/acts/customer-keeper.ts";
import { deleteWebhookByHand, eraseByHand } from "../erasure/acts/erase-by-hand.ts";
import { letWeeksPass } from "../erasure/acts/pass-weeks.ts";
import { keepSites } from "../erasure/acts/site-keeper.ts";
import { closeInCalls } from "../homes/acts/closed-in-calls.ts";
import { keepDeploying } from "../homes/acts/deployments.ts";
import { raiseAndErase } from "../homes/acts/floors.ts";
import { makeOrphan } from "../homes/acts/orphans.ts";
import { crossAtOneThing } from "../operators/acts/crossings.ts";
import { killIsolates, takeHomesDown } from "../weather/outages.ts";
import { stallHomes } from "../weather/stalls.ts";
import { startCrons } from "./cron.ts";
import type { World } from "./world.ts";

/**
 * Starts all actors that are neither callers nor attackers. Each seed leaves some of them out, because one event can
 * hide the effects of another.
 */
export function startEvents(world: World): void {
  const chance = world.chance.fork();
  world.start(() => killIsolates(world));
  world.start(() => takeHomesDown(world));
  startCrons(world);
  if (world.weather.events > 0) world.start(() => changeReceivers(world));
  world.start(() => keepDeploying(world));
  if (world.weather.restores) return;
  if (chance.happens(0.5)) world.start(() => eraseByHand(world));
  if (chance.happens(0.9)) world.start(() => changeSessions(world));
  if (chance.happens(0.3)) world.start(() => makeOrphan(world));
  for (let i = chance.one([0, 2, 3, 3]); i > 0; i--) world.start(() => crossAtOneThing(world));
  if (chance.happens(0.35)) world.start(() => closeInCalls(world));
  if (chance.happens(0.35)) world.start(() => raiseAndErase(world));
  if (world.weather.events > 0 && chance.happens(0.5)) world.start(() => keepWebhooks(world));
  if (world.weather.events > 0 && chance.happens(0.7)) meetAttempts(world);
  if (world.weather.events > 0 && chance.happens(0.5)) world.start(() => crossTheWorker(world));
  if (world.weather.events > 0 && chance.happens(0.5)) world.start(() => silenceSites(world));
  if (world.weather.events > 0 && chance.happens(0.6)) world.start(() => rushOfCalls(world));
  if (chance.happens(0.8)) world.start(() => keepCustomers(world));
  if (chance.happens(0.8)) world.start(() => keepSites(world));
  if (world.weather.events > 0 && chance.happens(0.2)) world.start(() => deleteWebhookByHand(world));
  if (chance.happens(0.6)) callAtChanges(world);
  if (chance.happens(0.6)) changeBeforeSecondTries(world);
  if (chance.happens(0.4)) applyFirstTriesLate(world);
  if (chance.happens(0.6)) world.start(() => meetAtOneApp(world));
  if (chance.happens(0.45)) world.start(() => useOldKeys(world));
  if (chance.happens(0.45)) world.start(() => useOldRanstrs(world));
  if (chance.happens(0.5)) sendWhenOpen(world);
  if (world.weather.weeks) world.start(() => letWeeksPass(world));
  world.start(() => stallHomes(world));
}

/** Lets the checker read homes and KV, and gives it each record of an app that KV receives. */
export function watchRecords(world: World): void {
  const { checker, cloud, weather } = world;
  const { credentials, nonces, events, journal } = cloud;
  const { kv, kvBound } = weather;
  const { records } = checker.operators;
  const keepsAll = kvBound && kv.putLost === 0;
  records.isKept = keepsAll && kv.failed === 0 && kv.silent === 0;
  if (keepsAll) {
    checker.model.receipts = receiptsOf(world);
    checker.model.isEndInKv = (home, siteId, id) => credentials.has(`site-deletions:${home}:${siteId}:${id}`);
  }
  checker.model.mayKvLose = kvBound && kv.putLost > 0;
  checker.model.isKvBound = kvBound;
  checker.model.knownUntil = knownUntilOf(world);
  nonces.onPut = (...keyAndValue) => checker.secrecy.checkKept("KV", keyAndValue.join("\n"));
  credentials.onPut = (value, key, metadata) => {
    checker.secrecy.checkKept("KV", [key, value, metadata].join("\n"));
    if (key.startsWith("app:")) records.put(value);
  };
  for (const queue of [events, journal]) {
    queue.onTake = (body) => checker.secrecy.checkKept("a message of a queue", JSON.stringify(body));
  }
}

/** Which chat ids of a site the receipts of erasures name, in KV and in the directory. */
function receiptsOf({ cloud: { credentials, homes } }: World) {
  return (home: string, siteId: number) => {
    const chatIds = { kv: new Set<number>(), directory: new Set<number>() };
    for (const [key, { value }] of credentials) {
      if (!key.startsWith(`erasures:${home}:${siteId}:`)) continue;
      for (const id of JSON.parse(value) as number[]) chatIds.kv.add(id);
    }
    for (const row of homes.get("main")?.database.rows("erasure_receipts") ?? []) {
      if (row.home !== home || row.site_id !== siteId) continue;
      for (const id of JSON.parse(String(row.chat_ids)) as number[]) chatIds.directory.add(id);
    }
    return chatIds;
  };
}

/** See `knownUntil` of the model. */
function knownUntilOf({ cloud: { credentials, homes }, company }: World) {
  return (home: string, siteId: number, id: string) => {
    const rows = (at: string, table: string) => homes.get(at)?.database.rows(table) ?? [];
    const keys = [...credentials].filter(([key]) => key.startsWith(`erasures:${home}:${siteId}:${id}`));
    const keptReceipts = [...company.receipts].map((json) => JSON.parse(json) as Record<string, unknown>);
    const all: unknown[] = [
      ...rows(home, "erasures").flatMap((row) => (row.id === id ? [row.until] : [])),
      ...rows("main", "erasure_receipts").flatMap((row) => (row.erasure_id === id ? [row.until] : [])),
      ...keptReceipts.flatMap((receipt) => (receipt.erasure_id === id ? [receipt.highest_chat_id] : [])),
      ...keys.map(([, { metadata }]) => (JSON.parse(metadata ?? "{}") as { until?: number }).until ?? 0),
    ];
    return Math.max(0, ...all.map(Number));
  };
}
