import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { accessPage, postEndSession } from "./access-page.tsx";

const VIEWER_OF_DEPLOYMENT = { role: "viewer", scope: "deployment" } as const;

export const ACCESS_CALLS: ConsoleCall[] = [
  call({ ...VIEWER_OF_DEPLOYMENT, method: "get", path: "/access", audit: [] }, accessPage),
  call(
    {
      ...VIEWER_OF_DEPLOYMENT,
      method: "post",
      path: "/access/:session/end",
      audit: ["operator.session_ended", "operator.signed_out"],
    },
    postEndSession,
  ),
];
