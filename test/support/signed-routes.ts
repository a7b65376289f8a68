import { expect } from "vitest";
import { seedSession } from "./seed-session.ts";
import type { Answer, Body, World } from "./world.ts";

type Stored = Awaited<ReturnType<World["stored"]>>;
type Rows = Partial<Record<keyof Stored, number>>;

/** A route behind the signature, as the shared suites need to know it. A new one is added to {@link SIGNED_ROUTES}. */
export interface SignedRoute {
  operation: "create_gd" | "add_kf";
  /** Rows that one accepted request adds for a customer or agent not seen before. */
  adds: Rows;
  /** A body that is accepted, with a ranstr and a session or customer of its own. */
  acceptable: (world: World, change?: Body) => Promise<Body>;
  /** A body that passes every check before the database and is refused there. */
  refusable: (world: World) => Promise<Body>;
}

export const SIGNED_ROUTES: SignedRoute[] = [
  {
    operation: "create_gd",
    adds: { customers: 1, sessions: 1, participants: 1, messages: 1, nonces: 1 },
    acceptable: async (world, change) => world.createBody({ sbs: crypto.randomUUID(), ...change }),
    refusable: async (world) => world.createBody({ kefu_id: [1, 404] }),
  },
  {
    operation: "add_kf",
    adds: { participants: 1, nonces: 1 },
    acceptable: async (world, change) => world.addBody(await seedSession(world), change),
    refusable: async (world) => world.addBody(await seedSession(world), { kefu_ids: [404] }),
  },
];

export const TOKEN_INVALID = { code: -1, msg: "token验证失败!", data: "" };
export const INVALID_PARAMETERS = { code: -1, msg: "参数错误", data: "" };

/** Expects `act` to be accepted and to add exactly what the route adds. */
export async function expectAccepted(world: World, route: SignedRoute, act: () => Promise<Answer>): Promise<void> {
  const before = await world.stored();
  const { status, envelope } = await act();
  expect({ status, code: envelope.code, msg: envelope.msg }).toEqual({ status: 200, code: 1, msg: "ok" });
  expect(rowsAdded(before, await world.stored())).toEqual(route.adds);
}

/** Expects `act` to be answered with 401 and to leave the store as it was. */
export async function expectTokenInvalid(world: World, act: () => Promise<Answer>): Promise<Answer> {
  return expectUnwritten(world, async () => {
    const answer = await act();
    expect({ status: answer.status, envelope: answer.envelope }).toEqual({ status: 401, envelope: TOKEN_INVALID });
    return answer;
  });
}

/** Expects `act` to leave what is stored of the world's site and app as it was. */
export async function expectUnwritten<Result>(world: World, act: () => Promise<Result>): Promise<Result> {
  const before = await world.stored();
  const result = await act();
  expect(await world.stored()).toEqual(before);
  return result;
}

/** How many rows more there are, by table; tables with as many as before are left out. */
export function rowsAdded(before: Stored, after: Stored): Rows {
  const added = Object.entries(after).map(([table, rows]) => [
    table,
    rows.length - before[table as keyof Stored].length,
  ]);
  return Object.fromEntries(added.filter(([, rows]) => rows !== 0));
}
