import type { Call, Wire } from "../call.ts";
import { LIMITS } from "../cloud/settings.ts";
import type { KnownApp, KnownSite } from "../people/company.ts";
import { beQuiet } from "../people/day.ts";
import { Operator } from "../people/operator.ts";
import { signed } from "../signed.ts";
import { type Attacker, newSession, secretOf } from "./attacker.ts";

/** The acts of a tenant, by their weights. */
export const TENANT_ACTS = {
  borrow: 6,
  foreign: 4,
  timestamp: 4,
  pair: 4,
  keys: 3,
  later: 0.3,
  flood: 0.5,
  siteFlood: 0.8,
};

/** A tenant has a site, signs correctly, and tries to reach other sites or to get more than his share. */
export async function tenant(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  const operator = new Operator(world);
  const site = await operator.found(chance.one(world.weather.homes));
  if (site === undefined) return;
  // A home that was restored to an earlier time gives his site no app.
  while (!world.closing && site.apps.length < 2) await operator.issueApp(site);
  if (site.apps.length === 0) return;
  // Two of his clocks are wrong on purpose: he may sign with any timestamp.
  while (!world.closing) {
    await attacker.pause(200, 5_000);
    const app = chance.one(site.apps);
    const act = chance.weighted(TENANT_ACTS);
    world.count(`tenant: ${act}`);
    switch (act) {
      case "borrow":
        await attacker.send(borrowing(attacker, app), attacker.anyEdge());
        break;
      case "foreign":
        await attacker.send(foreign(attacker, app), attacker.anyEdge());
        break;
      case "timestamp":
        await attacker.send(atEdge(attacker, app), attacker.anyEdge());
        break;
      case "pair":
        await pair(attacker, app);
        break;
      case "keys":
        await sameKey(attacker, site);
        break;
      case "later":
        await muchLater(attacker, app);
        break;
      case "flood":
        await flood(attacker, [app], LIMITS.APP_LIMIT.limit + 12);
        break;
      case "siteFlood":
        await flood(attacker, site.apps, LIMITS.SITE_LIMIT.limit + 12);
        break;
    }
  }
}

const fieldsOf = (attacker: Attacker, { appid, site }: KnownApp) => ({
  appid,
  ...newSession(attacker, attacker.chance.one(site.agentIds)),
});

/** Uses the ranstr and the Idempotency-Key of another app: both belong to one app alone. */
function borrowing(attacker: Attacker, app: KnownApp): Wire {
  const other = attacker.captured();
  const key = other?.wire.headers["idempotency-key"];
  const fields = { ...fieldsOf(attacker, app), ranstr: ranstrOf(other) ?? attacker.chance.uuid() };
  return signed("create_gd", fields, secretOf(app), key === undefined ? {} : { "idempotency-key": key });
}

const ranstrOf = (call: Call | undefined): string | undefined => /"ranstr":"([^"]+)"/.exec(call?.wire.body ?? "")?.[1];

/** Uses agents and sessions of other sites. */
function foreign(attacker: Attacker, app: KnownApp): Wire {
  const { world, chance } = attacker;
  const others = world.company.sites.filter((each) => each !== app.site);
  const { timestamp, ranstr, ...rest } = newSession(attacker, chance.integer(10_411, 10_420));
  const shared = { appid: app.appid, timestamp, ranstr };
  const chatIds = others.flatMap((site) => site.chatIds.slice(-20));
  if (chance.happens(0.3) || chatIds.length === 0) return signed("create_gd", { ...shared, ...rest }, secretOf(app));
  const chat_id = chance.one(chatIds);
  const kefu_ids = chance.one(["10411,10412", [10_411, 10_413], " 10412 "]);
  return signed("add_kf", { ...shared, chat_id, kefu_ids }, secretOf(app));
}

/**
 * Uses a timestamp at an edge of the tolerance, by the right time, and sends the request twice, so that one may be a
 * replay.
 */
