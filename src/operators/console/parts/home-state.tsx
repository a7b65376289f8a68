import type { HomeTrouble } from "../../services/health.ts";
import type { Home } from "../../services/homes.ts";
import type { Site } from "../../services/sites.ts";
import { useView, type View } from "../view.ts";
import { Badge } from "./parts.tsx";

/** Why a site that is open takes no calls. */
export type SiteTrouble = HomeTrouble | "wrong_key";

export const troubleTexts = ({ t }: View): Record<SiteTrouble, [label: string, words: string]> => ({
  unbound: [t("Not bound"), t("has no database: calls of its sites are answered 503. Bind it again.")],
  not_migrated: [t("Not migrated"), t("lacks a migration of this release: npm run deploy migrates all databases.")],
  silent: [t("No answer"), t("did not answer within a second: what its sites need is not known.")],
  closed: [t("Home closed"), t("is closed: calls of its sites are answered 503 until somebody opens it.")],
  wrong_key: [t("Wrong key"), t("MASTER_KEY does not open what is sealed: signed calls and deliveries fail.")],
});

interface SiteStateProps {
  site: Pick<Site, "status" | "home">;
  /** What the page found when it read the site. Without it, the settings decide. */
  trouble?: SiteTrouble | undefined;
}

/** The state of a site. An open site takes no calls while its home or its key is in trouble. */
export function SiteState({ site: { status, home }, trouble }: SiteStateProps) {
  const view = useView();
  const { t } = view;
  if (status === "creating") return <Badge kind="wait" label={t("Unfinished")} />;
  if (status === "deleting") return <Badge kind="wait" label={t("Being deleted")} />;
  if (status === "deleted") return <Badge kind="off" label={t("Deleted")} />;
  if (status === "closed") return <Badge kind="off" label={t("Closed")} />;
  const known = view.closedHomes.has(home) ? "closed" : view.isBound(home) ? trouble : "unbound";
  if (known === undefined) return <Badge kind="good" label={t("Open")} />;
  return <Badge kind={known === "closed" ? "off" : "bad"} label={troubleTexts(view)[known][0]} />;
}

export function HomeState({ status }: { status: Home["status"] }) {
  const { t } = useView();
  if (status === "down") return <Badge kind="bad" label={t("Down")} />;
  return status === "open" ? <Badge kind="good" label={t("Open")} /> : <Badge kind="off" label={t("Closed")} />;
}
