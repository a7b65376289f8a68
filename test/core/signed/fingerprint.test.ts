import { describe, expect, it } from "vitest";
import addAgents from "../../../src/core/operations/add-agents.ts";
import createSession from "../../../src/core/operations/create-session.ts";
import { DOCUMENTED } from "../../../src/core/operations/index.ts";
import type { Operation } from "../../../src/core/operations/operation.ts";
import { fingerprintOf } from "../../../src/core/signed/fingerprint.ts";
import { readFields } from "../../../src/core/signed/read-fields.ts";

const CREATE = {
  sbs: "customer_001",
  ip: "127.0.0.1",
  sbs_mc: "王伟",
  content: "Hello",
  kefu_id: [10427, 10411],
  fzr_uid: 10411,
};
const ADD = { chat_id: 900220, kefu_ids: "10428,10427" };

async function fingerprint(operation: Operation, fields: Record<string, unknown>): Promise<string> {
  const body = new TextEncoder().encode(JSON.stringify({ appid: "app", ...fields }));
  const read = readFields(body.buffer as ArrayBuffer, operation.exactField);
  const operationInput = read.ok ? operation.read(read.value) : read;
  if (!operationInput.ok) throw new Error(operationInput.reason);
  return fingerprintOf(operationInput.value.input);
}

const EXAMPLES = DOCUMENTED.flatMap(({ operation, documentation }) =>
  Object.entries(documentation.examples).map(([name, example]) => ({ operation, name, ...example })),
);

/**
 * Fingerprints that live deployments have stored: a retry with a key from before a deployment must match. The lines here
 * and the fingerprints of documented examples never change.
 */
describe("the fingerprint of a request never changes", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["without optional fields", {}, "e7a5b20aff2b6e3336f98673a70c9798e475a41fd151d6f2d8baa37e34224a7c"],
    ["with the default named", { sender_type: 2 }, "e7a5b20aff2b6e3336f98673a70c9798e475a41fd151d6f2d8baa37e34224a7c"],
    ["from the visitor", { sender_type: 1 }, "19b333322bd0447dd816c54061ee28947827e009eb97be398874b1a371584c20"],
    ["with a title", { title: "订单咨询" }, "878e79f74dde680db7808bf26234bc2b4a3323e2eb359606db5a635d44b83407"],
    [
      "with fields that the contract does not know",
      { colour: "red", priority: 1 },
      "e7a5b20aff2b6e3336f98673a70c9798e475a41fd151d6f2d8baa37e34224a7c",
    ],
  ])("the fingerprint of create_gd %s never changes", async (_, change, golden) => {
    expect(await fingerprint(createSession, { ...CREATE, ...change })).toBe(golden);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["as a string", {}, "0451763e3b21e3f4d496d7fb0056ecd4fee40a3605c6bb80cb5850c227ae0feb"],
    [
      "as an array",
      { kefu_ids: [10427, 10428, 10427] },
      "0451763e3b21e3f4d496d7fb0056ecd4fee40a3605c6bb80cb5850c227ae0feb",
    ],
  ])("the fingerprint of add_kf %s never changes", async (_, change, golden) => {
    expect(await fingerprint(addAgents, { ...ADD, ...change })).toBe(golden);
  });

  it.each(EXAMPLES)(
    "the fingerprint of the documented example of $operation.wireName, $name, is right",
    async ({ operation, fields, fingerprint: golden }) => {
      expect(await fingerprint(operation, fields)).toBe(golden);
    },
  );
});
