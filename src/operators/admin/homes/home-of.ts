import { noteHome } from "../../http/context.ts";
import type { AdminContext } from "../env.ts";

/** The home that the path names, which may not exist. The log and the text of an error name it too. */
export function homeOf(c: AdminContext): string {
  const home = c.req.param("name") ?? "";
  noteHome(c, home);
  return home;
}
