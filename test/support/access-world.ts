import { vi } from "vitest";
import { AUDIENCE, assertionOf, newTeamKey, showing, type TeamKey } from "./access-team.ts";
import { ConsoleVisitor } from "./console-visitor.ts";
import { type Replacements, World } from "./world.ts";

let key: Promise<TeamKey> | undefined;
/** The team's key, made once. */
const teamKey = (): Promise<TeamKey> => (key ??= newTeamKey("team"));

/** Who may do what in {@link accessBindings}. */
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
} as unknown as Replacements;

/** Lets the team's certs endpoint answer, until the test's globals are restored. Other addresses answer as before. */
async function showTeamKey(): Promise<void> {
  const shown = await teamKey();
  const real = globalThis.fetch;
  vi.stubGlobal("fetch", async (...given: Parameters<typeof fetch>) =>
    given[0] === CERTS_URL ? showing(shown) : real(...given),
  );
}

/** A site whose operators sign in by Access. */
export async function accessWorld(bindings: Replacements = {}): Promise<World> {
  await showTeamKey();
  return World.create({ ...accessBindings, ...bindings });
}

const CERTS_URL = "https://shop.cloudflareaccess.com/cdn-cgi/access/certs";

let sessions = 0;

/** An assertion as Access gives it to a person for one session: no two are equal. */
export async function assertionFor(email: string, claims: Record<string, unknown> = {}): Promise<string> {
  sessions += 1;
  return assertionOf(await teamKey(), { email, identity_nonce: `session ${sessions}`, ...claims });
}

/** A person of Access who is signed in to the console of a world with a role, in an isolate of their own. */
export async function visitorWithRole(
  world: World,
  role: keyof typeof PEOPLE,
  name = `${role}@example.com`,
): Promise<ConsoleVisitor> {
  await showTeamKey();
  const lists = { CONSOLE_OWNERS: "", CONSOLE_OPERATORS: "", CONSOLE_VIEWERS: "" };
  const theirs = { owner: "CONSOLE_OWNERS", operator: "CONSOLE_OPERATORS", viewer: "CONSOLE_VIEWERS" }[role];
  const bindings = { ...accessBindings, ...lists, [theirs]: name } as Replacements;
  const visitor = await personAt(world.anotherIsolate(bindings), name);
  await visitor.get("/console/sign-in");
  return visitor;
}

/** The browser of a person who came through Access: each of its requests carries the same assertion. */
export async function personAt(world: World, email: string): Promise<ConsoleVisitor> {
  return new ConsoleVisitor(world, { "cf-access-jwt-assertion": await assertionFor(email) });
}
