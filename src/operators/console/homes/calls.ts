import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { homesPage } from "./homes-page.tsx";
import { postRestored, restoredPage } from "./restored-home.tsx";

const SEE = { role: "viewer", scope: "deployment" } as const;
const SETTLE = { role: "owner", scope: "deployment" } as const;

export const HOMES_CALLS: ConsoleCall[] = [
  call({ ...SEE, method: "get", path: "/homes", audit: [] }, homesPage),
  call({ ...SETTLE, method: "get", path: "/homes/:name/restored", audit: [] }, restoredPage),
  call(
    {
      ...SETTLE,
      method: "post",
      path: "/homes/:name/restored",
      audit: ["home.restored", "customer.erased", "site.deletion_begun"],
    },
    postRestored,
  ),
];
