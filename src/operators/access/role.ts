/** The roles of people. */
export const PERSON_ROLES = ["viewer", "operator", "owner"] as const;
export type PersonRole = (typeof PERSON_ROLES)[number];

/** All roles. The first is for the token of a scraper, and no person has it. */
export const ROLES = ["metrics", ...PERSON_ROLES] as const;

/** What an operator may do. Each role may do what those before it may. */
export type Role = (typeof ROLES)[number];

/** Whether a role may do what needs another. */
export const isAtLeast = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed);
