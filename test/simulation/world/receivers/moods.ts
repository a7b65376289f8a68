import type { Chance } from "../../machine/chance.ts";

/** How a receiver treats posts. */
export type Mood = keyof typeof MOODS;

/** The moods of an unwell receiver, by their weights. */
export const MOODS = {
  /** Answers with an error that quotes the post. */
  error: 6,
  /** Answers 429 or 503 with Retry-After. */
  busy: 3,
  /** Never answers. */
  hangs: 2,
  /** Answers 200 after the Worker has stopped waiting. */
  late: 2,
  /** Answers 200 after some seconds. */
  slow: 3,
  redirects: 2,
  /** Answers 410. */
  gone: 0.7,
  /** Answers with a body that never ends. */
  endless: 1.5,
  /** Fails, and sends its body byte by byte. */
  trickles: 1,
  /** Refuses the connection, or loses it before the whole post has arrived. */
  refuses: 3,
  /** Receives the whole post, and loses the connection. */
  drops: 3,
  /** Has another of these moods for each post, or accepts it. */
  flaky: 6,
};

export const drawMood = (chance: Chance, moods: Partial<Record<Mood, number>>): Mood =>
  Object.keys(moods).length === 0 ? "error" : chance.weighted(moods);

/** A receiver's answer. */
export interface Reply {
  /** Milliseconds from the arrival of the whole post to the headers of the answer. */
  after: number;
  status: number;
  headers: Record<string, string>;
  /** The chunks of its body, with milliseconds between them. */
  body: { pieces: string[]; everyMs: number; isEndless: boolean };
}

const whole = (...pieces: string[]): Reply["body"] => ({ pieces, everyMs: 0, isEndless: false });

/**
 * @returns "silence" when no answer ever comes; "before" or "after" when the connection is lost before or after the
 *   whole post has arrived
 */
export function replyOf(
  mood: Mood | "well",
  chance: Chance,
  got: string,
  now: number,
): Reply | "silence" | "before" | "after" {
  const reply = (
    status: number,
    body = whole(),
    headers: Record<string, string> = {},
    after = quick(chance),
  ): Reply => ({
    after,
    status,
    headers,
    body,
  });
  switch (mood) {
    case "well":
      return chance.happens(0.7) ? reply(204) : reply(chance.one([200, 201, 202, 299]), whole("ok"));
    case "error":
      return reply(
        chance.one([500, 500, 502, 400, 404, 401, 408]),
        chance.one([
          whole(),
          whole("oops\n\u0000\t"),
          whole(`cannot use ${got}`),
          whole("一".repeat(chance.integer(150, 2000))),
        ]),
      );
    case "busy":
      return reply(chance.one([429, 503]), whole("later"), { "retry-after": retryAfter(chance, now) });
    case "hangs":
      return "silence";
    case "late":
      return reply(200, whole("ok"), {}, chance.between(14_990, 25_000));
    case "slow":
      return reply(200, whole("ok"), {}, chance.between(1_000, 14_000));
    case "redirects":
      return reply(chance.one([301, 302, 303, 307, 308, 304]), whole("elsewhere"), {
        location: chance.one(["https://elsewhere.example.com/", "/moved", "http://127.0.0.1/"]),
      });
    case "gone":
      return reply(410, whole("gone"));
    case "endless":
      return reply(chance.one([200, 500]), {
        pieces: ["x".repeat(300)],
        everyMs: chance.one([1, 50]),
        isEndless: true,
      });
    case "trickles":
      return reply(500, { pieces: ["n", "o"], everyMs: chance.between(500, 4_000), isEndless: true });
    case "refuses":
      return "before";
    case "drops":
      return "after";
    case "flaky":
      throw new Error("flaky is drawn before");
  }
}

const quick = (chance: Chance): number => (chance.happens(0.9) ? chance.between(1, 120) : chance.between(100, 2_000));

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** A value of Retry-After: seconds, a date in one of the three forms of RFC 9110, or an invalid value. */
function retryAfter(chance: Chance, now: number): string {
  const seconds = chance.one([0, 1, 7, 60, 900, 100_000]);
  const at = new Date(now + seconds * 1000);
  const [, day, month, year, time] = at.toUTCString().split(" ") as [string, string, string, string, string];
  const weekday = WEEKDAYS[at.getUTCDay()] ?? "";
  return chance.one([
    `${seconds}`,
    `${seconds}`,
    at.toUTCString(),
    `${weekday}, ${day}-${month}-${year.slice(2)} ${time} GMT`,
    `${weekday.slice(0, 3)} ${month} ${day.replace(/^0/, " ")} ${time} ${year}`,
    "soon",
    "-1",
    "1.5",
    "99999999999999999999",
    "Jan 2030 GMT",
    "Fri, 15 Foo 2027 08:02:00 GMT",
    "Fri, 15 Jan 2027 08:99:00 GMT",
    at.toISOString(),
  ]);
}
