import { MOODS, type Mood } from "../deliveries/acts/moods.ts";
import type { Chance } from "../machine/chance.ts";
import { drawStalls } from "./stalls.ts";

/** Shares of D1's calls that each kind of fault meets; 0 for a kind that this seed does without. */
interface DatabaseWeather {
  /** The call never reaches the database. */
  lostBefore: number;
  /** The call is executed, and its answer is lost. */
  lostAfter: number;
  /** Share of lost calls and answers that fail with an error at once; for the others nothing ever comes. */
  saysSo: number;
  /** The database answers with an error and does nothing. */
  refused: number;
  /** The call takes up to 15 s: longer than a try, or even longer than the whole request may take. */
  slow: number;
}

export interface KvWeather {
  failed: number;
  silent: number;
  slow: number;
  /** A put is answered with success and not stored. */
  putLost: number;
}

/** Shares of sends and of messages that each kind of fault meets. */
export interface QueueWeather {
  /** The send fails, and nothing is sent. */
  lostBefore: number;
  /** The send fails although the message is stored. */
  lostAfter: number;
  slow: number;
  /** The message comes up to 90 s late. */
  late: number;
  /** The message comes twice. */
  doubled: number;
  /** The most batches in flight at the same time. */
  concurrency: number;
}

/** The same for the queue of refused calls, which may lose messages. */
export interface JournalWeather extends Omit<QueueWeather, "concurrency"> {
  /** The queue takes the message, and it never comes. */
  never: number;
}

/** The behaviour of receivers. */
interface ReceiverWeather {
  /** The moods that they may have when unwell, with their weights. */
  moods: Partial<Record<Mood, number>>;
  /** Share of mood changes for the better. */
  well: number;
  /** Mean milliseconds between two changes of a receiver's mood. */
  change: number;
  /** Share of receivers that never get well at the end. */
  hopeless: number;
  /** Share of receivers that never work in the whole run. */
  dead: number;
}

/**
 * The kinds and rates of faults in a run, drawn from its seed. Each seed leaves some kinds out, because one fault can
 * hide the effects of another.
 */
export interface Weather {
  homes: string[];
  edges: string[];
  /** The most isolates at one edge. */
  isolates: number;
  /** The largest error of an isolate's clock, in milliseconds. */
  isolateSkew: number;
  /** The largest error of a caller's clock, in seconds. */
  callerSkew: number;
  database: DatabaseWeather;
  kv: KvWeather;
  /** Share of calls that are cut off at one of their awaits; the isolate lives on. */
  cutOff: number;
  /** Share of requests that the network loses on the way to the Worker or back. */
  network: number;
  /** Share of requests that the network delivers twice. */
  doubled: number;
  /** Mean milliseconds between two deaths of an isolate; 0 for none. */
  isolateLife: number;
  /** Mean milliseconds between two outages of a home; 0 for none. */
  outages: number;
  /** Whether the limits are bound. They are low enough for floods to exceed them. */
  limits: boolean;
  kvBound: boolean;
  /** Share of sites whose company wants events; 0 in some seeds. */
  events: number;
  queue: QueueWeather;
  journal: JournalWeather;
  journalBound: boolean;
  receivers: ReceiverWeather;
  /** Whether the run lasts for weeks, in which everybody works for seconds and rests for hours. */
  weeks: boolean;
  /** Whether homes are restored again and again, and most others have the day off. */
  restores: boolean;
  /** Share of D1's calls that fail because their connection was closed; some of them are executed. */
  disconnected: number;
  /** Mean milliseconds between two stalls of a home; 0 for none. */
  stalls: number;
}

/** A run has the first home or more of them, in this order. */
const HOMES = ["main", "apac", "eu"];

/** Share of seeds that last for weeks. */
const WEEKS = 0.08;
/** Share of the other seeds in which homes are restored again and again. */
const RESTORES = 0.3;
/** Share of dead receivers in a run of weeks, so that some fail for longer than a webhook may. */
const DEAD_FOR_WEEKS = 0.4;

/** A share that is 0 in some seeds, by default in half of them. */
const sometimes = (chance: Chance, most: number, share = 0.5): number =>
  chance.happens(share) ? chance.number() * most : 0;

export function drawWeather(chance: Chance): Weather {
  const calm = chance.happens(0.15);
  const share = calm ? 0 : 0.5;
  const weather = {
    homes: HOMES.slice(0, chance.integer(1, 3)),
    edges: ["ams", "nrt", "iad"].slice(0, chance.integer(1, 3)),
    isolates: chance.integer(1, 3),
    isolateSkew: chance.happens(0.5) ? chance.integer(1, 8_000) : 0,
    callerSkew: chance.happens(0.6) ? chance.integer(1, 320) : 0,
    database: {
      lostBefore: sometimes(chance, 0.06, share),
      lostAfter: sometimes(chance, 0.12, share),
      saysSo: chance.number(),
      refused: sometimes(chance, 0.03, share),
      slow: sometimes(chance, 0.05, share),
    },
    kv: {
      failed: sometimes(chance, 0.2, share),
      silent: sometimes(chance, 0.1, share),
      slow: sometimes(chance, 0.3, share),
      putLost: sometimes(chance, 0.3, share),
    },
    cutOff: sometimes(chance, 0.15, share),
    network: sometimes(chance, 0.05, share),
    doubled: sometimes(chance, 0.1, share),
    isolateLife: chance.happens(0.7) ? chance.between(5_000, 120_000) : 0,
    outages: chance.happens(share) ? chance.between(30_000, 300_000) : 0,
    limits: chance.happens(0.7),
    kvBound: chance.happens(0.9),
    events: chance.happens(0.75) ? chance.one([0.5, 1]) : 0,
    queue: {
      lostBefore: sometimes(chance, 0.3, share),
      lostAfter: sometimes(chance, 0.2, share),
      slow: sometimes(chance, 0.1, share),
      late: sometimes(chance, 0.3, share),
      doubled: sometimes(chance, 0.3, share),
      concurrency: chance.integer(1, 4),
    },
    receivers: {
      moods: Object.fromEntries(chance.some(Object.entries(MOODS), 0.6)),
      well: calm ? 1 : chance.between(0.2, 0.9),
      change: chance.one([3_000, 20_000, 90_000]),
      hopeless: calm ? 0 : chance.one([0, 0, 0.3]),
      dead: 0,
    },
    weeks: chance.happens(WEEKS),
    restores: false,
    journal: {
      lostBefore: sometimes(chance, 0.3, share),
      lostAfter: sometimes(chance, 0.2, share),
      slow: sometimes(chance, 0.1, share),
      late: sometimes(chance, 0.3, share),
      doubled: sometimes(chance, 0.3, share),
      never: sometimes(chance, 0.1, share),
    },
    journalBound: chance.happens(0.92),
    stalls: drawStalls(chance, calm),
    disconnected: sometimes(chance, 0.06, share / 2),
  };
  // A settling makes so many calls that it would hardly ever come to its end while one in ten fails.
  const { database, kv, ...others } = weather;
  const goodDatabase = { lostBefore: 0, lostAfter: 0, saysSo: 1, refused: 0, slow: database.slow };
  const ofRestores = { ...others, database: goodDatabase, kv: { ...kv, failed: 0, silent: 0 }, restores: true };
  if (!weather.weeks && chance.happens(RESTORES))
    return { ...ofRestores, homes: HOMES.slice(0, chance.integer(2, 3)), stalls: 0, disconnected: 0, outages: 0 };
  if (!weather.weeks) return weather;
  return { ...weather, events: 1, receivers: { ...weather.receivers, dead: DEAD_FOR_WEEKS } };
}
