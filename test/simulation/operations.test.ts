import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../src/operations/index.ts";
import { MODELS } from "./operations/index.ts";

describe("the simulation's models of operations", () => {
  it.each(OPERATIONS)("know $name: test/simulation/operations/ has a file of its name", ({ name }) => {
    expect(MODELS.map((model) => model.name)).toContain(name);
  });

  it.each(MODELS)("have $name as the service has it: its path, its refusals in their order, its event", (model) => {
    const operation = OPERATIONS.find(({ name }) => name === model.name);
    expect(model.wireName).toBe(operation?.wireName);
    expect(Object.keys(model.refusals)).toEqual(Object.keys(operation?.refusals ?? {}));
    expect(model.event.type).toBe(operation?.eventType);
  });
});
