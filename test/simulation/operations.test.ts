import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../src/core/operations/index.ts";
import { MODELS } from "./operations/index.ts";

describe("the simulation's models of operations", () => {
  it.each(OPERATIONS)("know $name, in a file of its name: its path, its refusals in order, its event", (real) => {
    const model = MODELS.find(({ name }) => name === real.name);
    expect(model?.wireName).toBe(real.wireName);
    expect(Object.keys(model?.refusals ?? {})).toEqual(Object.keys(real.refusals));
    expect(model?.event.type).toBe(real.eventType);
  });
});
