import { env } from "cloudflare:workers";

/** The two homes of the tests' deployment. */
export const databaseOf = (home: string): D1Database => (home === "apac" ? env.HOME_APAC : env.DB);
