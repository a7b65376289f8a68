import type { Home } from "../../../services/homes.ts";
import type { Site } from "../../../services/sites.ts";
import type { View } from "../view.ts";
import { Badge } from "./parts.tsx";

export function SiteState({ view, status }: { view: View; status: Site["status"] }) {
  const { t } = view;
  if (status === "creating") return <Badge kind="wait" label={t("Unfinished")} />;
  if (status === "deleting") return <Badge kind="wait" label={t("Being deleted")} />;
  if (status === "deleted") return <Badge kind="off" label={t("Deleted")} />;
  return status === "open" ? <Badge kind="good" label={t("Open")} /> : <Badge kind="off" label={t("Closed")} />;
}

export function HomeState({ view, status }: { view: View; status: Home["status"] }) {
  const { t } = view;
  if (status === "down") return <Badge kind="bad" label={t("Down")} />;
  return status === "open" ? <Badge kind="good" label={t("Open")} /> : <Badge kind="off" label={t("Closed")} />;
}
