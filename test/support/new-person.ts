import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/d1";
import { systemRuntime } from "../../src/core/runtime.ts";
import { newTokenText } from "../../src/operators/access/token-text.ts";
import { sha256 } from "../../src/operators/services/digests.ts";
import { personIdOf } from "../../src/operators/services/people.ts";
import type { PersonRow } from "../../src/operators/store/directory/people.ts";
import { people } from "../../src/operators/store/operator-schema.ts";
import { ConsoleVisitor } from "./console-visitor.ts";
import { NOW } from "./test-runtime.ts";
import type { World } from "./world.ts";

/**
 * Stores a person, by default an operator of all sites with a token. If `change` has an `id` or an `email`, the returned token is not
 * valid.
 *
 * @returns the token and the person's id
 */
export async function newPerson(change: Partial<PersonRow> = {}): Promise<{ token: string; id: string }> {
  const token = newTokenText(systemRuntime, "person");
  const hash = await sha256(token);
  const way = change.email ? { email: change.email, name: null, hash: null } : { email: null, name: "Mei", hash };
  const row: PersonRow = {
    id: personIdOf(hash),
    ...way,
    role: "operator",
    siteId: null,
    createdAt: NOW,
    expiresAt: null,
    lastUsedAt: null,
    deletedAt: null,
    ...change,
  };
  await drizzle(env.DB).insert(people).values(row);
  return { token, id: row.id };
}

/** The browser of a new person who is signed in with their token. */
export async function signedInPerson(
  world: Pick<World, "fetch">,
  change: Partial<PersonRow> = {},
): Promise<{ visitor: ConsoleVisitor; token: string; id: string }> {
  const person = await newPerson(change);
  const visitor = new ConsoleVisitor(world);
  const answer = await visitor.post("/console/sign-in", { token: person.token });
  if (answer.status !== 303) throw new Error(`sign-in was refused: ${answer.status}`);
  return { visitor, ...person };
}
