import { afterAll, beforeAll, expect } from "vitest";
import { INVALID_PARAMETERS } from "../../support/signed-routes.ts";
import { type Body, World } from "../../support/world.ts";

/**
 * Sends bodies that must be 参数错误 to one world of the describe, and compares its store once, after the last: none was written.
 *
 * @returns what sends a body and answers the refusal's detail
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
