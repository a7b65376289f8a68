import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { CALL_RULES } from "../../../../src/signed/call-rules.ts";
import { prune } from "../../../../src/store/prune.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { runtimeAt } from "../../../support/test-runtime.ts";
import { World } from "../../../support/world.ts";

it("a late try of a sign-in does not bring an ended session back, though it was pruned meanwhile", async () => {
  const faults = new Faults(({ name, nth }) => (name === "DB.batch" && nth === 0 ? "late" : undefined));
  const world = await World.create({ DB: faultyD1(env.DB, faults) });
  const visitor = await ConsoleVisitor.signedIn(world);
  const thief = visitor.through(world);
  await visitor.submit(await visitor.open("/console"), "Sign out");
  expect((await thief.get("/console")).status).not.toBe(200);
  await prune(
    runtimeAt(() => world.clock.now * 1000),
    {
      directory: env.DB,
      homes: new Map([["main", env.DB]]),
      closedHomes: new Set<string>(),
      eventRetentionDays: 30,
      journalDays: 30,
      sessionEventTypes: [],
      callRules: CALL_RULES,
    },
    world.clock.now,
  );
  await faults.end();
  expect((await thief.get("/console")).status).not.toBe(200);
});
