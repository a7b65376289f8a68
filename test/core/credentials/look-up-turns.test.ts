import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LookUpTurns } from "../../../src/core/credentials/look-up-turns.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import { NOW, runtimeAt } from "../../support/test-runtime.ts";

const NOTHING = () => undefined;

/** Turns with chosen draws: each number from 0 to 1 is the place of the drawn name in the list. Later draws take the first name. */
function turnsDrawing(...places: number[]) {
  const names: string[] = [];
  const turns = new LookUpTurns({ ...runtimeAt(() => NOW * 1000), random: () => places.shift() ?? 0 });
  const wait = (name: string, cached: () => string | undefined = NOTHING) =>
    turns.wait(name, cached).then(
      (record) => {
        names.push(name);
        return record;
      },
      (error: unknown) => (error instanceof ServiceError ? error.context : Promise.reject(error)),
    );
  return { wait, names };
}

const REFUSED = { reason: "client_limit", retryAfter: 1 };

describe("the turns of look-ups in an isolate", () => {
  beforeEach(() => void vi.useFakeTimers({ now: NOW * 1000 }));
  afterEach(() => void vi.useRealTimers());

  it("an isolate looks up five names a second that are drawn from all waiting names, and refuses the others", async () => {
    const { wait, names } = turnsDrawing(0, 0.999, 0.5, 0, 0.999);
    const waiting = Array.from({ length: 20 }, (_, n) => wait(`made-up-${n}`));
    await vi.advanceTimersByTimeAsync(400);
    expect(names).toEqual(["made-up-0", "made-up-19"]);
    await vi.advanceTimersByTimeAsync(600);
    expect(new Set(names).size).toBe(5);
    const answers = await Promise.all(waiting);
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(5);
    expect(answers.filter((answer) => answer !== undefined)).toEqual(Array(15).fill(REFUSED));
  });

  it("a name counts once in a draw of look-ups, however many requests wait for it", async () => {
    const { wait, names } = turnsDrawing(0.5);
    const flood = Array.from({ length: 99 }, () => wait("made-up"));
    const honest = wait("honest");
    await vi.advanceTimersByTimeAsync(200);
    expect(names).toEqual(["honest"]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await honest).toBeUndefined();
    expect((await Promise.all(flood)).filter((answer) => answer === undefined)).toHaveLength(4);
  });

  it("a request whose name is found meanwhile leaves its turn to other names", async () => {
    const { wait, names } = turnsDrawing(0, 0);
    let record: string | undefined;
    const known = wait("known", () => record);
    record = "a record";
    const other = wait("other");
    await vi.advanceTimersByTimeAsync(200);
    expect([await known, await other, names]).toEqual(["a record", undefined, ["known", "other"]]);
  });

  it("a name that comes back after a refusal is drawn before the others, once", async () => {
    const { wait, names } = turnsDrawing();
    const flood = () => Array.from({ length: 20 }, (_, n) => wait(`made-up-${names.length}-${n}`));
    const first = [...flood(), wait("honest")];
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await Promise.all(first)).at(-1)).toEqual(REFUSED);
    const again = [...flood(), wait("honest")];
    await vi.advanceTimersByTimeAsync(200);
    expect(names.at(-1)).toBe("honest");
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await Promise.all(again)).at(-1)).toBeUndefined();
    const late = [...flood(), wait("honest")];
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await Promise.all(late)).at(-1)).toEqual(REFUSED);
  });
});
