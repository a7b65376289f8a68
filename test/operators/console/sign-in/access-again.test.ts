import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { prune } from "../../../../src/operators/store/pruning/prune.ts";
import { CALL_RULES } from "../../../../src/operators/usage/call-rules.ts";
import { accessWorld, assertionFor, PEOPLE } from "../../../support/access-world.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { runtimeAt } from "../../../support/test-runtime.ts";

afterEach(() => void vi.unstubAllGlobals());

const HEADER = "cf-access-jwt-assertion";
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** The same assertion in other letters. The last digit of an RS256 signature has four bits that no decoder reads. */
const sameAssertion = (assertion: string, by = 1) =>
  assertion.slice(0, -1) + DIGITS[DIGITS.indexOf(assertion.at(-1) ?? "") ^ by];

describe("an assertion whose session was ended", () => {
  it.each<[string, (assertion: string) => string]>([
    ["with another unused bit in its last digit", sameAssertion],
    ["with padding", (assertion) => `${assertion}==`],
    ["with a blank inside the signature", (assertion) => `${assertion.slice(0, -8)} ${assertion.slice(-8)}`],
  ])("an Access assertion whose session was ended stays refused, also %s", async (_, change) => {
    const world = await accessWorld();
    const assertion = await assertionFor(PEOPLE.owner);
    const person = new ConsoleVisitor(world, { [HEADER]: assertion });
    await person.submit(await person.open("/console"), "Sign out");
    expect((await person.get("/console")).status).toBe(401);
    const visitorAgain = new ConsoleVisitor(world, { [HEADER]: change(assertion) });
    expect((await visitorAgain.get("/console")).status).toBe(401);
  });
});

describe("a form of a session by Access", () => {
  it("a person signed in by Access cannot do the same form twice, as long as the session lives", async () => {
    const world = await accessWorld();
    const assertion = await assertionFor(PEOPLE.owner); // 24 hours, as Access does by default
    const person = new ConsoleVisitor(world, { [HEADER]: assertion });
    const page = await person.open("/console/tokens");
    const fill = { Name: `Once ${world.siteId}`, Role: "viewer" };
    expect((await person.submit(page, "Make the token", fill)).status).toBe(200);
    expect((await person.submit(page, "Make the token", fill)).status).toBe(303);
    world.clock.now += 43_201;
    await prune(
      runtimeAt(() => world.clock.now * 1000),
      {
        directory: env.DB,
        homes: new Map([["main", env.DB]]),
        closedHomes: new Set<string>(),
        eventRetentionDays: 30,
        journalDays: 30,
        auditDays: 730,
        sessionEventTypes: [],
        callRules: CALL_RULES,
      },
      world.clock.now,
    );
    expect((await person.submit(page, "Make the token", fill)).status).toBe(303);
    const tokenCount = await env.DB.prepare("SELECT count(*) AS n FROM admin_tokens WHERE name = ?")
      .bind(fill.Name)
      .first<number>("n");
    expect(tokenCount).toBe(1);
  });
});

describe("CONSOLE_SIGN_IN = both", () => {
  it("with CONSOLE_SIGN_IN = both, a person who comes through Access may sign in with the admin token", async () => {
    const world = await accessWorld();
    const person = new ConsoleVisitor(world, { [HEADER]: await assertionFor(PEOPLE.viewer) });
    const page = await person.get("/console/sign-in");
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('name="token"');
  });
});

describe("an assertion that comes again", () => {
  it("an Access assertion that comes again after its session was ended leaves an audit row", async () => {
    const world = await accessWorld();
    const person = new ConsoleVisitor(world, { [HEADER]: await assertionFor(PEOPLE.owner) });
    await person.submit(await person.open("/console"), "Sign out");
    const newest = await env.DB.prepare("SELECT max(id) AS id FROM audit_log").first<number>("id");
    expect((await person.get("/console/tokens")).status).toBe(401);
    const rows = await env.DB.prepare("SELECT action FROM audit_log WHERE id > ?").bind(newest).all();
    expect(rows.results).toEqual([{ action: "operator.refused" }]);
  });

  it("an Access assertion is refused when its session is ended while the request opens it", async () => {
    const world = await accessWorld();
    const assertion = await assertionFor(PEOPLE.owner);
    const real = world.env.DB as D1Database;
    const other = new ConsoleVisitor(world.anotherIsolate(), { [HEADER]: assertion });
    let hasRaced = false;
    const slow = new Proxy(real, {
      get(target, name) {
        if (name === "batch") {
          return async (statements: D1PreparedStatement[]) => {
            if (!hasRaced) {
              hasRaced = true;
              await other.submit(await other.open("/console"), "Sign out");
            }
            return target.batch(statements);
          };
        }
        const value = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    world.env.DB = slow;
    expect((await new ConsoleVisitor(world, { [HEADER]: assertion }).get("/console")).status).toBe(401);
  });
});

describe("CONSOLE_SIGN_IN = access", () => {
  it("with CONSOLE_SIGN_IN = access, the console does not promise to bring back a sent form", async () => {
    const world = await accessWorld({ CONSOLE_SIGN_IN: "access" } as never);
    const assertion = await assertionFor(PEOPLE.owner);
    const person = new ConsoleVisitor(world, { [HEADER]: assertion });
    await person.submit(await person.open("/console"), "Sign out");
    const answer = await person.post("/console/sites", { name: "A long name" });
    const text = await answer.text();
    expect(answer.status).toBe(401);
    expect(text).not.toContain("what you entered comes back in its form");
  });
});

describe("a viewer by Access", () => {
  it("a viewer signed in by Access can post no form of a higher role, not even a draft", async () => {
    const world = await accessWorld();
    const viewer = new ConsoleVisitor(world, { [HEADER]: await assertionFor(PEOPLE.viewer) });
    for (const path of [
      "/console/tokens",
      "/console/tokens?draft=1",
      `/console/sites/${world.siteId}/close`,
      `/console/sites/${world.siteId}/apps/${world.appid}/rotate?draft=1`,
      "/console/%74okens",
      `/console/sites/${world.siteId}/apps/${world.appid}/secret`,
    ]) {
      const answer = await viewer.post(path, { name: "x", role: "owner", form: "x.y" });
      expect([path, answer.status]).toEqual([path, path.endsWith("/secret") ? 404 : 403]);
    }
    expect((await viewer.get(`/console/sites/${world.siteId}/apps/${world.appid}/secret?ticket=1.2`)).status).toBe(403);
  });
});

describe("the assertion header given twice", () => {
  it("two Access assertions in one request sign nobody in", async () => {
    const world = await accessWorld();
    const assertion = await assertionFor(PEOPLE.owner);
    const headers = new Headers({ [HEADER]: assertion });
    headers.append(HEADER, assertion);
    expect((await world.fetch(new Request("https://worker/console", { headers }))).status).toBe(401);
  });
});

describe("without a usable ADMIN_TOKEN", () => {
  it("the console tells a person who comes through Access when ADMIN_TOKEN is not usable", async () => {
    const world = await accessWorld({ CONSOLE_SIGN_IN: "access", ADMIN_TOKEN: undefined } as never);
    const person = new ConsoleVisitor(world, { [HEADER]: await assertionFor(PEOPLE.owner) });
    const text = await (await person.get("/console")).text();
    expect(text).not.toContain("You did not come through Cloudflare Access");
    expect(text).toContain("ADMIN_TOKEN");
  });
});
