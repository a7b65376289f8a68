import { isVisible } from "../../../core/fields.ts";
import { hasEnded, type Site } from "../../services/sites.ts";
import { useView } from "../view.ts";
import { SiteState, type SiteTrouble } from "./home-state.tsx";
import { NoticeBox } from "./parts.tsx";

/** The parts that every page of a site has. */

/** A site as its pages show it, with the tab to mark. */
export type FramedSite = Pick<Site, "id" | "name" | "home" | "status"> & {
  trouble?: SiteTrouble | undefined;
  tab?: "overview" | "sessions" | "customers" | "apps" | "agents" | "webhooks" | "refusals" | "audit" | "settings";
};

/** The tabs of a site that is being deleted, or is deleted. All other pages answer that the site is unknown. */
const ENDED_SITE_TABS = ["overview", "audit"] as const;

/** The top of a site's page: links up, name, state, home and tabs. An unfinished site has no tabs, because its home lacks it. */
export function SiteFrame({ site }: { site: FramedSite }) {
  const view = useView();
  const { t } = view;
  const tabs = [
    ["overview", "", t("Overview")],
    ["sessions", "/sessions", t("Sessions")],
    ["customers", "/customers", t("Customers")],
    ["apps", "/apps", t("Apps")],
    ["agents", "/agents", t("Agents")],
    ["webhooks", "/webhooks", t("Webhooks")],
    ["refusals", "/refusals", t("Refused calls")],
    ["audit", "/audit", t("Audit log")],
    ["settings", "/settings", t("Settings")],
  ] as const;
  const shown = tabs.filter(
    ([key, path]) =>
      view.may(`/console/sites/${site.id}${path}`, "GET") &&
      (!hasEnded(site) || ENDED_SITE_TABS.some((each) => each === key)),
  );
  return (
    <div class="site">
      <div class="head">
        <p class="crumb">
          <a href="/console">{t("Sites")}</a> /{" "}
          <a href={`/console/sites/${site.id}`}>
            <bdi>{isVisible(site.name) ? site.name : `(${site.id})`}</bdi>
          </a>
        </p>
        <p class="state">
          {view.hasHomes && <span>{t("Home {0}", site.home)}</span>}
          <SiteState site={site} trouble={site.trouble} />
        </p>
      </div>
      {site.status !== "creating" && (
        <nav class="tabs" aria-label={t("Site")}>
          {shown.map(([key, path, label]) => (
            <a href={`/console/sites/${site.id}${path}`} aria-current={site.tab === key ? "page" : undefined}>
              {label}
            </a>
          ))}
        </nav>
      )}
    </div>
  );
}

/** Says why signed calls of a site are refused now: the site or its home is closed. */
export function SiteNotices({ site }: { site: FramedSite }) {
  const view = useView();
  const { t } = view;
  return (
    <>
      {view.closedHomes.has(site.home) && (
        <NoticeBox kind="note" title={t("The home {0} is closed", site.home)}>
          <p>
            {t(
              "Calls of its sites are answered 503 with Retry-After until it is opened: npm run deploy -- --open {0}",
              site.home,
            )}
          </p>
        </NoticeBox>
      )}
      {site.status === "closed" && (
        <NoticeBox kind="note" title={t("This site is closed")}>
          <p>{t("Its calls are answered 503 with Retry-After, and may be sent again as they are.")}</p>
          {site.tab !== "settings" && (
            <p>
              <a href={`/console/sites/${site.id}/settings`}>{t("To the settings")}</a>
            </p>
          )}
        </NoticeBox>
      )}
    </>
  );
}
