import { describe, expect, it } from "vitest";
import { isAtLeast, ROLES, type Role } from "../../../src/operators/access/role.ts";
import type { AdminCall } from "../../../src/operators/admin/admin-call.ts";
import { ADMIN_CALLS } from "../../../src/operators/admin/calls.ts";
import { CALLS, prepared, read } from "../../support/admin-calls.ts";
import { newToken } from "../../support/new-token.ts";
import { World } from "../../support/world.ts";

/** A token for a call about the site of `world`. */
interface Caller {
  name: string;
  role: Role;
  /** The site of a token of one site: that of the call, or another. Undefined for a token of all sites. */
  of?: "this site" | "another site";
}

const CALLERS: Caller[] = [
  ...ROLES.map((role) => ({ name: `a ${role}`, role })),
  ...(["viewer", "operator"] as const).flatMap((role) => [
    { name: `a ${role} of this site`, role, of: "this site" as const },
    { name: `a ${role} of another site`, role, of: "another site" as const },
  ]),
];

/** The answer that the declaration promises: 404 by scope first, then 403; undefined when the call is allowed. */
function refusalOf(
  { role, scope, id }: Pick<AdminCall, "role" | "scope" | "id">,
  caller: Caller,
): 403 | 404 | undefined {
  if (caller.of !== undefined && scope === "deployment") return 403;
  if (caller.of === "another site" && (scope === "site" || scope === "app" || id === "findRefusal")) return 404;
  return role === "anyone" || isAtLeast(caller.role, role) ? undefined : 403;
}

/** The calls that owners only, or tokens of all sites only, may make: docs/operating/people.md, "Who may". */
const OWNERS_CALLS =
  "addPerson createToken deleteSite deleteToken endPerson eraseCustomer exportCustomer exportSite listPeople listTokens resealSecrets settleRestoredHome";
const DEPLOYMENTS_CALLS =
  "addPerson createSite createToken deleteToken endPerson listDivergentApps listHomes listPeople listTokens readMetrics resealSecrets settleRestoredHome";

describe("the declared roles of the calls", () => {
  const idsWhere = (is: (call: AdminCall) => boolean) =>
    (ADMIN_CALLS as readonly AdminCall[])
      .filter(is)
      .map(({ id }) => id)
      .sort();

  it("only owners may make the listed calls; viewers may read, operators may change, scrapers may read metrics", () => {
    expect(idsWhere(({ role }) => role === "owner")).toEqual(OWNERS_CALLS.split(" "));
    expect(idsWhere(({ role }) => role === "metrics")).toEqual(["readMetrics"]);
    expect(idsWhere(({ role, method }) => role === "viewer" && method !== "get")).toEqual([]);
    expect(idsWhere(({ role, method }) => role === "operator" && method === "get")).toEqual([]);
    expect(idsWhere(({ role }) => role === "anyone")).toEqual([]);
  });

  it("a token of one site may make no call about the deployment, and gets its own part of three lists", () => {
    expect(idsWhere(({ scope }) => scope === "deployment")).toEqual(
      expect.arrayContaining(DEPLOYMENTS_CALLS.split(" ")),
    );
    expect(idsWhere(({ scope }) => scope === "sites")).toEqual(["findRefusal", "listAuditLog", "listSites"]);
  });
});

async function tokenOf(world: World, { role, of }: Caller): Promise<string> {
  if (of === undefined) return (await newToken({ role })).token;
  const { siteId } = of === "this site" ? world : await World.create();
  return (await newToken({ role, siteId })).token;
}

