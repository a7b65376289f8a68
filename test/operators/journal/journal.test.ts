import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { describeViolations } from "../../../src/core/describe-violations.ts";
import { Journal, type JournalMessage } from "../../../src/operators/journal/journal.ts";
import type { Refusal } from "../../../src/operators/store/home/refusals.ts";
import { keptTelemetry, NOW, runtimeAt } from "../../support/test-runtime.ts";

beforeEach(() => void vi.useFakeTimers({ now: NOW * 1000 }));
afterEach(() => void vi.useRealTimers());

const id = (n: number) => `01a3185c-5000-7000-8000-${String(n).padStart(12, "0")}`;

/** A journal and its queue. Each call has its number as the request id. */
function started() {
  const keptRecords = keptTelemetry();
  const journal = new Journal(
    runtimeAt(() => Date.now()),
    keptRecords.telemetry,
  );
  const sent: { at: number; message: JournalMessage }[] = [];
  const state = { isDown: false, slowMs: 0, calls: 0 };
  const queue = {
    async send(message: JournalMessage) {
      if (state.isDown) throw new Error("Queue is overloaded");
      sent.push({ at: Date.now(), message: structuredClone(message) });
      if (state.slowMs > 0) await new Promise((resolve) => setTimeout(resolve, state.slowMs));
    },
  } as unknown as Queue;
  const work: Promise<void>[] = [];

  /** What a request does after a refusal, or after an accepted call when given null. */
  function refuse(fields: Partial<Refusal> | null = {}, home: string | null = "main"): void {
    if (fields !== null) {
      state.calls += 1;
      journal.note(home === null ? undefined : { home, siteId: 1 }, {
        requestId: `call ${state.calls}`,
        appid: "shop",
        at: NOW,
        operation: "create_session",
        status: 401,
        reason: "timestamp_stale",
        detail: null,
        violations: null,
        secret: "v1",
        client: null,
        drill: null,
        ...fields,
      });
    }
    if (journal.isDue()) work.push(journal.send(queue));
  }

  const rows = () => sent.flatMap(({ message }) => message.refusals);
  const countCalls = () => rows().reduce((sum, { skipped }) => sum + 1 + skipped, 0);
  const settle = async (seconds: number) => {
    await vi.advanceTimersByTimeAsync(seconds * 1000);
  };
  return { journal, queue, sent, state, refuse, rows, countCalls, settle, work, records: keptRecords };
}

