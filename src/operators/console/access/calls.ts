import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { accessPage, postEndSession } from "./access-page.tsx";

const OWN = { scope: "own" } as const;

export const ACCESS_CALLS: ConsoleCall[] = [
  page("viewer", "/access", accessPage, OWN),
  form("viewer", "/access/:session/end", ["operator.session_ended", "operator.signed_out"], postEndSession, OWN),
];
