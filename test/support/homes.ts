import { env } from "cloudflare:workers";

/** The tests' deployment has two homes. */
export const databaseOf = (home: string): D1Database => (home === "apac" ? env.HOME_APAC : env.DB);
