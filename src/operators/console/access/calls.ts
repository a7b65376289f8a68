import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { accessPage, postEndSession } from "./access-page.tsx";

export const ACCESS_CALLS: ConsoleCall[] = [
  page("viewer", "/access", accessPage),
  form("viewer", "/access/:session/end", ["operator.session_ended", "operator.signed_out"], postEndSession),
];
