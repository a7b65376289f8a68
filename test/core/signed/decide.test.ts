import { expect, it } from "vitest";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { decide } from "../../../src/core/signed/decide.ts";
import { NonceMemory } from "../../../src/core/signed/nonce-memory.ts";
import { ExceededLimits } from "../../../src/core/signed/rate-limit.ts";
import { notifyQueue } from "../../../src/events/notify-queue.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { downDb } from "../../support/down-db.ts";
import { databaseOf } from "../../support/homes.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW, World } from "../../support/world.ts";

it("a closed home is not asked, even for a caller whose record another request has just found", async () => {
  const { appid, siteId, home } = await World.create({}, "apac");
  const context = contextAt(NOW, { ...closedHomeVars("apac"), HOME_APAC: downDb(databaseOf("apac")) });
  const { runtime, waitUntil } = context;
  const tools = {
    ...context,
    nonces: new NonceMemory(runtime),
    limits: new ExceededLimits(runtime),
    notify: notifyQueue,
    trace: { requestId: "id" },
  };
  const [operation] = OPERATIONS;
  if (operation === undefined) throw new Error("there is no operation");
  const credentials = { appid, siteId, home, revoked: false, events: false, keys: [] };
  const decision = decide(
    tools,
    {
      appid,
      client: "192.0.2.1",
      signed: { signature: undefined, body: new ArrayBuffer(0), now: NOW },
      lifetime: { runtime, waitUntil, answerBy: runtime.elapsed() + 5_000 },
    },
    { appid, siteId, home, secretVersion: "version", events: false, source: "isolate", credentials },
    {
      operation,
      operationInput: { input: {}, bound: {} },
      ranstr: "r",
      idempotencyKey: null,
      clientNetwork: null,
      staleAt: NOW + 900,
    },
  );
  await expect(decision).rejects.toMatchObject({ code: "unavailable", context: { reason: "home_closed" } });
});
