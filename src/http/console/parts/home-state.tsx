import type { Home } from "../../../services/homes.ts";
import type { Site } from "../../../services/sites.ts";
import type { View } from "../view.ts";
import { Badge } from "./parts.tsx";

/** The state of a site. An open site in a home that is closed or not bound takes no call either. */
export function SiteState({ view, site: { status, home } }: { view: View; site: Pick<Site, "status" | "home"> }) {
  const { t } = view;
  if (status === "creating") return <Badge kind="wait" label={t("Unfinished")} />;
  if (status === "deleting") return <Badge kind="wait" label={t("Being deleted")} />;
  if (status === "deleted") return <Badge kind="off" label={t("Deleted")} />;
  if (status === "closed") return <Badge kind="off" label={t("Closed")} />;
  if (view.closedHomes.has(home)) return <Badge kind="off" label={t("Home closed")} />;
  if (!view.isBound(home)) return <Badge kind="bad" label={t("Not bound")} />;
  return <Badge kind="good" label={t("Open")} />;
}

export function HomeState({ view, status }: { view: View; status: Home["status"] }) {
  const { t } = view;
  if (status === "down") return <Badge kind="bad" label={t("Down")} />;
  return status === "open" ? <Badge kind="good" label={t("Open")} /> : <Badge kind="off" label={t("Closed")} />;
}
