import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Bindings } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { pruneKeys, pruneNonces } from "../../src/store/prune.ts";
import { replacing } from "../support/replacing.ts";
import { NOW, World } from "../support/world.ts";

const LIVE = NOW + 1;

/** Small, so that a few rows are many bites. */
const BITE_ROWS = 50;
const BITES_PER_RUN = 60;

async function prune(db: D1Database, now: number) {
  const limits = { biteRows: BITE_ROWS, bites: BITES_PER_RUN };
  return { nonces: await pruneNonces(db, now, limits), keys: await pruneKeys(db, now, limits) };
}

// Storage is this file's own, and what one test leaves must not be pruned by the next.
beforeEach(async () => void (await env.DB.batch([sql("DELETE FROM nonces"), sql("DELETE FROM idempotency_keys")])));

const sql = (text: string, ...values: (string | number)[]) => env.DB.prepare(text).bind(...values);

async function putNonces(...list: [appid: string, ranstr: string, expiresAt: number][]): Promise<void> {
  await env.DB.batch(list.map((row) => sql("INSERT INTO nonces VALUES (?, ?, 'owner', ?, 'accepted', 1)", ...row)));
}

async function putKeys(...list: [appid: string, operation: string, key: string, expiresAt: number][]): Promise<void> {
  await env.DB.batch(list.map((row) => sql("INSERT INTO idempotency_keys VALUES (?, ?, ?, 'meaning', 1, ?)", ...row)));
}

