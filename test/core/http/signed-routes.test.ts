import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { expectTokenInvalid, SIGNED_ROUTES } from "../../support/signed-routes.ts";
import { World } from "../../support/world.ts";
import { replaySuite } from "./replay-suite.ts";
import { secretSuite } from "./secret-suite.ts";
import { signatureSuite } from "./signature-suite.ts";

it("each file that defines an operation is in the list, and the shared suites run for each operation", () => {
  const files = import.meta.glob("../../../src/core/operations/*.ts", {
    query: "?raw",
    import: "default",
    eager: true,
  });
  const names = Object.values(files).flatMap((text) =>
    text.includes("export default defineOperation(") ? (/^ {2}wireName: "(\w+)",$/m.exec(text)?.[1] ?? "unnamed") : [],
  );
  expect(OPERATIONS.map(({ wireName }) => wireName).sort()).toEqual(names.sort());
  expect(SIGNED_ROUTES.map(({ operation }) => operation)).toEqual(OPERATIONS.map(({ wireName }) => wireName));
});

describe.each(SIGNED_ROUTES)("POST /openapi/chat/$operation", (route) => {
  signatureSuite(route);
  secretSuite(route);
  replaySuite(route);

  it("a signed call shares its ranstrs with every other signed route of the app", async () => {
    const world = await World.create({ NONCES: undefined });
    const body = await route.acceptable(world);
    expect((await world.send(route.operation, body)).envelope.code).toBe(1);
    for (const other of SIGNED_ROUTES) {
      const again = await other.acceptable(world, { ranstr: body.ranstr });
      await expectTokenInvalid(world, () => world.send(other.operation, again));
    }
  });
});
