import { stallHomes } from "../../weather/stalls.ts";
import { Auditor } from "../people/auditor.ts";
import { keepCustomers } from "../people/customer-keeper.ts";
import { monitor } from "../people/monitor.ts";
import { keepSites } from "../people/site-keeper.ts";
import { holdTokens } from "../people/token-holder.ts";
import { keepTokens } from "../people/token-keeper.ts";
import { workAtOneThing } from "../people/two-operators.ts";
import { keepWebhooks } from "../people/webhook-day.ts";
import { changeReceivers } from "../receivers/receivers-day.ts";
import type { World } from "../world.ts";
import { changeSessions } from "./changed-sessions.ts";
import { startCrons } from "./cron.ts";
import { Deployer } from "./deployments.ts";
import { deleteWebhookByHand, eraseByHand, moveApp, spoilUrls } from "./hands.ts";
import { holdUpCopies } from "./late-copies.ts";
import { makeOrphan } from "./orphans.ts";
import { killIsolates, takeHomesDown } from "./outages.ts";
import { letWeeksPass } from "./weeks.ts";

/**
 * Starts everything that is neither a caller's call nor an attack, until the world closes. Each seed leaves some of it
 * out, because one event can hide the effects of another.
 */
export function startEvents(world: World): void {
  const chance = world.chance.fork();
  watchRecords(world);
  world.start(() => killIsolates(world));
  world.start(() => takeHomesDown(world));
  startCrons(world);
  if (world.weather.events > 0) world.start(() => changeReceivers(world));
  world.start(() => new Deployer(world).work());
  if (chance.happens(0.5)) world.start(() => eraseByHand(world));
  if (chance.happens(0.35)) world.start(() => moveApp(world));
  if (chance.happens(0.6)) world.start(() => changeSessions(world));
  if (chance.happens(0.3)) world.start(() => makeOrphan(world));
  if (world.weather.outages > 0 && chance.happens(0.6)) world.start(() => holdUpCopies(world));
  if (chance.happens(0.7)) world.start(() => new Auditor(world).work());
  if (chance.happens(0.5)) world.start(() => monitor(world));
  const isSlow = world.weather.database.slow > 0;
  if (chance.happens(isSlow ? 0.9 : 0.6)) world.start(() => workAtOneThing(world));
  if (world.weather.events > 0 && chance.happens(0.5)) world.start(() => keepWebhooks(world));
  if (chance.happens(0.8)) world.start(() => keepTokens(world));
  if (chance.happens(0.7)) world.start(() => holdTokens(world));
  if (chance.happens(0.8)) world.start(() => keepCustomers(world));
  if (chance.happens(0.8)) world.start(() => keepSites(world));
  if (world.weather.events > 0 && chance.happens(0.2)) world.start(() => deleteWebhookByHand(world));
  if (world.weather.events > 0 && chance.happens(0.2)) world.start(() => spoilUrls(world));
  if (world.weather.weeks) world.start(() => letWeeksPass(world));
  world.start(() => stallHomes(world));
}

/** Gives the checker the states of homes and KV, and each record of an app that KV receives. */
function watchRecords(world: World): void {
  const { checker, cloud, weather, scheduler } = world;
  const { credentials, homes } = cloud;
  const { kv, kvBound } = weather;
  checker.health.homes = homes;
  checker.health.isKvSound = kvBound && kv.failed === 0 && kv.silent === 0 && kv.slow === 0;
  const { records } = checker.operators;
  records.kv = credentials;
  records.isKept = kvBound && kv.failed === 0 && kv.silent === 0 && kv.putLost === 0;
  checker.model.hashKeys = hashKeysOf(world);
  checker.model.receipts = kvBound && kv.putLost === 0 ? receiptsOf(world) : undefined;
  checker.model.isEndInKv =
    kvBound && kv.putLost === 0
      ? (home, siteId, id) => credentials.has(`site-deletions:${home}:${siteId}:${id}`)
      : undefined;
  checker.model.mayKvLose = kvBound && kv.putLost > 0;
  credentials.onPut = (value, key) => key.startsWith("app:") && records.put(value, scheduler.now);
}

/** The keys of the customers' hashes. A directory that a restore has left without any gets those of KV back at the next use. */
function hashKeysOf({ cloud: { credentials, homes }, weather: { kvBound } }: World) {
  const prefix = "customer-hash-key:";
  return () => {
    const stored = homes.get("main")?.database.rows("customer_hash_keys") ?? [];
    if (stored.length > 0 || !kvBound) return stored;
    return [...credentials].flatMap(([key, { value }]) =>
      key.startsWith(prefix) ? [{ id: key.slice(prefix.length), sealed: value }] : [],
    );
  };
}

/** Which chat ids of a site the receipts of erasures name, in KV and in the directory. */
function receiptsOf({ cloud: { credentials, homes } }: World) {
  return (home: string, siteId: number) => {
    const named = { kv: new Set<number>(), directory: new Set<number>() };
    for (const [key, { value }] of credentials) {
      if (!key.startsWith(`erasures:${home}:${siteId}:`)) continue;
      for (const id of JSON.parse(value) as number[]) named.kv.add(id);
    }
    for (const row of homes.get("main")?.database.rows("erasure_receipts") ?? []) {
      if (row.home !== home || row.site_id !== siteId) continue;
      for (const id of JSON.parse(String(row.chat_ids)) as number[]) named.directory.add(id);
    }
    return named;
  };
}
