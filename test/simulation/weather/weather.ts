import { MOODS, type Mood } from "../deliveries/acts/moods.ts";
import type { Chance } from "../machine/chance.ts";
import { drawStalls } from "./stalls.ts";

/** The homes of a run: the first one or more of these, in this order. */
const HOMES = ["main", "apac", "eu"];

/** Share of seeds that last for weeks. */
const WEEKS = 0.08;
/** Share of the shorter seeds in which homes are restored again and again. */
const RESTORES = 0.3;
/** Share of dead receivers in a run of weeks, so that some fail for longer than a webhook may. */
const DEAD_FOR_WEEKS = 0.4;

/** A share that is 0 in some seeds, by default in half of them. */
const shareOrNone = (chance: Chance, most: number, share = 0.5): number =>
  chance.happens(share) ? chance.number() * most : 0;

/** Draws the shares of sends and messages with each kind of fault of a queue. */
const drawQueue = (chance: Chance, share: number) => ({
  /** The send fails, and nothing is sent. */
  lostBefore: shareOrNone(chance, 0.3, share),
  /** The send fails although the message is stored. */
  lostAfter: shareOrNone(chance, 0.2, share),
  slow: shareOrNone(chance, 0.1, share),
  /** The message comes up to 90 s late. */
  late: shareOrNone(chance, 0.3, share),
  /** The message comes twice. */
  doubled: shareOrNone(chance, 0.3, share),
});

/**
 * The kinds and rates of faults in a run, drawn from its seed. Each seed leaves some kinds out, because one fault can
 * hide the effects of another.
 */
export type Weather = ReturnType<typeof drawWeather>;

export function drawWeather(chance: Chance) {
  const calm = chance.happens(0.15);
  const share = calm ? 0 : 0.5;
  const weather = {
    homes: HOMES.slice(0, chance.integer(1, 3)),
    edges: ["ams", "nrt", "iad"].slice(0, chance.integer(1, 3)),
    /** The most isolates at one edge. */
    isolates: chance.integer(1, 3),
    /** The largest error of an isolate's clock, in milliseconds. */
    isolateSkew: chance.happens(0.5) ? chance.integer(1, 8_000) : 0,
    /** The largest error of a caller's clock, in seconds. */
    callerSkew: chance.happens(0.6) ? chance.integer(1, 320) : 0,
    /** Shares of D1's calls with each kind of fault. */
    database: {
      /** The call never reaches the database. */
      lostBefore: shareOrNone(chance, 0.06, share),
      /** The call is executed, and its answer is lost. */
      lostAfter: shareOrNone(chance, 0.12, share),
      /** Share of lost calls and answers that fail with an error at once. All other lost calls are never answered. */
      failsAtOnce: chance.number(),
      /** The database answers with an error and does nothing. */
      refused: shareOrNone(chance, 0.03, share),
      /** The call takes up to 15 s: longer than a try, or even longer than the whole request may take. */
      slow: shareOrNone(chance, 0.05, share),
    },
    kv: {
      failed: shareOrNone(chance, 0.2, share),
      silent: shareOrNone(chance, 0.1, share),
      slow: shareOrNone(chance, 0.3, share),
      /** A put is answered with success and not stored. */
      putLost: shareOrNone(chance, 0.3, share),
    },
    /** Share of calls that are cut off at one of their awaits; the isolate lives on. */
    cutOff: shareOrNone(chance, 0.15, share),
    /** Share of requests that the network loses on the way to the Worker or back. */
    network: shareOrNone(chance, 0.05, share),
    /** Share of requests that the network delivers twice. */
    doubled: shareOrNone(chance, 0.1, share),
    /** Mean milliseconds between two deaths of an isolate; 0 for none. */
    isolateLife: chance.happens(0.7) ? chance.between(5_000, 120_000) : 0,
    /** Mean milliseconds between two outages of a home; 0 for none. */
    outages: chance.happens(share) ? chance.between(30_000, 300_000) : 0,
    /** Whether the limits are bound. They are low enough for floods to exceed them. */
    limits: chance.happens(0.7),
    kvBound: chance.happens(0.9),
    /** Share of sites whose company wants events; 0 in some seeds. */
    events: chance.happens(0.75) ? chance.one([0.5, 1]) : 0,
    /** `concurrency` is the most batches that are consumed at the same time. */
    queue: { ...drawQueue(chance, share), concurrency: chance.integer(1, 4) },
    receivers: {
      /** The moods that they may have when unwell, with their weights. */
      moods: Object.fromEntries(chance.some(Object.entries(MOODS), 0.6)) as Partial<Record<Mood, number>>,
      /** Share of mood changes that make a receiver well. */
      well: calm ? 1 : chance.between(0.2, 0.9),
      /** Mean milliseconds between two changes of a receiver's mood. */
      change: chance.one([3_000, 20_000, 90_000]),
      /** Share of receivers that never get well at the end. */
      hopeless: calm ? 0 : chance.one([0, 0, 0.3]),
      /** Share of receivers that never work in the whole run. */
      dead: 0,
    },
    /** Whether the run lasts for weeks, in which everybody works for seconds and rests for hours. */
    weeks: chance.happens(WEEKS),
    /** Whether homes are restored again and again, while most other actors do nothing. */
    restores: false,
    /** The queue of refused calls may also accept a message and never deliver it. */
    journal: { ...drawQueue(chance, share), never: shareOrNone(chance, 0.1, share) },
    journalBound: chance.happens(0.92),
    /** Mean milliseconds between two stalls of a home; 0 for none. */
    stalls: drawStalls(chance, calm),
    /** Share of D1's calls that fail because their connection was closed; some of them are executed. */
    disconnected: shareOrNone(chance, 0.06, share / 2),
  };
  // A settling makes so many calls that it would hardly ever end while one call in ten fails.
  const { database, kv, ...others } = weather;
  const goodDatabase = { lostBefore: 0, lostAfter: 0, failsAtOnce: 1, refused: 0, slow: database.slow };
  const ofRestores = { ...others, database: goodDatabase, kv: { ...kv, failed: 0, silent: 0 }, restores: true };
  if (!weather.weeks && chance.happens(RESTORES))
    return { ...ofRestores, homes: HOMES.slice(0, chance.integer(2, 3)), stalls: 0, disconnected: 0, outages: 0 };
  if (!weather.weeks) return weather;
  return { ...weather, events: 1, receivers: { ...weather.receivers, dead: DEAD_FOR_WEEKS } };
}
