import { describe, expect, it } from "vitest";
import { DatabaseStalled } from "../../../src/core/store/run-batch.ts";
import { Stalls } from "../../../src/core/store/stalls.ts";

/** How a database treats a call. */
type Way = "answers" | "hangs" | "fails";

const ERRORS = { d1: "D1_ERROR: D1 DB is overloaded.", connection: "Network connection lost." };

/** Two homes whose calls the test answers, and the calls that reached them. */
function twoHomes() {
  let [now, way] = [0, "hangs" as Way];
  let message = ERRORS.d1;
  const callTimes: number[] = [];
  const waiting: ((answer: unknown) => void)[] = [];
  const call = () => {
    callTimes.push(now);
    if (way === "answers") return Promise.resolve([]);
    if (way === "fails") return Promise.reject(new Error(message));
    return new Promise((resolve) => waiting.push(resolve));
  };
  const statement = { bind: () => statement, all: call, run: call, first: call, raw: call };
  const db = () => ({ prepare: () => statement, batch: call }) as unknown as D1Database;
  const main = db();
  const config = {
    directory: main,
    homes: new Map([
      ["main", main],
      ["apac", db()],
    ]),
  };
  const stalls = new Stalls({ elapsed: () => now });
  const databases = stalls.guardDatabases(config);
  return {
    callTimes,
    databases,
    stalls,
    config,
    answersNow: () => {
      for (const resolve of waiting.splice(0)) resolve([]);
    },
    does(next: Way, words = ERRORS.d1) {
      way = next;
      message = words;
    },
    /** Begins a call at a moment, and says whether the call reached the database. */
    async at(ms: number, home: "main" | "apac" | "directory" = "main") {
      now = ms;
      const before = callTimes.length;
      const database = home === "directory" ? databases.directory : databases.homes.get(home);
      const outcome = await Promise.race([
        database?.batch([]).then(
          () => undefined,
          (error: unknown) => error,
        ),
        Promise.resolve().then(() => Promise.resolve()),
      ]);
      if (outcome instanceof DatabaseStalled) return "refused";
      expect(callTimes.length).toBe(before + 1);
      return "sent";
    },
  };
}

/** Two requests that have had no answer for 6 s: each has tried twice. */
async function stalled() {
  const homes = twoHomes();
  for (const ms of [0, 0, 3_000, 3_000]) expect(await homes.at(ms)).toBe("sent");
  return homes;
}

describe("a database that gives two requests no answer for 6 s", () => {
  it("a database that gives two requests no answer for 6 s gets one try at a time from then on", async () => {
    const { at, callTimes } = await stalled();
    const sent = [];
    for (let ms = 5_900; ms <= 15_100; ms += 100) if ((await at(ms)) === "sent") sent.push(ms);
    expect(sent).toEqual([5_900, 6_000, 9_000, 12_000, 15_000]);
    expect(callTimes).toHaveLength(4 + 5);
  });

  it.each(["all", "run", "first", "raw"] as const)(
    "a stalled database refuses a single statement too: %s",
    async (method) => {
      const { at, databases, callTimes } = await stalled();
      expect(await at(6_000)).toBe("sent");
      const statement = databases.directory.prepare("SELECT 1").bind() as unknown as Record<
        string,
        () => Promise<unknown>
      >;
      await expect(statement[method]?.()).rejects.toThrow(DatabaseStalled);
      expect(callTimes).toHaveLength(5);
    },
  );

  it("a stalled main counts as the stalled directory too, and other homes are asked as usual", async () => {
    const { at } = await stalled();
    expect(await at(6_000)).toBe("sent");
    expect(await at(6_001, "directory")).toBe("refused");
    expect(await at(6_001, "apac")).toBe("sent");
  });

  it.each([
    ["an answer", "answers", ERRORS.d1],
    ["an error of D1", "fails", ERRORS.d1],
  ] as const)("a stalled database is open to all after %s", async (_, way, words) => {
    const { at, does } = await stalled();
    does(way, words);
    expect(await at(6_000)).toBe("sent");
    does("hangs");
    for (const ms of [6_001, 6_002, 6_003]) expect(await at(ms)).toBe("sent");
  });

  it("a stalled database is open to all after a late answer to a try that nobody waits for", async () => {
    const { at, answersNow } = await stalled();
    expect(await at(6_000)).toBe("sent");
    expect(await at(6_001)).toBe("refused");
    answersNow();
    await Promise.resolve();
    for (const ms of [6_002, 6_003]) expect(await at(ms)).toBe("sent");
  });

  it.each([ERRORS.connection, `D1_ERROR: ${ERRORS.connection}`])(
    "a stalled database still counts as stalled after %s",
    async (words) => {
      const { at, does } = await stalled();
      does("fails", words);
      expect(await at(6_000)).toBe("sent");
      expect(await at(6_001)).toBe("refused");
      expect(await at(9_000)).toBe("sent");
    },
  );

  it("a stalled database is asked by all again when nobody has asked it for more than 6 s", async () => {
    const { at } = await stalled();
    expect(await at(6_000)).toBe("sent");
    for (const ms of [12_001, 12_002, 15_000]) expect(await at(ms)).toBe("sent");
  });
});

describe("a database is open to all", () => {
  it("a database is open to all while one request alone has had no answer", async () => {
    const { at } = twoHomes();
    for (const ms of [0, 3_000, 6_000]) expect(await at(ms)).toBe("sent");
  });

  it("a database is open to all until a second request, too late to be a retry of the first, has waited for 3 s", async () => {
    const { at } = twoHomes();
    for (const ms of [0, 3_000, 5_500, 6_000, 8_900, 8_950]) expect(await at(ms)).toBe("sent");
    expect([await at(9_000), await at(9_001)]).toEqual(["sent", "refused"]);
  });

  it("a database is open to all until the second of two successive requests has waited for 3 s", async () => {
    const { at } = twoHomes();
    for (const ms of [0, 3_000, 6_000, 9_500, 12_400]) expect(await at(ms)).toBe("sent");
    expect([await at(12_500), await at(12_501)]).toEqual(["sent", "refused"]);
  });

  it("a database is open to all when it answered one of the requests in between", async () => {
    const { at, does } = twoHomes();
    for (const ms of [0, 500, 3_000]) expect(await at(ms)).toBe("sent");
    does("answers");
    expect(await at(3_500)).toBe("sent");
    does("hangs");
    for (const ms of [6_000, 6_500, 9_000, 9_500]) expect(await at(ms)).toBe("sent");
  });
});

it("the databases of a setting are guarded once", () => {
  const { stalls, config, databases } = twoHomes();
  expect(stalls.guardDatabases(config)).toBe(databases);
});
