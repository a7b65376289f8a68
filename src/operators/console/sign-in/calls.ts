import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { getSignIn, postLanguage, postSignIn, postSignOut } from "./sign-in-pages.tsx";

const ANYONE = { role: "anyone", scope: "deployment" } as const;

export const SIGN_IN_CALLS: ConsoleCall[] = [
  call({ ...ANYONE, method: "get", path: "/sign-in", audit: [] }, getSignIn),
  call({ ...ANYONE, method: "post", path: "/sign-in", audit: ["operator.signed_in", "operator.refused"] }, postSignIn),
  call({ ...ANYONE, method: "post", path: "/sign-out", audit: ["operator.signed_out"] }, postSignOut),
  call({ ...ANYONE, method: "post", path: "/language", audit: [], changesNothing: "It sets a cookie." }, postLanguage),
];
