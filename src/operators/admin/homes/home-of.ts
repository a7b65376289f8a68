import { noteHome } from "../../http/context.ts";
import type { AdminContext } from "../env.ts";

/** The home that the path names, even if it does not exist. The log and the text of a fault name it too. */
export function homeOf(c: AdminContext): string {
  const home = c.req.param("name") ?? "";
  noteHome(c, home);
  return home;
}
