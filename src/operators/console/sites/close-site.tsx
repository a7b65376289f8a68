import { CLOSED_RETRY_SECONDS } from "../../../core/config.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { askPage } from "../parts/ask.tsx";
import { settingsPath } from "./site-paths.ts";

export async function closePage(c: PageContext, site: Site): Promise<Response> {
  const { t } = c.var.view;
  if (site.status !== "open") return c.redirect(settingsPath(site), 303);
  return askPage(c, {
    site: { ...site, tab: "settings" },
    title: t("Close this site?"),
    text: t("None of its calls is accepted until you open it again. Nothing is deleted."),
    facts: (
      <>
        <dt>{t("Name")}</dt>
        <dd>
          <bdi>{site.name}</bdi>
        </dd>
        <dt>{t("Its callers get")}</dt>
        <dd>
          {t("503 with Retry-After: {0}. Nothing is used up, so they may send the same again.", CLOSED_RETRY_SECONDS)}
        </dd>
      </>
    ),
    action: c.req.path,
    button: t("Close now"),
    keep: t("Cancel"),
    back: settingsPath(site),
  });
}
