import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../src/core/operations/index.ts";
import { MODELS } from "./operations/index.ts";

describe("the simulation's models of operations", () => {
  it.each(OPERATIONS)(
    "the model of $name has the path, the refusals in their order and the event of the operation in src/",
    (real) => {
      const model = MODELS.find(({ name }) => name === real.name);
      expect(model?.wireName).toBe(real.wireName);
      expect(Object.keys(model?.refusals ?? {})).toEqual(Object.keys(real.refusals));
      expect(model?.event.type).toBe(real.eventType);
    },
  );
});
