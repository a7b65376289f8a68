import { expect, it, vi } from "vitest";
import { SIGNED_ROUTES } from "../../support/signed-routes.ts";
import { World } from "../../support/world.ts";

it.each(SIGNED_ROUTES)(
  "a call of $operation in a warm isolate sets at most two timers: one for KV and one for its limits",
  async (route) => {
    const world = await World.create();
    await world.chatId();
    const body = JSON.stringify(await route.acceptable(world));
    const set = vi.spyOn(globalThis, "setTimeout");
    const { status } = await world.send(route.operation, body);
    // The test itself waits for the answer with a limit of 30 s.
    const milliseconds = set.mock.calls.map(([, delay]) => Number(delay)).filter((delay) => delay < 30_000);
    set.mockRestore();
    expect(status).toBe(200);
    expect(milliseconds.length).toBeLessThanOrEqual(2);
    expect(milliseconds.filter((delay) => delay > 1)).toEqual([3_000]);
  },
);
