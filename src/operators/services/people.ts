import * as z from "zod/mini";
import { invalidInput } from "../../core/errors.ts";
import { text, UNSEEN_CHARACTERS } from "../../core/fields.ts";
import { plainEmail, roleOfEmail, SETTING_OF_ROLE } from "../access/person-role.ts";
import { isAtLeast, PERSON_ROLES, type PersonRole } from "../access/role.ts";
import { newTokenText } from "../access/token-text.ts";
import {
  insertPerson,
  nameOfPerson,
  type PersonRow,
  selectPeople,
  selectPersonById,
  selectUsablePeople,
  updatePersonEnded,
  updatePersonUsed,
} from "../store/directory/people.ts";
import { sha256 } from "./digests.ts";
import { fitsOneSite, type Grant, grantFields, newGrant } from "./grants.ts";
import type { Identity } from "./identity.ts";
import { afterPerson, type Page, type PageInput, pageOf } from "./page.ts";
import { personTaken, personUnknown } from "./refusals.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";
import { hourOf, writeLater } from "./sign-in-log.ts";
import { operatorName } from "./token-names.ts";

/** A person as lists show them. Either `email` or `name` is null. Times are Unix seconds. */
export type Person = Omit<PersonRow, "hash" | "deletedAt">;

const EMAIL_RULE = "must be one e-mail address such as ada@example.com, without characters that nobody sees";
const ONE_OF_TWO = "give either an e-mail address or a name";

const isEmail = (value: string): boolean =>
  plainEmail(value) !== undefined && value.trim().search(UNSEEN_CHARACTERS) === -1;

type EmailOrName = { email?: string | undefined; name?: string | undefined };
const hasOne = ({ email, name }: EmailOrName): boolean => (email === undefined) !== (name === undefined);

/** Body of POST /admin/people. */
export const newPersonSchema = z
  .strictObject({
    email: z.optional(text(3, 320, EMAIL_RULE).check(z.refine(isEmail, EMAIL_RULE))),
    name: z.optional(operatorName),
    role: z.enum(PERSON_ROLES, `must be ${PERSON_ROLES.join(" or ")}`),
    ...grantFields,
  })
  .check(
    z.refine(hasOne, { error: ONE_OF_TWO, path: ["email"] }),
    z.refine(hasOne, { error: ONE_OF_TWO, path: ["name"] }),
    fitsOneSite("a person"),
  );

interface NewPerson extends EmailOrName, Grant {
  role: PersonRole;
}

/** The id of a person with a token: half of the token's hash. @param hash in hex */
export const personIdOf = (hash: string): string => `per_${hash.slice(0, 32)}`;

/**
 * Lets somebody into the console: who comes by Cloudflare Access, by the e-mail address; anybody else by a token of their own.
 *
 * @returns with a name also the token's text, which no later answer shows
 * @throws ServiceError `invalid_input` for an unknown site, and for a way that CONSOLE_SIGN_IN does not have; `conflict` for an address
 *   that has a row
 */
export async function addPerson(ctx: ServiceContext, input: NewPerson): Promise<Person & { token?: string }> {
  const { runtime, config } = ctx;
  const { name = null, role } = input;
  const email = plainEmail(input.email ?? "") ?? null;
  checkWayIn(ctx, input);
  const grant = await newGrant(ctx, input);
  const token = email === null ? newTokenText(runtime, "person") : undefined;
  const hash = token === undefined ? null : await sha256(token);
  const id = hash === null ? `per_${runtime.bytes(16).toHex()}` : personIdOf(hash);
  const row = { id, email, name, role, ...grant };
  const storedId = await insertPerson(runtime, config.directory, { ...row, hash, deletedAt: null }, authorOf(ctx));
  if (storedId !== id) throw personTaken(storedId);
  return { ...row, ...(token !== undefined && { token }) };
}

/** Why nobody can come in by an e-mail address, or by a token of their own; undefined when they can. */
export const noWayIn = ({ config: { signIn } }: Pick<ServiceContext, "config">) => ({
  email: signIn === "token" ? "nobody comes by Cloudflare Access: CONSOLE_SIGN_IN is token" : undefined,
  name: signIn === "access" ? "nobody comes in with a token: CONSOLE_SIGN_IN is access" : undefined,
});

