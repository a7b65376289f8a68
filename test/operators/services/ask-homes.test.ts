import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { askHomes } from "../../../src/operators/services/ask-homes.ts";
import { probeHome } from "../../../src/operators/store/home/probe.ts";
import type { Faults } from "../../support/faulty-bindings.ts";
import { withoutWaiting } from "../../support/patient-fetch.ts";
import { contextAt } from "../../support/service-context.ts";
import { PROMPT_HOME, silentHomes } from "../../support/silent-homes.ts";
import { NOW } from "../../support/world.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** Asks the homes main and apac, then `count` silent homes, then one that answers. */
async function askWith(count: number) {
  const silence = silentHomes(count);
  const ctx = contextAt(NOW, { ...silence.bindings, DB: PROMPT_HOME, HOME_APAC: PROMPT_HOME, HOME_Z: PROMPT_HOME });
  const began = Date.now();
  const work = askHomes(ctx, async (db, home) => {
    await probeHome(db);
    return home;
  });
  const { answers, silentHomes: silentNames } = await withoutWaiting(work, { isSilent: true } as Faults);
  return { answers: [...answers], silentNames, silence, seconds: (Date.now() - began) / 1000 };
}

const pairsOf = (...homes: string[]) => homes.map((home) => [home, home]);

describe("asking all homes", () => {
  it("asking all homes gives each home 3 s, asks five at a time, and lists the answers in the order of the homes", async () => {
    const { answers, silentNames, silence, seconds } = await askWith(8);
    expect([answers, silentNames, seconds]).toEqual([pairsOf("main", "apac", "z"), silence.names, 6]);
    expect(silence.most()).toBe(5);
  });

  it("asking all homes ends after 6 s and names as down a home that was not asked", async () => {
    const { answers, silentNames, silence, seconds } = await askWith(10);
    expect([answers, silentNames, seconds]).toEqual([pairsOf("main", "apac"), [...silence.names, "z"], 6]);
  });

  it("asking all homes throws an error that does not come from a database", async () => {
    const fault = new TypeError("a bug");
    const work = askHomes(contextAt(NOW), () => Promise.reject(fault));
    await expect(work).rejects.toBe(fault);
  });
});
