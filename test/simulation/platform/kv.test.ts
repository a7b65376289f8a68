import { describe, expect, test } from "vitest";
import { KvTruth, SimulatedKv } from "./kv.ts";

/**
 * KV's rules of time and location. workerd's KV cannot show them: it has one location and ignores cacheTtl. The quotes
 * are from Cloudflare's "How KV works" (developers.cloudflare.com/kv/concepts/how-kv-works), unless another page is
 * named.
 */

/** One namespace, seen from two edges, with a clock that the test moves. */
function twoEdges() {
  const clock = { seconds: 1_800_000_000 };
  const truth = new KvTruth();
  const now = () => clock.seconds * 1000;
  return { clock, here: new SimulatedKv(truth, now), there: new SimulatedKv(truth, now) };
}

describe("changes", () => {
  // "Changes may take up to 60 seconds or more to be visible in other global network locations as their cached versions of the data time out."
  test("another edge sees a put when the value in its cache is 60 s old", async () => {
    const { clock, here, there } = twoEdges();
    await here.put("key", "old");
    await there.get("key");
    await here.put("key", "new");
    clock.seconds += 59.999;
    expect(await there.get("key")).toBe("old");
    clock.seconds += 0.001;
    expect(await there.get("key")).toBe("new");
  });

  // "Negative lookups indicating that the key does not exist are also cached, so the same delay exists noticing a value is created".
  test("an edge caches a miss as long as a value, and a read from the cache does not prolong that time", async () => {
    const { clock, here, there } = twoEdges();
    expect(await there.get("key")).toBeNull();
    await here.put("key", "one");
    clock.seconds += 59.999;
    expect(await there.get("key")).toBeNull();
    clock.seconds += 0.001;
    expect(await there.get("key")).toBe("one");
  });
});

describe("cacheTtl", () => {
  // "The cacheTtl property defines the length of time in seconds that a KV result is cached in the global network location it is accessed from".
  test("cacheTtl sets for how long an edge caches what it has read", async () => {
    const { clock, here, there } = twoEdges();
    const read = () => there.get("key", { cacheTtl: 3_600 });
    await read();
    await here.put("key", "one");
    clock.seconds += 3_599;
    expect(await read()).toBeNull();
    clock.seconds += 1;
    expect(await read()).toBe("one");
  });

  // "The effective cacheTtl of an already cached item can be reduced by getting it again with a lower cacheTtl." (Read key-value pairs)
  test("a lower cacheTtl of a later read shortens the time of the cached entry", async () => {
    const { clock, here, there } = twoEdges();
    await there.get("key", { cacheTtl: 3_600 });
    await here.put("key", "one");
    clock.seconds += 30;
    expect(await there.get("key", { cacheTtl: 31 })).toBeNull();
    expect(await there.get("key", { cacheTtl: 30 })).toBe("one");
  });
});

describe("expirationTtl", () => {
  // "expirationTtl: the number of seconds from the current time" (Write key-value pairs); KV keeps whole Unix seconds.
  test("a value with an expirationTtl of 60 disappears 60 s after the second of its put, also from caches", async () => {
    const { clock, here, there } = twoEdges();
    clock.seconds += 0.9;
    await here.put("key", "one", { expirationTtl: 60 });
    clock.seconds += 59;
    expect(await there.get("key", { cacheTtl: 3_600 })).toBe("one");
    clock.seconds += 0.1;
    expect(await here.get("key")).toBeNull();
    expect(await there.get("key", { cacheTtl: 3_600 })).toBeNull();
  });

  test("a put without expirationTtl removes the expiry of the put before", async () => {
    const { clock, here } = twoEdges();
    await here.put("key", "one", { expirationTtl: 60 });
    await here.put("key", "two");
    clock.seconds += 86_400;
    expect(await here.get("key")).toBe("two");
  });
});

test("an edge reads the old value of a key until the carrier of a put runs it", async () => {
  const truth = new KvTruth();
  const late: (() => void)[] = [];
  const kv = new SimulatedKv(truth, Date.now, async (call, work) => {
    if (call === "put") await new Promise<void>((resolve) => void late.push(resolve));
    return work();
  });
  const put = kv.put("key", "one");
  expect(await kv.get("key")).toBeNull();
  for (const arrive of late) arrive();
  await put;
  expect(await kv.get("key")).toBe("one");
});
