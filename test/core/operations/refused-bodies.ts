import { afterAll, beforeAll, expect } from "vitest";
import { INVALID_PARAMETERS } from "../../support/signed-routes.ts";
import { type Body, World } from "../../support/world.ts";

/**
 * Sends bodies that must be 参数错误 to one world for the whole describe. After the last body it checks that nothing was stored.
 *
 * @returns a function that sends a body and returns the refusal's detail
 */
export function refusedBodies(operation: "create_gd" | "add_kf", arrange = () => World.create()) {
  let world: World;
  let untouched: unknown;
  beforeAll(async () => {
    world = await arrange();
    untouched = await world.stored();
  });
  afterAll(async () => expect(await world.stored()).toEqual(untouched));
  return async (bodyOf: (world: World) => Body | string): Promise<string | null> => {
    const { status, envelope, headers } = await world.send(operation, bodyOf(world));
    expect({ status, envelope }).toEqual({ status: 400, envelope: INVALID_PARAMETERS });
    return headers.get("x-error-detail");
  };
}
