import { ADMIN_DOCUMENTATION } from "../../operators/admin/calls.ts";

/** The Chinese of the summaries of the calls. */
export const ADMIN_CHINESE: Record<string, string> = Object.fromEntries(
  Object.values(ADMIN_DOCUMENTATION).map((words) => [words().summary, words().chinese]),
);
