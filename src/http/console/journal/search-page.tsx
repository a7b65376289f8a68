import { isRefusedFor } from "../../../errors.ts";
import { locateCall } from "../../../services/journal.ts";
import { findSite } from "../../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { callPath } from "./refusal-table.tsx";

/** Leads to the page of a call, from the search of any page: `?id=` its request id, `&site=` the site whose page was open. */
export async function searchPage(c: PageContext): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const { id = "", site: siteId = "" } = c.req.query();
  // A line that was copied from a log or from `curl -v` begins with the header's name.
  const requestId = id.replace(/^\s*"?(?:x-request-id|request_id)"?\s*:\s*/i, "").replace(/[\s",]+/g, "");
  const found = await located(c, requestId, /^[1-9]\d{0,14}$/.test(siteId) ? Number(siteId) : undefined);
  if (found?.siteId !== undefined) return c.redirect(callPath(found.siteId, found.requestId), 303);
  const [title, text] =
    found === undefined
      ? [
          requestId === "" ? t("Type a request id into the search above") : t("That is no request id"),
          t(
            "A request id is the x-request-id of an answer, such as 019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12. The log and each page of a refused call show it too.",
          ),
        ]
      : [
          t("No call with this request id is known"),
          t(
            "Refused calls are kept for {0} days, and of a flood some are left out. Of an accepted call that opened no session, the page of its site knows for 31 minutes. Calls whose appid is unknown or was not read, as with a wrong Content-Type, are in the log only: filter by request_id there.",
            ctx.config.journalDays,
          ),
        ];
  const body = (
    <>
      <NoticeBox kind={found === undefined && requestId !== "" ? "bad" : "note"} title={title}>
        <p>{text}</p>
      </NoticeBox>
      {found !== undefined && found.homesDown.length > 0 && (
        <NoticeBox kind="bad" title={t("Homes that do not answer: {0}", found.homesDown.join(", "))}>
          <p>{t("The call may be in one of them: look again later.")}</p>
        </NoticeBox>
      )}
    </>
  );
  const status = requestId === "" ? 200 : found === undefined ? 400 : found.homesDown.length > 0 ? 503 : 404;
  return showPage(c, { title: t("Find a call"), search: id, body }, status);
}

/** @returns undefined when the text is no request id */
async function located(c: PageContext, requestId: string, siteId: number | undefined) {
  const { ctx } = c.var;
  const site = siteId === undefined ? undefined : await findSite(ctx, { siteId }).catch(() => undefined);
  try {
    return await locateCall(ctx, { requestId, site });
  } catch (error) {
    if (isRefusedFor(error, "fields_invalid")) return undefined;
    throw error;
  }
}
