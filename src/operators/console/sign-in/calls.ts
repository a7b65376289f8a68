import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { getSignIn, postLanguage, postSignIn, postSignOut } from "./sign-in-pages.tsx";

export const SIGN_IN_CALLS: ConsoleCall[] = [
  page("anyone", "/sign-in", getSignIn),
  form("anyone", "/sign-in", ["operator.signed_in", "operator.refused"], postSignIn),
  form("anyone", "/sign-out", ["operator.signed_out"], postSignOut),
  form("anyone", "/language", "It sets a cookie.", postLanguage),
];
