import type { HomeTrouble } from "../../services/health.ts";
import type { Home } from "../../services/homes.ts";
import { hasEnded, type Site } from "../../services/sites.ts";
import { useView, type View } from "../view.ts";
import { Badge, LinkLine, NameLink, NoticeBox } from "./parts.tsx";
import { visibleName } from "./unseen.tsx";

/** A site as its pages show it, with the tab to mark. */
export type FramedSite = Pick<Site, "id" | "name" | "home" | "status"> & {
  trouble?: SiteTrouble | "none" | undefined;
  tab?: "overview" | "sessions" | "customers" | "apps" | "agents" | "webhooks" | "refusals" | "audit" | "settings";
};

/** The top of a site's page: links up, name, state, home and tabs. An unfinished site has no tabs, because its home lacks it. */
export function SiteFrame({ site }: { site: FramedSite }) {
  const { t, hasHomes, may } = useView();
  const path = `/console/sites/${site.id}`;
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
  // All other pages of a site that is being deleted, or is deleted, answer that the site is unknown.
  const offered = hasEnded(site) ? tabs.filter(([key]) => key === "overview" || key === "audit") : tabs;
  return (
    <div class="site">
      <div class="head">
        <p class="crumb">
          <a href="/console">{t("Sites")}</a> / <NameLink href={path} name={visibleName(site)} />
        </p>
        <p class="state">
          {hasHomes && <span>{t("Home {0}", site.home)}</span>}
          <SiteState {...site} />
        </p>
      </div>
      {site.status !== "creating" && (
        <nav class="tabs" aria-label={t("Site")}>
          {offered.map(
            ([key, tab, label]) =>
              may(path + tab, "GET") && (
                <a href={path + tab} aria-current={site.tab === key ? "page" : undefined}>
                  {label}
                </a>
              ),
          )}
        </nav>
      )}
    </div>
  );
}

/** Says why signed calls of a site are refused now: the site or its home is closed. */
export function SiteNotices({ site }: { site: FramedSite }) {
  const { t, closedHomes } = useView();
  return (
    <>
      {closedHomes.has(site.home) && (
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
            <LinkLine href={`/console/sites/${site.id}/settings`} label={t("To the settings")} />
          )}
        </NoticeBox>
      )}
    </>
  );
}

/** Why a site that is open takes no calls. */
export type SiteTrouble = HomeTrouble | "wrong_key";

export const troubleTexts = ({ t }: View): Record<SiteTrouble, [label: string, words: string]> => ({
  unbound: [t("Not bound"), t("has no database: calls of its sites are answered 503. Bind it again.")],
  not_migrated: [t("Not migrated"), t("lacks a migration of this release: npm run deploy migrates all databases.")],
  silent: [t("No answer"), t("did not answer within a second: what its sites need is not known.")],
  closed: [t("Home closed"), t("is closed: calls of its sites are answered 503 until somebody opens it.")],
  wrong_key: [t("Wrong key"), t("MASTER_KEY does not open what is sealed: signed calls and deliveries fail.")],
});

/**
 * The state of a site. An open site takes no calls while its home or its key is in trouble.
 *
 * @param props `trouble` is undefined on a page that did not look for any. It must not call an open site open then
 */
export function SiteState({ status, home, trouble }: Pick<FramedSite, "status" | "home" | "trouble">) {
  const view = useView();
  const { t } = view;
  if (status === "creating") return <Badge kind="wait" label={t("Unfinished")} />;
  if (status === "deleting") return <Badge kind="wait" label={t("Being deleted")} />;
  if (status === "deleted") return <Badge kind="off" label={t("Deleted")} />;
  if (status === "closed") return <Badge kind="off" label={t("Closed")} />;
  const known = view.closedHomes.has(home) ? "closed" : view.isBound(home) ? trouble : "unbound";
  if (known === undefined) return null;
  if (known === "none") return <Badge kind="good" label={t("Open")} />;
  return <Badge kind={known === "closed" ? "off" : "bad"} label={troubleTexts(view)[known][0]} />;
}

export function HomeState({ status }: { status: Home["status"] }) {
  const { t } = useView();
  if (status === "down") return <Badge kind="bad" label={t("Down")} />;
  return status === "open" ? <Badge kind="good" label={t("Open")} /> : <Badge kind="off" label={t("Closed")} />;
}
