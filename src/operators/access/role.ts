export const ROLES = ["viewer", "operator", "owner"] as const;

/** What an operator may do. Each role may do what those before it may. */
export type Role = (typeof ROLES)[number];

/** Whether a role may do what needs another. */
export const isAtLeast = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed);
