import { ADMIN_CALLS } from "../../../src/operators/admin/calls.ts";
import { pathOf, prepared, samplesOf } from "../../support/admin-calls.ts";
import { World } from "../../support/world.ts";
import { walk } from "./walk.ts";

walk("the admin API", {
  actor: "admin-api",
  calls: ADMIN_CALLS,
  samplesOf: ({ id }) => samplesOf(id),
  prepare: async () => prepared(await World.create()),
  pathOf,
  send: (world, { method }, path, { body }) => world.admin(method.toUpperCase(), path, body),
  sendUnsigned: (world, { method }, path) =>
    world.fetch(new Request(`http://worker${path}`, { method: method.toUpperCase() })),
});