function atEdge(attacker: Attacker, app: KnownApp): Wire {
  const { world, chance } = attacker;
  const off = world.cloud.settings.toleranceSeconds + chance.integer(-1, 1);
  const timestamp = world.clock + (chance.happens(0.5) ? off : -off);
  return signed("create_gd", { ...fieldsOf(attacker, app), timestamp }, secretOf(app));
}

/** Sends two different requests with one ranstr, at once or soon after, to one edge or two. */
async function pair(attacker: Attacker, app: KnownApp): Promise<void> {
  const { world, chance } = attacker;
  const fields = fieldsOf(attacker, app);
  const others = [
    signed("create_gd", { ...fields, content: "Order made up came broken." }, secretOf(app)),
    signed("add_kf", { ...fields, chat_id: app.site.chatIds.at(-1) ?? 1, kefu_ids: "10411" }, secretOf(app)),
  ];
  const first = signed("create_gd", fields, secretOf(app));
  const wires = [first, chance.one([first, ...others]), ...(chance.happens(0.3) ? [first, first] : [])];
  const spread = chance.one([0, 30, 2_000]);
  const edge = chance.happens(0.5) ? attacker.anyEdge() : undefined;
  await Promise.all(
    wires.map(async (wire) => {
      await world.sleep(chance.number() * spread);
      await attacker.send(wire, edge ?? attacker.anyEdge());
    }),
  );
}

/** Uses one Idempotency-Key for both of his apps, and for two different orders. */
async function sameKey(attacker: Attacker, site: KnownSite): Promise<void> {
  const { chance } = attacker;
  const key = { "idempotency-key": `made-up-${chance.integer(1, 30)}` };
  const content = chance.one(["Order made up is late.", "Order made up came broken."]);
  await Promise.all(
    site.apps.map((app) => {
      const { sbs: _, ...fields } = fieldsOf(attacker, app);
      const wire = signed(
        "create_gd",
        { ...fields, sbs: "customer_1", content, kefu_id: [10_411], fzr_uid: 10_411 },
        secretOf(app),
        key,
      );
      return attacker.send(wire, attacker.anyEdge());
    }),
  );
}

/** Uses a timestamp that is as far ahead as is accepted, and sends the request again when it is nearly too old. */
async function muchLater(attacker: Attacker, app: KnownApp): Promise<void> {
  const { world, chance } = attacker;
  const settings = { ...world.cloud.settings, toleranceSeconds: chance.one([300, 900]) };
  if (settings.toleranceSeconds !== world.cloud.settings.toleranceSeconds) world.cloud.deploy(settings);
  await world.sleep(20_000);
  const ahead = settings.toleranceSeconds - chance.integer(0, 9);
  const timestamp = world.clock + ahead;
  const wires = Array.from({ length: 3 }, () =>
    signed("create_gd", { ...fieldsOf(attacker, app), timestamp }, secretOf(app)),
  );
  for (const wire of wires) await attacker.send(wire, attacker.anyEdge());
  const wait = (timestamp + settings.toleranceSeconds) * 1000 - world.cloud.now() - chance.between(500, 9_000);
  world.count("night before late replays");
  beQuiet(world, wait);
  await world.sleep(wait);
  for (const wire of wires) await attacker.send(wire, attacker.anyEdge());
}

/** Sends more valid requests to one edge than an app, or all apps of a site, may send. */
async function flood(attacker: Attacker, apps: readonly KnownApp[], count: number): Promise<void> {
  const { world, chance } = attacker;
  const edge = attacker.anyEdge();
  world.count(apps.length === 1 ? "flood of one app" : "flood of one site");
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      await world.sleep(chance.number() * 3_000);
      const app = apps[i % apps.length] as KnownApp;
      await attacker.send(signed("create_gd", fieldsOf(attacker, app), secretOf(app)), edge);
    }),
  );
}
