import { expect, it } from "vitest";
import { WIRE_ERRORS } from "../../../src/core/errors.ts";
import { DOCUMENTED } from "../../../src/core/operations/index.ts";
import { exampleBody } from "../../support/example-body.ts";
import { databaseOf } from "../../support/homes.ts";
import { World } from "../../support/world.ts";

const CASES = DOCUMENTED.flatMap(({ operation, documentation }) =>
  Object.entries(documentation.statuses ?? {}).map(([status, comesTo]) => ({
    operation,
    documentation,
    status,
    comesTo,
    call: operation.wireName,
  })),
);

it.each(CASES)("$call on a session with the status $status is $comesTo", async (each) => {
  const { operation, documentation, status, comesTo } = each;
  const world = await World.create();
  const chatId = await world.chatId({ kefu_id: [1], fzr_uid: 1 });
  await databaseOf("main")
    .prepare("UPDATE sessions SET status = ? WHERE site_id = ? AND id = ?")
    .bind(status, world.siteId, chatId)
    .run();
  const fields = exampleBody(documentation, { chatId, agent: 2 });
  const { envelope } = await world.send(operation.wireName, { ...world.addBody(chatId), ...fields });
  const code = operation.refusals[comesTo]?.code;
  expect(envelope.msg).toBe(code === undefined ? "ok" : WIRE_ERRORS[code].message);
});
