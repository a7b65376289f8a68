import type { AuditLogEntry } from "../../services/audit.ts";
import type { View } from "../view.ts";

/** The surface that a change came through. */
export const throughText = ({ t }: View, actor: AuditLogEntry["actor"]): string =>
  ({ console: t("Console"), "admin-api": "API", worker: t("Worker") })[actor];
