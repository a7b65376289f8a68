import { describe, expect, it } from "vitest";
import type { Identity } from "../../../src/operators/services/identity.ts";
import { OperatorMemory } from "../../../src/operators/services/operator-memory.ts";
import { keptTelemetry, NOW, runtimeAt } from "../../support/test-runtime.ts";

const IDENTITY: Identity = {
  who: { kind: "token", id: "tok_1", name: "Nightly" },
  role: "viewer",
  onlySite: undefined,
};

describe("what an isolate remembers of a token", () => {
  it.each([
    ["five minutes", null, 300],
    ["five minutes", NOW + 301, 300],
    ["until the token expires", NOW + 60, 60],
  ])("an isolate remembers a token for %s, with expires_at %s", (_, expiresAt, seconds) => {
    let now = NOW;
    const memory = new OperatorMemory(
      runtimeAt(() => now * 1000),
      keptTelemetry().telemetry,
    );
    memory.rememberToken("hash", IDENTITY, expiresAt);
    now = NOW + seconds - 1;
    expect(memory.identityOf("hash")).toEqual(IDENTITY);
    now = NOW + seconds;
    expect(memory.identityOf("hash")).toBeUndefined();
  });
});
