import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { homesPage } from "./homes-page.tsx";
import { postRestored, restoredPage } from "./restored-home.tsx";

const VIEWER_OF_DEPLOYMENT = { role: "viewer", scope: "deployment" } as const;
const OWNER_OF_DEPLOYMENT = { role: "owner", scope: "deployment" } as const;

export const HOMES_CALLS: ConsoleCall[] = [
  call({ ...VIEWER_OF_DEPLOYMENT, method: "get", path: "/homes", audit: [] }, homesPage),
  call({ ...OWNER_OF_DEPLOYMENT, method: "get", path: "/homes/:name/restored", audit: [] }, restoredPage),
  call(
    {
      ...OWNER_OF_DEPLOYMENT,
      method: "post",
      path: "/homes/:name/restored",
      audit: ["home.restored", "customer.erased", "site.deletion_begun"],
    },
    postRestored,
  ),
];