/** Nonces of one appid with ranstr 1 … count, seven digits, of which every `liveEvery`-th is live. */
async function putManyNonces(appid: string, count: number, liveEvery: number): Promise<void> {
  await sql(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO nonces SELECT ?, printf('%07d', i), 'owner', CASE i % ? WHEN 0 THEN ? ELSE ? END, 'accepted', 1 FROM n`,
    count,
    appid,
    liveEvery,
    LIVE,
    NOW,
  ).run();
}

async function left(table: "nonces" | "idempotency_keys"): Promise<Record<string, unknown>[]> {
  return (await sql(`SELECT * FROM ${table} ORDER BY 1, 2, 3`).all()).results;
}

async function countLeft(): Promise<number | null> {
  return sql("SELECT count(*) AS rows FROM nonces").first<number>("rows");
}

describe("prune", () => {
  it("removes nonces from the second on at which they expire, and keeps the live ones", async () => {
    await putNonces(["a", "long gone", 1], ["a", "expires now", NOW], ["a", "live", LIVE], ["b", "gone", NOW - 1]);
    expect(await prune(env.DB, NOW)).toEqual({ nonces: 3, keys: 0 });
    expect(await left("nonces")).toMatchObject([{ appid: "a", ranstr: "live" }]);
  });

  it("removes idempotency keys from the second on at which they expire, and keeps the live ones", async () => {
    await putKeys(
      ["a", "add_agents", "k", NOW],
      ["a", "create_session", "k", LIVE],
      ["b", "add_agents", "k", LIVE],
      ["b", "create_session", "k", NOW - 1],
    );
    expect(await prune(env.DB, NOW)).toEqual({ nonces: 0, keys: 2 });
    expect(await left("idempotency_keys")).toMatchObject([
      { appid: "a", operation: "create_session" },
      { appid: "b", operation: "add_agents" },
    ]);
  });

  it("has nothing to do in empty tables", async () => {
    expect(await prune(env.DB, NOW)).toEqual({ nonces: 0, keys: 0 });
  });

  it.each([BITE_ROWS - 1, BITE_ROWS, BITE_ROWS + 1, 3 * BITE_ROWS])(
    "removes %d expired rows among live ones, bite by bite",
    async (expired) => {
      // Of two rows one is live, so that bites do not end where the tables do.
      await putManyNonces("a", 2 * expired, 2);
      expect(await prune(env.DB, NOW)).toEqual({ nonces: expired, keys: 0 });
      const rows = await left("nonces");
      expect(rows).toHaveLength(expired);
      expect(rows.every((row) => row.expires_at === LIVE)).toBe(true);
    },
  );

  it("goes on across apps", async () => {
    for (const appid of ["a", "b", "c"]) await putManyNonces(appid, BITE_ROWS, 5);
    expect((await prune(env.DB, NOW)).nonces).toBe(3 * BITE_ROWS * 0.8);
    expect(await countLeft()).toBe(3 * BITE_ROWS * 0.2);
  });

  it("goes on across keys of both operations", async () => {
    const key = (_: unknown, i: number): [string, string, string, number] => [
      "a",
      i % 2 === 0 ? "add_agents" : "create_session",
      `key ${i}`,
      i < 5 ? LIVE : NOW,
    ];
    await putKeys(...Array.from({ length: 2 * BITE_ROWS + 5 }, key));
    expect((await prune(env.DB, NOW)).keys).toBe(2 * BITE_ROWS);
    expect(await left("idempotency_keys")).toHaveLength(5);
  });

  it("passes bites that end in NUL, astral and other odd characters, and removes nothing live beside them", async () => {
    const odd = ["\0", "a\0", "a\0b", "a\0c", "\u{10ffff}", "😀\0😀", "\uffff", "漢字", "é", "é", "'; --", "%"];
    for (const [i, text] of odd.entries()) {
      const place = String(i).padStart(2, "0");
      await putManyNonces(`${place} before`, BITE_ROWS - 2, BITE_ROWS);
      await putNonces([`${place} odd`, text, NOW], [`${place} odd`, `${text}\0`, LIVE]);
    }
    expect((await prune(env.DB, NOW)).nonces).toBe(odd.length * (BITE_ROWS - 1));
    expect((await left("nonces")).map((row) => row.ranstr)).toEqual(odd.map((text) => `${text}\0`));
  });

  it("stops after so many bites, and the next run does the rest", async () => {
    const [most, rest] = [BITE_ROWS * BITES_PER_RUN, 2 * BITE_ROWS + 7];
    await putManyNonces("a", most + rest, most + rest + 1);
    await putKeys(["a", "add_agents", "k", NOW]);
    expect(await prune(env.DB, NOW)).toEqual({ nonces: most, keys: 1 });
    expect(await countLeft()).toBe(rest);
    expect(await prune(env.DB, NOW)).toEqual({ nonces: rest, keys: 0 });
  });

  it("reads each stored row a fixed number of times, however many bites", async () => {
    let read = 0;
    const counting = replacing(env.DB, {
      prepare: (text: string) => ({
        bind: (...values: unknown[]) => ({
          first: async () =>
            note(
              await env.DB.prepare(text)
                .bind(...values)
                .all(),
            ).results[0] ?? null,
          run: async () =>
            note(
              await env.DB.prepare(text)
                .bind(...values)
                .run(),
            ),
        }),
      }),
    });
    const note = <T extends D1Result>(result: T): T => {
      read += result.meta.rows_read;
      return result;
    };
    const bites = 10;
    await putManyNonces("a", 2 * bites * BITE_ROWS, 2);
    await prune(counting, NOW);
    // Once to find a bite's end and once to look for what is due, and a removed row is read once more to be removed.
    expect(read).toBeLessThanOrEqual(3 * 2 * bites * BITE_ROWS);
    expect(read).toBeGreaterThanOrEqual(2 * bites * BITE_ROWS);
  });
});

describe("the scheduled handler", () => {
  it("prunes what has expired at the time it was scheduled for, and says how much", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    await putNonces(["a", "gone", NOW], ["a", "live", LIVE]);
    await putKeys(["a", "add_agents", "gone", NOW], ["a", "add_agents", "live", LIVE]);
    const controller = createScheduledController({ cron: "*/5 * * * *", scheduledTime: NOW * 1000 + 999 });
    await worker.scheduled(controller, env as Bindings);
    expect(await left("nonces")).toMatchObject([{ ranstr: "live" }]);
    expect(await left("idempotency_keys")).toMatchObject([{ key: "live" }]);
    expect(log.mock.calls).toEqual([[JSON.stringify({ pruned: { nonces: 1, keys: 1 } })]]);
    log.mockRestore();
  });

  it("leaves idempotency keys to the first run of an hour, since a walk finds a day of live ones", async () => {
    vi.spyOn(console, "log").mockImplementation(() => {});
    await putKeys(["a", "add_agents", "gone", NOW]);
    const runAt = (seconds: number) =>
      worker.scheduled(createScheduledController({ scheduledTime: seconds * 1000 }), env as Bindings);
    await runAt(NOW + 300);
    expect(await left("idempotency_keys")).toHaveLength(1);
    await runAt(NOW + 3600);
    expect(await left("idempotency_keys")).toHaveLength(0);
    vi.restoreAllMocks();
  });

  it("leaves a request's nonce for 2 × tolerance + 60 s, and its session for ever", async () => {
    const world = await World.create();
    const body = world.createBody();
    expect((await world.send("create_gd", body)).status).toBe(200);
    const [nonce] = (await world.stored()).nonces;
    const expiresAt = Number(nonce?.expires_at);
    expect(expiresAt).toBe(NOW + 660);
    expect((await prune(env.DB, expiresAt - 1)).nonces).toBe(0);
    expect((await prune(env.DB, expiresAt)).nonces).toBe(1);
    expect((await world.stored()).sessions).toHaveLength(1);
  });
});
