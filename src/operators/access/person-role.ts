import { PERSON_ROLES, type PersonRole } from "./role.ts";

/** For each role the entries of its list: e-mail addresses and `*@domain`, in small letters. */
export type RoleLists = Readonly<Record<PersonRole, readonly string[]>>;

/** The setting that lists the people of a role. */
export const SETTING_OF_ROLE = {
  viewer: "CONSOLE_VIEWERS",
  operator: "CONSOLE_OPERATORS",
  owner: "CONSOLE_OWNERS",
} as const;

/** One `@`, with something on both sides. `*` stands for all people of a domain, so it is no part of an address. */
const ADDRESS = /^[^\s@*,]+@[^\s@*,]+$/;
const DOMAIN = /^\*@[^\s@*,]+$/;

/**
 * An e-mail address in the form that is compared and shown; undefined when the text is no address. Only ASCII letters become small:
 * `toLowerCase()` turns the Kelvin sign into `k`, so two different addresses would be the same person.
 */
export function plainEmail(text: string): string | undefined {
  const email = smallLetters(text.trim());
  return ADDRESS.test(email) ? email : undefined;
}

/** The entries of a list: separated by commas, with any blanks around them. `unusable` counts entries of a wrong form. */
export function readRoleList(value = ""): { entries: string[]; unusable: number } {
  const emails = value
    .split(",")
    .map((entry) => smallLetters(entry.trim()))
    .filter((entry) => entry !== "");
  const entries = emails.filter((entry) => ADDRESS.test(entry) || DOMAIN.test(entry));
  return { entries, unusable: emails.length - entries.length };
}

/** The highest role whose list has the address or its whole domain. An address of a subdomain is not of the domain. */
export function roleOfEmail(lists: RoleLists, email: string): PersonRole | undefined {
  const plain = plainEmail(email);
  if (plain === undefined) return undefined;
  const everybody = `*${plain.slice(plain.indexOf("@"))}`;
  return PERSON_ROLES.findLast((role) => lists[role].includes(plain) || lists[role].includes(everybody));
}

const smallLetters = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
