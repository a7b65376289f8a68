import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { homesPage } from "./homes-page.tsx";
import { postRestored, restoredPage } from "./restored-home.tsx";

export const HOMES_CALLS: ConsoleCall[] = [
  page("viewer", "/homes", homesPage),
  page("owner", "/homes/:name/restored", restoredPage),
  form("owner", "/homes/:name/restored", ["home.restored", "customer.erased", "site.deletion_begun"], postRestored),
];
