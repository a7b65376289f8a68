import type { ConsoleCall } from "../env.ts";
import { page } from "../page-call.ts";
import { metricsPage } from "./metrics-page.tsx";

export const METRICS_CALLS: ConsoleCall[] = [page("viewer", "/metrics", metricsPage)];
