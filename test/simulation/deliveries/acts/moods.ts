import type { Chance } from "../../machine/chance.ts";

export type Mood = keyof typeof MOODS;

/** The moods of an unwell receiver, with their weights. */
export const MOODS = {
  /** Answers with an error that quotes the post. */
  error: 6,
  /** Never answers. */
  hangs: 2,
  /** Answers 200 after some seconds, sometimes after the Worker has stopped waiting. */
  slow: 5,
  /** Answers 410. */
  gone: 0.7,
  /** Refuses the connection, or loses it before the whole post has arrived. */
  refuses: 3,
  /** Receives the whole post, and loses the connection. */
  drops: 3,
};

export const drawMood = (chance: Chance, moods: Partial<Record<Mood, number>>): Mood =>
  Object.keys(moods).length === 0 ? "error" : chance.weighted(moods);

export interface Reply {
  /** Milliseconds from the arrival of the whole post to the answer. */
  after: number;
  status: number;
  body: string;
  /** A promise that the receiver waits for first. */
  until?: Promise<void>;
}

/** "silence": no answer ever comes; "before" or "after": the connection is lost before or after the post has arrived. */
export type Outcome = Reply | "silence" | "before" | "after";

const quick = (chance: Chance): number => (chance.happens(0.9) ? chance.between(1, 120) : chance.between(100, 2_000));

/** The outcome of a post in each mood. An error quotes `body`, which was posted. */
export const OUTCOMES: Record<Mood | "well", (chance: Chance, body: string) => Outcome> = {
  well: (chance) => ({ status: chance.one([204, 204, 200, 202]), body: "", after: quick(chance) }),
  error: (chance, body) => ({
    status: chance.one([500, 500, 502, 400, 404, 301]),
    body: chance.one(["", `cannot use ${body}`]),
    after: quick(chance),
  }),
  hangs: () => "silence",
  slow: (chance) => ({ status: 200, body: "ok", after: chance.between(1_000, 20_000) }),
  gone: (chance) => ({ status: 410, body: "gone", after: quick(chance) }),
  refuses: () => "before",
  drops: () => "after",
};
