export const PERSON_ROLES = ["viewer", "operator", "owner"] as const;
export type PersonRole = (typeof PERSON_ROLES)[number];

/** All roles. The first is for the token of a scraper, and no person has it. */
export const ROLES = ["metrics", ...PERSON_ROLES] as const;

/** Each role may do everything that the roles before it may do. */
export type Role = (typeof ROLES)[number];

/** Whether a role is enough for a call that needs the role `neededRole`. */
export const isAtLeast = (role: Role, neededRole: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(neededRole);
