import { expect } from "vitest";
import { DOCUMENTED } from "../../src/core/operations/index.ts";
import type { Documentation, Operation } from "../../src/core/operations/operation.ts";
import { exampleBody, namesStored } from "./example-body.ts";
import { seedSession } from "./seed-session.ts";
import type { Answer, Body, World } from "./world.ts";

type Stored = Awaited<ReturnType<World["stored"]>>;
type Rows = Partial<Record<keyof Stored, number>>;

/** A signed operation, with the facts that the shared test suites need. */
export interface SignedRoute {
  operation: string;
  /** Rows that one accepted request adds for a new customer or agent; undefined when only the operation's own tests check them. */
  adds: Rows | undefined;
  /** A body that is accepted, with its own ranstr and its own session or customer. */
  acceptable: (world: World, change?: Body) => Promise<Body>;
  /** A body that passes every check before the database and is refused there. */
  refusable: (world: World) => Promise<Body>;
}

/** Facts that an operation's documentation does not give; see {@link routeOf}. */
const KNOWN: Record<string, Omit<SignedRoute, "operation">> = {
  create_gd: {
    adds: { customers: 1, sessions: 1, participants: 1, messages: 1, nonces: 1 },
    acceptable: async (world, change) => world.createBody({ sbs: crypto.randomUUID(), ...change }),
    refusable: async (world) => world.createBody({ kefu_id: [1, 404] }),
  },
  add_kf: {
    adds: { participants: 1, nonces: 1 },
    acceptable: async (world, change) => world.addBody(await seedSession(world), change),
    refusable: async (world) => world.addBody(await seedSession(world), { kefu_ids: [404] }),
  },
};

/** All signed operations. The shared suites cover a new operation without a change. */
export const SIGNED_ROUTES: SignedRoute[] = DOCUMENTED.map(routeOf);

const NO_SUCH_SESSION = Number.MAX_SAFE_INTEGER;

/**
 * Makes the route of an operation. Where {@link KNOWN} has no facts, the bodies come from the first example in its documentation.
 */
function routeOf({ operation, documentation }: { operation: Operation; documentation: Documentation }): SignedRoute {
  const { wireName } = operation;
  const body = (world: World, chatId: number, agent: number, change: Body = {}): Body => ({
    appid: world.appid,
    timestamp: world.clock.now,
    ranstr: crypto.randomUUID(),
    ...exampleBody(documentation, { chatId, agent }),
    ...change,
  });
  return {
    operation: wireName,
    adds: undefined,
    acceptable: async (world, change) => body(world, await seedSession(world), 3, change),
    refusable: async (world) => {
      if (namesStored(documentation)) return body(world, NO_SUCH_SESSION, 404);
      throw new Error(`${wireName}: say in test/support/signed-routes.ts what the database refuses of it`);
    },
    ...KNOWN[wireName],
  };
}

export const TOKEN_INVALID = { code: -1, msg: "token验证失败!", data: "" };
export const INVALID_PARAMETERS = { code: -1, msg: "参数错误", data: "" };

/** Expects `act` to be accepted and to add exactly the route's rows, and the rows in `also`. */
export async function expectAccepted(
  world: World,
  route: SignedRoute,
  act: () => Promise<Answer>,
  also: Rows = {},
): Promise<void> {
  const before = await world.stored();
  const { status, envelope } = await act();
  expect({ status, code: envelope.code, msg: envelope.msg }).toEqual({ status: 200, code: 1, msg: "ok" });
  expectAdded(route, before, await world.stored(), also);
}

/** Expects that the store has the rows of one more accepted request. If those rows are not known, the store must only differ. */
export function expectAdded({ operation, adds }: SignedRoute, before: Stored, after: Stored, also: Rows = {}): void {
  const addedRows = rowsAdded(before, after);
  const expected = Object.fromEntries(Object.entries({ nonces: 1, ...adds, ...also }).filter(([, rows]) => rows !== 0));
  if (adds !== undefined) {
    expect(addedRows).toEqual(expected);
    return;
  }
  expect(addedRows).toMatchObject(expected);
  const ownRows = ({ nonces: _, keys: __, ...own }: Stored) => own;
  expect(ownRows(after), `${operation} changes nothing but its nonce`).not.toEqual(ownRows(before));
}

/** Expects `act` to be answered with 401 and to change nothing in the store. */
export async function expectTokenInvalid(world: World, act: () => Promise<Answer>): Promise<Answer> {
  return expectUnwritten(world, async () => {
    const answer = await act();
    expect({ status: answer.status, envelope: answer.envelope }).toEqual({ status: 401, envelope: TOKEN_INVALID });
    return answer;
  });
}

/** Expects `act` to change no row of the world's site and app. */
export async function expectUnwritten<Result>(world: World, act: () => Promise<Result>): Promise<Result> {
  const before = await world.stored();
  const result = await act();
  expect(await world.stored()).toEqual(before);
  return result;
}

/** The number of added rows, by table, without unchanged tables. */
export function rowsAdded(before: Stored, after: Stored): Rows {
  const counts = Object.entries(after).map(([table, rows]) => [
    table,
    rows.length - before[table as keyof Stored].length,
  ]);
  return Object.fromEntries(counts.filter(([, rows]) => rows !== 0));
}
