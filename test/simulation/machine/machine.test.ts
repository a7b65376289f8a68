import { describe, expect, it } from "vitest";
import { Chance } from "./chance.ts";
import { EPOCH, ProgramImage } from "./program.ts";
import { runAs, Scheduler, type Task } from "./scheduler.ts";
import { subtle } from "./subtle.ts";

describe("the scheduler", () => {
  it("the scheduler takes turns in the order of their times, and turns at the same time in the order of scheduling", async () => {
    const scheduler = new Scheduler();
    const turns: string[] = [];
    for (const [delay, name] of [
      [5, "d"],
      [0, "a"],
      [3, "b"],
      [3, "c"],
    ] as const) {
      scheduler.after(delay, () => turns.push(`${name} at ${scheduler.now}`));
    }
    while (await scheduler.step());
    expect(turns).toEqual(["a at 0", "b at 3", "c at 3", "d at 5"]);
  });

  it("the scheduler settles all promises before the next turn", async () => {
    const scheduler = new Scheduler();
    let hops = 0;
    scheduler.after(1, async () => {
      for (; hops < 1_000; hops++) await null;
    });
    await scheduler.step();
    expect(hops).toBe(1_000);
  });

  it("a function given to atRest() runs in the same turn, after all promises have settled, and may call atRest() again", async () => {
    const scheduler = new Scheduler();
    const order: string[] = [];
    scheduler.after(1, async () => {
      scheduler.atRest(async () => {
        order.push("at rest");
        await null;
        scheduler.atRest(() => order.push("at rest again"));
      });
      await null;
      order.push("going on");
    });
    await scheduler.step();
    expect(order).toEqual(["going on", "at rest", "at rest again"]);
  });

  it("the scheduler never takes a cancelled turn", async () => {
    const scheduler = new Scheduler();
    let isTaken = false;
    const cancel = scheduler.after(1, () => {
      isTaken = true;
    });
    cancel();
    expect(await scheduler.step()).toBe(false);
    expect(isTaken).toBe(false);
  });

  it("the scheduler counts time in whole microseconds, so that ten delays of 0.1 ms are exactly 1 ms", async () => {
    const scheduler = new Scheduler();
    for (let i = 0; i < 10; i++) {
      scheduler.after(0.1, () => {});
      await scheduler.step();
    }
    expect(scheduler.now).toBe(1);
  });
});

describe("chance", () => {
  it("the draws of a fork do not depend on later draws of its parent", () => {
    const [one, other] = [new Chance(3), new Chance(3)];
    const forks = [one.fork(), other.fork()];
    one.number();
    expect(forks[0]?.uuid()).toBe(forks[1]?.uuid());
  });
});

describe("a program", () => {
  const start = (code: string, clock = { now: () => EPOCH }, scheduler = new Scheduler()) =>
    new ProgramImage({ worker: code, client: "" }).startWorker(scheduler, clock, new Chance(1)) as unknown as {
      [name: string]: (...args: unknown[]) => unknown;
    };

  it("two starts of a program share no state of its modules", () => {
    const image = new ProgramImage({ worker: "let calls = 0; return { count: () => ++calls };", client: "" });
    const starts = [1, 2].map(
      () => image.startWorker(new Scheduler(), { now: () => EPOCH }, new Chance(1)) as unknown as { count(): number },
    );
    expect(starts.map(({ count }) => [count(), count()])).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it("Date.now() and new Date() of a program read the clock that it was given", () => {
    const { times } = start("return { times: () => [Date.now(), new Date().getTime(), new Date(5).getTime()] };", {
      now: () => EPOCH + 1,
    });
    expect(times?.()).toEqual([EPOCH + 1, EPOCH + 1, 5]);
  });

  it("setTimeout() of a program waits in virtual time", async () => {
    const scheduler = new Scheduler();
    const { wait } = start("return { wait: (done) => setTimeout(done, 1000) };", undefined, scheduler);
    let isDone = false;
    wait?.(() => {
      isDone = true;
    });
    await scheduler.step();
    expect([isDone, scheduler.now]).toEqual([true, 1_000]);
  });

  it("a program has neither the globals of node nor a network", () => {
    const { reach } = start(
      "return { reach: () => [typeof process, typeof Buffer, typeof require, typeof fetch('x')] };",
    );
    expect(() => reach?.()).toThrow("no network");
    const { types } = start("return { types: () => [typeof process, typeof Buffer, typeof require] };");
    expect(types?.()).toEqual(["undefined", "undefined", "undefined"]);
  });

  it("the timer of an ended task does not fire", async () => {
    const scheduler = new Scheduler();
    const { wait } = start("return { wait: (done) => setTimeout(done, 1) };", undefined, scheduler);
    const task: Task = { name: "call", alive: true };
    let isHeard = false;
    runAs(task, () => wait?.(() => (isHeard = true)));
    task.alive = false;
    await scheduler.step();
    expect(isHeard).toBe(false);
  });
});

it("the simulated WebCrypto answers without waiting for the event loop", async () => {
  let isAnswered = false;
  void subtle.digest("SHA-256", new Uint8Array()).then(() => {
    isAnswered = true;
  });
  for (let i = 0; i < 3; i++) await Promise.resolve();
  expect(isAnswered).toBe(true);
});