describe("an isolate's journal", () => {
  it("the journal sends the row of a refused call at once", async () => {
    const { refuse, sent, settle } = started();
    refuse({ detail: "timestamp: must be within 300 s of 1800000000, Unix seconds" });
    await settle(0);
    expect(sent).toEqual([
      {
        at: NOW * 1000,
        message: {
          home: "main",
          refusals: [
            {
              requestId: "call 1",
              siteId: 1,
              appid: "shop",
              at: NOW,
              operation: "create_session",
              status: 401,
              reason: "timestamp_stale",
              detail: "timestamp: must be within 300 s of 1800000000, Unix seconds",
              violations: null,
              secret: "v1",
              client: null,
              skipped: 0,
              drill: null,
            },
          ],
        },
      },
    ]);
  });

  it("the journal gives an app 20 rows immediately and counts further refusals in the next row, within two seconds", async () => {
    const { refuse, rows, countCalls, settle } = started();
    for (let i = 0; i < 100; i++) refuse();
    await settle(2);
    expect(rows().map(({ skipped }) => skipped)).toEqual([...Array(20).fill(0), 79]);
    expect(rows().at(-1)?.requestId).toBe("call 100");
    expect(countCalls()).toBe(100);
  });

  it("the journal gives an app one row a second while calls are refused without end", async () => {
    const { refuse, rows, countCalls, settle } = started();
    for (let second = 0; second < 60; second++) {
      for (let i = 0; i < 50; i++) refuse();
      await settle(1);
    }
    await settle(3);
    expect(rows().length).toBeGreaterThanOrEqual(60);
    expect(rows().length).toBeLessThanOrEqual(2 * 20 + 63);
    expect(countCalls()).toBe(3_000);
  });

  it("the journal counts each app, operation and reason separately", async () => {
    const { refuse, rows, settle } = started();
    for (let i = 0; i < 20; i++) refuse();
    for (const reason of ["fields_invalid", "app_limit"]) for (let i = 0; i < 3; i++) refuse({ reason });
    refuse({ reason: "fields_invalid", operation: "add_agents" });
    refuse({ appid: "other" });
    await settle(5);
    const later = rows()
      .filter(({ reason, appid }) => reason !== "timestamp_stale" || appid === "other")
      .map(({ appid, operation, reason, skipped }) => [appid, operation, reason, skipped]);
    expect(later.toSorted()).toEqual([
      ["other", "create_session", "timestamp_stale", 0],
      ["shop", "add_agents", "fields_invalid", 0],
      ["shop", "create_session", "app_limit", 2],
      ["shop", "create_session", "fields_invalid", 2],
    ]);
  });

  it.each(["signature_mismatch", "fields_invalid"])(
    "the journal has a row for each of the first 20 calls a minute that are refused as %s",
    async (reason) => {
      const { refuse, rows, settle } = started();
      const secret = reason === "fields_invalid" ? "v1" : null;
      const first: string[] = [];
      for (let minute = 0; minute < 3; minute++) {
        for (let i = 0; i < 50; i++) {
          if (i < 20) first.push(`call ${minute * 50 + i + 1}`);
          refuse({ reason, secret });
          await settle(0.5);
        }
        await settle(35);
      }
      expect(rows().map(({ requestId }) => requestId)).toEqual(expect.arrayContaining(first));
    },
  );

  it("the journal gives an app at most 21 rows a minute for calls that did not verify, and counts all of them", async () => {
    const { refuse, rows, countCalls, settle, journal } = started();
    for (let i = 0; i < 500; i++) {
      refuse({ secret: null, reason: "signature_mismatch" });
      await settle(0.005);
    }
    await settle(2);
    expect(rows().map(({ skipped }) => skipped)).toEqual([...Array(20).fill(0), 479]);
    for (let i = 0; i < 500; i++) refuse({ secret: null, reason: "signature_mismatch" });
    await settle(54);
    expect(rows()).toHaveLength(21);
    expect(journal.isDue()).toBe(false);
    for (let minute = 0; minute < 10; minute++) {
      for (let i = 0; i < 60; i++) {
        refuse({ secret: null, reason: "signature_mismatch" });
        await settle(1);
      }
    }
    expect(rows().length).toBeLessThanOrEqual(11 * 21);
    await settle(3_600);
    refuse({ secret: null, reason: "signature_mismatch" });
    await settle(0);
    expect(countCalls()).toBe(1_601);
    // The row that counts the rest is the row of its last call, not of a call an hour later.
    expect(rows().find(({ requestId }) => requestId === "call 1600")?.skipped).toBeGreaterThan(0);
  });

  it("the journal keeps rows of verified calls beside a flood of forgeries for the same app", async () => {
    const { refuse, rows, settle } = started();
    for (let i = 0; i < 500; i++) refuse({ secret: null, reason: "signature_mismatch" });
    refuse({ reason: "fields_invalid" });
    await settle(2);
    expect(rows().map(({ reason }) => reason)).toContain("fields_invalid");
  });

  it("the journal keeps the row of a verified call beside forgeries for 600 other apps of its home", async () => {
    const { refuse, rows, settle } = started();
    refuse({ appid: "first" });
    await settle(0.1);
    refuse({ appid: "honest" });
    for (let i = 0; i < 600; i++) refuse({ appid: `app ${i}`, secret: null, reason: "signature_mismatch" });
    await settle(10);
    expect(rows().map(({ appid }) => appid)).toContain("honest");
  });

  it("the journal sends one message a second to each home", async () => {
    const { refuse, sent, settle } = started();
    for (let i = 0; i < 200; i++) {
      refuse({ appid: `app ${i}` });
      refuse({ appid: `app of apac ${i}` }, "apac");
      if (i % 20 === 0) await settle(0.1);
    }
    await settle(10);
    for (const home of ["main", "apac"]) {
      const times = sent.filter(({ message }) => message.home === home).map(({ at }) => at);
      const pauses = times.slice(1).map((at, i) => at - Number(times[i]));
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(1_000);
    }
    expect(sent.every(({ message }) => message.refusals.length <= 50)).toBe(true);
    expect(sent.flatMap(({ message }) => message.refusals)).toHaveLength(400);
  });

  it("the journal sends no message larger than the queue allows, even with the longest rows", async () => {
    const { refuse, sent, settle } = started();
    const agents = Array.from({ length: 40 }, (_, i) => ({ id: 10 + i, why: "unknown" as const }));
    const violations = [{ field: "kefu_id", rule: "agents_fit" as const, agents }];
    const detail = describeViolations(violations);
    expect(detail.length).toBeGreaterThan(480);
    for (let i = 0; i < 200; i++)
      refuse({ appid: `${i}`.padEnd(64, "x"), requestId: id(i), detail, violations, secret: id(i) });
    await settle(10);
    expect(sent.flatMap(({ message }) => message.refusals)).toHaveLength(200);
    for (const { message } of sent) expect(JSON.stringify(message).length).toBeLessThan(128_000);
  });

  it("the journal waits a second after a message that a slow queue delayed", async () => {
    const { journal, queue, refuse, sent, state, settle } = started();
    // No work begins here, so rows of both homes wait.
    const wait = vi.spyOn(journal, "isDue").mockReturnValue(false);
    refuse({ appid: "a" }, "main");
    refuse({ appid: "b" }, "apac");
    state.slowMs = 900;
    const first = journal.send(queue);
    await settle(1);
    state.slowMs = 0;
    refuse({ appid: "a" }, "main");
    refuse({ appid: "b" }, "apac");
    const second = journal.send(queue);
    await settle(10);
    await Promise.all([first, second]);
    wait.mockRestore();
    const times = sent.filter(({ message }) => message.home === "apac").map(({ at }) => at - NOW * 1000);
    expect([times[0], times[1]]).toEqual([900, expect.toSatisfy((at: number) => at >= 1_900)]);
  });

  it("the journal keeps rows that the queue refuses, and sends them once when the queue works again", async () => {
    const { refuse, rows, settle, state, records } = started();
    state.isDown = true;
    for (let i = 0; i < 5; i++) refuse();
    await settle(30);
    expect(rows()).toEqual([]);
    expect(records.warnings[0]).toEqual({ warning: "the queue took no refused calls", fault: "Queue is overloaded" });
    state.isDown = false;
    refuse(null);
    await settle(3);
    expect(rows().map(({ requestId }) => requestId)).toEqual(["call 1", "call 2", "call 3", "call 4", "call 5"]);
  });

  it("the journal counts each call while the queue is down for a day, and keeps at most 500 rows of a home", async () => {
    const { refuse, rows, countCalls, settle, state, sent } = started();
    state.isDown = true;
    for (let hour = 0; hour < 24; hour++) {
      for (let i = 0; i < 800; i++) refuse({ appid: `app ${i}` });
      await settle(3_600);
    }
    state.isDown = false;
    for (let i = 0; i < 3; i++) {
      refuse(null);
      await settle(20);
    }
    expect(new Set(rows().map(({ appid }) => appid)).size).toBe(800);
    expect(countCalls()).toBe(24 * 800);
    expect(sent.every(({ message }) => JSON.stringify(message).length < 128_000)).toBe(true);
  });

  it.each([
    [600, 1],
    [100, 20],
  ])(
    "the journal has a row or a count for each refusal of %i apps with %i calls each at one moment",
    async (apps, calls) => {
      const { refuse, countCalls, settle } = started();
      for (let i = 0; i < calls; i++) for (let app = 0; app < apps; app++) refuse({ appid: `app ${app}`, status: 503 });
      await settle(10);
      for (let i = 0; i < 3; i++) {
        refuse(null);
        await settle(10);
      }
      expect(countCalls()).toBe(apps * calls);
    },
  );

  it("the journal loses no row when the work after an answer is cut off, because the next call takes it over", async () => {
    const { refuse, rows, settle } = started();
    refuse();
    await settle(0.1);
    refuse();
    await settle(0.1);
    // The platform drops the timers of a request that it ends.
    vi.clearAllTimers();
    await settle(5);
    expect(rows()).toHaveLength(1);
    refuse(null);
    await settle(0);
    expect(rows().map(({ requestId }) => requestId)).toEqual(["call 1", "call 2"]);
  });

  it("only one request waits to send the rows of an app", async () => {
    const { refuse, work, settle } = started();
    for (let i = 0; i < 1_000; i++) refuse();
    expect(work.length).toBeLessThan(5);
    await settle(5);
  });

  it("the journal ends its work after an answer within 10 seconds, whatever happens", async () => {
    const { refuse, work, settle, state } = started();
    state.isDown = true;
    refuse();
    const results = Promise.allSettled(work);
    await settle(11);
    await expect(results).resolves.toHaveLength(work.length);
  });
});