function checkWayIn(ctx: ServiceContext, { email }: EmailOrName): void {
  const field = email === undefined ? "name" : "email";
  const message = noWayIn(ctx)[field];
  if (message !== undefined) throw invalidInput([{ field, message }]);
}

/** A page of all people who were let in, expired ones too, by id. @throws ServiceError `invalid_input` for a malformed cursor */
export async function listPeople({ config }: ServiceContext, input: PageInput): Promise<Page<Person>> {
  const rows = await selectPeople(config.directory, afterPerson(input), input.limit + 1);
  return pageOf(rows.map(publicPerson), input.limit, ({ id }) => id);
}

/** Whom the settings let in by Cloudflare Access, owners first: the entry, its role, and the setting that has it. */
export const listNamed = ({ config: { access } }: Pick<ServiceContext, "config">) =>
  PERSON_ROLES.toReversed().flatMap((role) =>
    (access?.roles[role] ?? []).map((entry) => ({ entry, role, setting: SETTING_OF_ROLE[role] })),
  );

/** The role that the settings give an e-mail address. */
export const roleInSettings = (
  { config: { access } }: Pick<ServiceContext, "config">,
  email: string | null,
): PersonRole | undefined => (access && email !== null ? roleOfEmail(access.roles, email) : undefined);

const publicPerson = ({ hash: _, deletedAt: _deleted, ...person }: PersonRow): Person => person;

/** How many people {@link listUsablePeople} returns at most. */
export const MOST_USABLE_PEOPLE = 1_000;

/** The people who may come in now, owners first. An operator reads them to see whom a restore has brought back. */
export async function listUsablePeople({ config, now }: ServiceContext): Promise<Person[]> {
  return (await selectUsablePeople(config.directory, now, MOST_USABLE_PEOPLE)).map(publicPerson);
}

/** Whether a person is an owner, and nobody else who may come in is one. */
export async function isLastOwner(ctx: ServiceContext, { id, role }: Person): Promise<boolean> {
  if (role !== "owner" || listNamed(ctx).some((named) => named.role === "owner")) return false;
  const owners = (await listUsablePeople(ctx)).filter((other) => other.role === "owner" && other.id !== id);
  const closedWays = noWayIn(ctx);
  return owners.every(({ email }) => closedWays[email === null ? "name" : "email"] !== undefined);
}

/** @throws ServiceError `not_found` */
export async function findPerson({ runtime, config }: ServiceContext, { id }: { id: string }): Promise<Person> {
  const row = await selectPersonById(runtime, config.directory, id);
  if (row === undefined) throw personUnknown();
  return publicPerson(row);
}

/** Ends a person's access and their open sessions: from the next request on they are signed out. @throws ServiceError `not_found` */
export async function endPerson(ctx: ServiceContext, { id }: { id: string }): Promise<void> {
  const { runtime, config } = ctx;
  if (!(await updatePersonEnded(runtime, config.directory, id, authorOf(ctx)))) throw personUnknown();
}

/** Who a person is, and what their row lets them do. */
export const identityOfPerson = (person: Person): Identity => ({
  who: { kind: "person", id: nameOfPerson(person), name: person.email ?? person.name ?? person.id },
  role: person.role,
  onlySite: person.siteId ?? undefined,
});

/**
 * What an e-mail address may do that the settings and a row name: the higher role counts. At the same role all sites count before one
 * site, and the settings name no site.
 *
 * @param role of the settings
 */
export function higherAccess(
  email: string,
  role: PersonRole | undefined,
  person: Person | undefined,
): Identity | undefined {
  if (role !== undefined && (person === undefined || isAtLeast(role, person.role)))
    return { who: { kind: "person", id: email, name: email }, role, onlySite: undefined };
  return person && identityOfPerson(person);
}

/** Notes a person's visit, once an hour. */
export function notePersonUse(ctx: ServiceContext, { id, lastUsedAt }: Person): void {
  const hour = hourOf(ctx.now);
  if ((lastUsedAt ?? 0) < hour) writeLater(ctx, () => updatePersonUsed(ctx.config.directory, id, hour));
}
