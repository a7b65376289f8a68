import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { accessPage, postEndSession } from "./access-page.tsx";

const OWN = { role: "viewer", scope: "deployment" } as const;

export const ACCESS_CALLS: ConsoleCall[] = [
  call({ ...OWN, method: "get", path: "/access", audit: [] }, accessPage),
  call(
    {
      ...OWN,
      method: "post",
      path: "/access/:session/end",
      audit: ["operator.session_ended", "operator.signed_out"],
    },
    postEndSession,
  ),
];
