import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { readSession } from "../../../src/store/home/sessions.ts";
import { seedSession } from "../../support/seed-session.ts";
import { World } from "../../support/world.ts";

it.each([
  ["a stored object", '{"order":"A-17","channel":"web"}', { order: "A-17", channel: "web" }],
  ["an empty object without one", undefined, {}],
])("reading a session gives its metadata: %s", async (_, metadata, expected) => {
  const world = await World.create();
  const id = await seedSession(world, metadata === undefined ? {} : { metadata });
  expect((await readSession(env.DB, world.siteId, id))?.session.metadata).toEqual(expected);
});
