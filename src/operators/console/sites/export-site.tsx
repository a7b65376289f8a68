import { exportText } from "../../http/site-data.ts";
import { type ExportedSite, exportSite, planExport } from "../../services/export-site.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { readForm } from "../forms/read-form.ts";
import { isDraft } from "../forms/submit-once.ts";
import { showPage } from "../layout.tsx";
import { Ask } from "../parts/ask.tsx";
import type { View } from "../view.ts";
import { sitePath } from "./site-paths.ts";

/** How many agents, apps and sessions a file has, and how many are read at once. Workers Free allows 50 queries in an invocation. */
const ITEMS_PER_FILE = 2_000;
const ITEMS_AT_ONCE = 500;

/**
 * Leads through the files of a site's export. A page says where its file will end before somebody downloads it, because the answer to the
 * download is the file: the next page begins there, so nothing is lost and nothing comes twice.
 */
export async function exportPage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  if (site.status === "creating") return c.redirect(sitePath(site), 303);
  const { after, part: partText = "1" } = c.req.query();
  const part = /^\d{1,9}$/.test(partText) ? Number(partText) : 1;
  const { counts, until, hasMore } = await planExport(ctx, { site, limit: ITEMS_PER_FILE, after });
  const next = `${c.req.path}?${new URLSearchParams({ after: until, part: String(part + 1) })}`;
  const end = placeText(view, until);
  const body = (
    <>
      <Ask
        text={t(
          "A file has a JSON object on each line (NDJSON): agents, apps without secrets, and sessions with their messages, participants and customers. The audit log says who exported.",
        )}
        facts={[
          [t("Begins"), after === undefined ? t("at the beginning") : t("after {0}", placeText(view, after))],
          [t("Agents"), view.number(counts.agents)],
          [t("Apps"), view.number(counts.apps)],
          [t("Sessions"), view.number(counts.sessions)],
          [t("Stops"), hasMore ? t("after {0}", end) : t("at the end: it is the last file")],
        ]}
        action={c.req.path}
        hidden={{ ...(after !== undefined && { after }), until, part: String(part) }}
        button={t("Download file {0}", part)}
        isHarmless
        keep={t("To the settings")}
        back={sitePath(site, "/settings")}
      />
      {hasMore && (
        <p>
          <a class="button plain" href={next}>
            {t("Go on after {0}", end)}
          </a>{" "}
          {t("Sites with very many sessions are exported by a program: {0}", `GET /admin/sites/${site.id}/export`)}
        </p>
      )}
    </>
  );
  return showPage(c, { title: t("Export this site"), site: { ...site, tab: "settings" }, body });
}

/** The last item of a file, in words. */
function placeText({ t }: View, place: string): string {
  const [, stage, key = ""] = place.split(".");
  if (stage === "agents") return t("agent {0}", key);
  if (stage === "apps") return key === "" ? t("the agents") : t("app {0}", key);
  return key === "0" ? t("the apps") : t("session {0}", key);
}

/** Answers with a file. The form may be sent any number of times: the audit log has a row for each operator and hour. */
export async function postSiteExport(c: PageContext, site: Site): Promise<Response> {
  c.set("onlyReads", true);
  const form = await readForm(c);
  if (await isDraft(c, form)) return c.redirect(c.req.path, 303);
  const { after, until, part = "1" } = form;
  const parts: ExportedSite[] = [];
  for (let next: string | undefined = after; ; ) {
    const exported = await exportSite(c.var.ctx, { site, limit: ITEMS_AT_ONCE, after: next, until });
    parts.push(exported);
    if (exported.isWhole || exported.next === null) break;
    next = exported.next;
  }
  const name = `site-${site.id}-part-${/^\d{1,9}$/.test(part) ? part : 1}.ndjson`;
  return c.body(exportText(parts), 200, {
    "content-type": "application/x-ndjson",
    "content-disposition": `attachment; filename="${name}"`,
  });
}
