import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { replacing } from "../../support/replacing.ts";
import { World } from "../../support/world.ts";

const STALE = [{ gate: null, mine: null, outcome: null, session_id: null, named: null }];

describe("a caller whom the batch refuses", () => {
  it("a caller gets 503 after three batches when D1 gives the same refused record after each of them", async () => {
    let batches = 0;
    const batch = async (statements: D1PreparedStatement[]) => {
      batches++;
      return statements.map((_, place) => ({ results: place === statements.length - 1 ? STALE : [] }));
    };
    const world = await World.create({ DB: replacing(env.DB, { batch }) });
    const { status, headers } = await world.create();
    expect([status, headers.get("x-error-detail"), batches]).toEqual([503, null, 3]);
    expect((await world.stored()).nonces).toEqual([]);
  });
});

describe("a refusal before the batch", () => {
  it("a look-up of the app that D1 refuses is a fault of the deployment", async () => {
    const world = await World.create();
    await world.create();
    const prepare = () => {
      throw new Error("D1_ERROR: datatype mismatch: SQLITE_MISMATCH");
    };
    Object.assign(world, { env: { ...world.env, DB: replacing(env.DB, { prepare }) } });
    expect((await world.create({ sbs: null })).status).toBe(500);
  });
});
