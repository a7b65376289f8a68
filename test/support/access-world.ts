import { vi } from "vitest";
import { AUDIENCE, assertionOf, keysResponse, newTeamKey, type TeamKey } from "./access-team.ts";
import { ConsoleVisitor } from "./console-visitor.ts";
import { type ReplacedBindings, World } from "./world.ts";

let key: Promise<TeamKey> | undefined;
const teamKey = (): Promise<TeamKey> => (key ??= newTeamKey("team"));

/** The persons in {@link accessBindings}, by what they may do. */
export const PEOPLE = {
  owner: "ada@example.com",
  operator: "bo@example.com",
  viewer: "cy@guests.example",
} as const;

const accessBindings = {
  CONSOLE_SIGN_IN: "both",
  ACCESS_TEAM_DOMAIN: "shop.cloudflareaccess.com",
  ACCESS_AUD: AUDIENCE,
  CONSOLE_OWNERS: PEOPLE.owner,
  CONSOLE_OPERATORS: `Bo@Example.com, ${PEOPLE.owner}`,
  CONSOLE_VIEWERS: "*@guests.example",
} as unknown as ReplacedBindings;

/** Replaces `fetch`, so that the team's certs endpoint answers. Other addresses answer as before. */
async function showTeamKey(): Promise<void> {
  const key = await teamKey();
  const real = globalThis.fetch;
  vi.stubGlobal("fetch", async (...args: Parameters<typeof fetch>) =>
    args[0] === CERTS_URL ? keysResponse(key) : real(...args),
  );
}

export async function accessWorld(bindings: ReplacedBindings = {}): Promise<World> {
  await showTeamKey();
  return World.create({ ...accessBindings, ...bindings });
}

const CERTS_URL = "https://shop.cloudflareaccess.com/cdn-cgi/access/certs";

let sessions = 0;

/** An assertion that Access gives a person for one session. No two assertions are equal. */
export async function assertionFor(email: string, claims: Record<string, unknown> = {}): Promise<string> {
  sessions += 1;
  return assertionOf(await teamKey(), { email, identity_nonce: `session ${sessions}`, ...claims });
}

/** A person with this role who is signed in to the console by Access, in an isolate of their own. */
export async function visitorWithRole(
  world: World,
  role: keyof typeof PEOPLE,
  name = `${role}@example.com`,
): Promise<ConsoleVisitor> {
  await showTeamKey();
  const lists = { CONSOLE_OWNERS: "", CONSOLE_OPERATORS: "", CONSOLE_VIEWERS: "" };
  const list = { owner: "CONSOLE_OWNERS", operator: "CONSOLE_OPERATORS", viewer: "CONSOLE_VIEWERS" }[role];
  const bindings = { ...accessBindings, ...lists, [list]: name } as ReplacedBindings;
  const visitor = await personAt(world.anotherIsolate(bindings), name);
  await visitor.get("/console/sign-in");
  return visitor;
}

/** The browser of a person who came through Access: each of its requests carries the same assertion. */
export async function personAt(world: World, email: string): Promise<ConsoleVisitor> {
  return new ConsoleVisitor(world, { "cf-access-jwt-assertion": await assertionFor(email) });
}