const send = (world: World, call: (typeof CALLS)[number], token: string, path = call.path(world)) => {
  const { method, body } = call;
  return world.fetch(
    new Request(`http://worker${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
};

describe.each(CALLERS)("$name", (caller) => {
  it("each role gets from every call what the call declares, and a refused call changes nothing", async () => {
    const world = await prepared(await World.create());
    const token = await tokenOf(world, caller);
    const before = await world.operated();
    for (const call of CALLS.filter((each) => refusalOf(each, caller) !== undefined)) {
      const status = refusalOf(call, caller);
      const reason = caller.of !== undefined && call.scope === "deployment" ? "token_of_one_site" : "role_too_low";
      const { status: actual, body } = await read(await send(world, call, token));
      expect([call.name, actual]).toEqual([call.name, status]);
      expect(body).toMatchObject({
        type: "about:blank",
        status,
        ...(status === 403 && { title: "Forbidden", reason }),
      });
    }
    expect(await world.operated()).toEqual(before);
    // test/operators/access/person-role.test.ts shows that a higher role may do all that a lower one may.
    const own = CALLS.filter(({ method, role }) => method === "GET" || role === caller.role);
    for (const call of own.filter((each) => refusalOf(each, caller) === undefined)) {
      await call.before?.(world);
      const { status, body } = await read(await send(world, call, token));
      expect([call.name, status, body]).toEqual([call.name, expect.toSatisfy((each) => each < 400), body]);
    }
  });
});

describe("a token with the role metrics", () => {
  it("a token with the role metrics gets the same 403 for an existing and an unknown site", async () => {
    const world = await prepared(await World.create());
    const { token } = await newToken({ role: "metrics" });
    for (const call of CALLS.filter(({ scope }) => scope === "site" || scope === "app")) {
      const unknownPath = call.path(world, { site_id: "987654321", appid: "nobodys" });
      const [not, there] = [await send(world, call, token, unknownPath), await send(world, call, token)];
      expect([call.name, not.status, (await read(there)).body]).toEqual([call.name, 403, (await read(not)).body]);
    }
  });
});

describe("a token of one site", () => {
  it("a token of one site gets the same 404 for another site's things as for unknown ones", async () => {
    const world = await prepared(await World.create());
    const token = await tokenOf(world, { name: "a stranger", role: "operator", of: "another site" });
    for (const call of CALLS.filter(({ scope }) => scope === "site" || scope === "app")) {
      const unknownPath = call.path(world, { site_id: "987654321", appid: "nobodys" });
      const not = await read(await send(world, call, token, unknownPath));
      const there = await read(await send(world, call, token));
      expect([call.name, there.status, there.body]).toEqual([call.name, 404, not.body]);
    }
  });

  it("a token of one site lists only that site, whatever the cursor", async () => {
    const [ownWorld, other] = [await World.create(), await World.create()];
    const { token } = await newToken({ role: "viewer", siteId: ownWorld.siteId });
    const list = async (query: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await ownWorld.fetch(new Request(`http://worker/admin/sites${query}`, { headers }));
      return ((await answer.json()) as { items: { id: number }[] }).items.map(({ id }) => id);
    };
    expect(await list("")).toEqual([ownWorld.siteId]);
    expect(await list("?limit=1&cursor=0")).toEqual([ownWorld.siteId]);
    expect(await list(`?cursor=${ownWorld.siteId}`)).toEqual([]);
    expect(await list(`?cursor=${other.siteId - 1}`)).toEqual([]);
  });

  it("a token of one site does not find a refused call of another site by its id, in any home", async () => {
    for (const home of ["main", "apac"]) {
      const other = await prepared(await World.create({}, home));
      const ownWorld = await prepared(await World.create());
      const { token } = await newToken({ role: "operator", siteId: ownWorld.siteId });
      const find = CALLS.find(({ id }) => id === "findRefusal") as (typeof CALLS)[number];
      expect((await send(ownWorld, find, token, find.path(ownWorld))).status).toBe(200);
      const { status, body } = await read(await send(ownWorld, find, token, find.path(other)));
      const unknown = await read(
        await send(ownWorld, find, token, find.path(other, { request_id: "01a3185c-5000-7000-8000-ffffffffffff" })),
      );
      expect([status, body]).toEqual([404, unknown.body]);
    }
  });
});
