import { call } from "../../operator/call.ts";
import type { ConsoleCall } from "../env.ts";
import { homesPage } from "./homes-page.tsx";
import { postRestored, restoredPage } from "./restored-home.tsx";

const ALL = { role: "owner", scope: "deployment" } as const;

export const HOMES_CALLS: ConsoleCall[] = [
  call({ ...ALL, method: "get", path: "/homes", audit: [] }, homesPage),
  call({ ...ALL, method: "get", path: "/homes/:name/restored", audit: [] }, restoredPage),
  call({ ...ALL, method: "post", path: "/homes/:name/restored", audit: ["home.restored"] }, postRestored),
];
