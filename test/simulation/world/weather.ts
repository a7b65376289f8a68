import type { Chance } from "../machine/chance.ts";
import { MOODS, type Mood } from "./receivers/moods.ts";

/** Shares of calls that a fault meets, 0 for a kind that this seed does without. */
export interface DatabaseWeather {
  /** The call never reaches the database. */
  lostBefore: number;
  /** It is done, and the answer is lost. */
  lostAfter: number;
  /** A lost call or answer says so at once; else nothing ever comes. */
  saysSo: number;
  /** The database answers with an error without doing anything. */
  refused: number;
  /** It takes up to 15 s: longer than a try, or than the whole call may take. */
  slow: number;
}

export interface KvWeather {
  failed: number;
  silent: number;
  slow: number;
  /** A put is answered and not kept. */
  putLost: number;
}

/** Shares of sends and messages that a fault meets. */
export interface QueueWeather {
  /** The send fails, and nothing is sent. */
  lostBefore: number;
  /** The send fails although the message is kept. */
  lostAfter: number;
  slow: number;
  /** The message comes up to 90 s late. */
  late: number;
  /** The message comes twice. */
  doubled: number;
  /** How many batches may be under way at the same time. */
  concurrency: number;
}

/** What receivers of events are like. */
interface ReceiverWeather {
  /** What they may do when they are unwell. */
  moods: Partial<Record<Mood, number>>;
  /** Share of changes for the better. */
  well: number;
  /** Mean milliseconds between two changes of one of them. */
  change: number;
  /** Share of them that never get well at the end. */
  hopeless: number;
  /** Share of them that are never well at all. */
  dead: number;
}

/**
 * What can go wrong in a run, drawn from its seed. Each seed leaves some kinds of faults out, because one fault can hide what another
 * would show.
 */
export interface Weather {
  homes: string[];
  edges: string[];
  /** How many isolates serve at one edge, at most. */
  isolates: number;
  /** Milliseconds that the clock of an isolate may be off, either way. */
  isolateSkew: number;
  /** Seconds that the clock of a caller may be off, either way. */
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
  /** Limits are bound and low enough that floods meet them. */
  limits: boolean;
  kvBound: boolean;
  /** Share of sites whose company wants to hear of events; 0 in some seeds. */
  events: number;
  queue: QueueWeather;
  receivers: ReceiverWeather;
  /** The run lasts for weeks: all work for seconds, and rest for hours. */
  weeks: boolean;
}

/** Each run has the first of them, or more. */
const HOMES = ["main", "apac", "eu"];

/** Share of seeds that last for weeks. */
const WEEKS = 0.08;
/** Share of servers that are dead in such a seed, so that some fail for longer than a webhook may. */
const DEAD_FOR_WEEKS = 0.4;

/** A share that is 0 in half of the seeds. */
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
  };
  if (!weather.weeks) return weather;
  return { ...weather, events: 1, receivers: { ...weather.receivers, dead: DEAD_FOR_WEEKS } };
}

/** Whether a fault may use up the tries of the client. KV and the limits never do. */
export const hasFaults = ({ network, cutOff, isolateLife, outages, database }: Weather): boolean => {
  const { saysSo, ...shares } = database;
  return [network, cutOff, isolateLife, outages, ...Object.values(shares)].some((share) => share > 0);
};
