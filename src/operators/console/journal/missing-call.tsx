import { isRefusedFor } from "../../../core/errors.ts";
import { callsAround } from "../../services/find-call.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { EmptyState, NoticeBox, Time } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { RefusalTable } from "./refusal-table.tsx";

/** The page for a request id that the site has no call for. */
export async function missingCallPage(c: PageContext, site: Site, requestId: string): Promise<Response> {
  const { t } = c.var.view;
  const list = `/console/sites/${site.id}/refusals`;
  const around = await aroundCall(c, requestId, site);
  const body = (
    <>
      <EmptyState title={around === undefined ? t("That is no request id") : t("This site knows no such call")}>
        <p>
          {around === undefined
            ? t("The x-request-id of an answer is one. It holds its time, and this text holds none.")
            : t("It may be of another site, or have been deleted. The search above looks in all sites.")}
        </p>
        <p>
          <a class="button plain" href={list}>
            {t("All refused calls")}
          </a>
        </p>
      </EmptyState>
      {around}
    </>
  );
  const page = { title: t("Not found"), site: { ...site, tab: "refusals" } as const, back: list, body };
  return showPage(c, page, around === undefined ? 400 : 404);
}

/**
 * What is known about a call that was not found: when it came, the refused calls around it, and how many of them are left out. It
 * reads the site, or all sites that the reader sees. The result names the homes that do not answer.
 *
 * @returns undefined when the text is not a request id
 */
export async function aroundCall({ var: { ctx, view } }: PageContext, requestId: string, site?: Site) {
  const { t } = view;
  const callsOfThatTime = await callsAround(ctx, { requestId, site }).catch((error: unknown) => {
    if (!isRefusedFor(error, "fields_invalid")) throw error;
  });
  if (callsOfThatTime === undefined) return undefined;
  const { at, time, around, leftOut, homesDown } = callsOfThatTime;
  return (
    <section class="part">
      <h2>{t("What its id tells")}</h2>
      <p>
        {t("It holds a time:")} <Time at={at} /> <code>{new Date(at * 1000).toISOString().replace(".000", "")}</code>
      </p>
      {time === "ahead" && <p>{t("That is in the future, so no call here has had this id.")}</p>}
      {time === "too_old" && <p>{t("Refused calls are kept for {0} days, and no longer.", ctx.config.journalDays)}</p>}
      {time === "kept" && (
        <>
          {homesDown.length > 0 && (
            <p>{t("These homes do not answer, so their calls are missing here: {0}", homesDown.join(", "))}</p>
          )}
          <LeftOutCalls view={view} calls={leftOut} />
          {(around.length > 0 || homesDown.length === 0) && (
            <RefusalTable
              view={view}
              refusals={around}
              nameOf={(appid) => appid}
              empty={t("No refused call within two minutes of it is in the journal.")}
            />
          )}
        </>
      )}
    </section>
  );
}

function LeftOutCalls({ view, calls }: { view: View; calls: number }) {
  const { t, language } = view;
  if (calls === 0) {
    return (
      <p>
        {t(
          "No refused call of that time is known to be left out so far. In a flood, that is known after seconds or minutes.",
        )}
      </p>
    );
  }
  return (
    <NoticeBox
      kind="note"
      title={t(
        "{0} refused calls within two minutes of it were left out",
        new Intl.NumberFormat(language).format(calls),
      )}
    >
      <p>
        {t(
          "It may be one of them. Of each app the first 20 of a minute are kept, and further ones are counted. The log has every call: filter by request_id there.",
        )}
      </p>
    </NoticeBox>
  );
}
