import { isRefusedFor } from "../../../errors.ts";
import { isVisible } from "../../../fields.ts";
import { listApps } from "../../../services/apps.ts";
import { listRefusals, OPERATIONS, REFUSAL_REASONS, refusalQuerySchema } from "../../../services/journal.ts";
import type { Site } from "../../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Field } from "../parts/form.tsx";
import { More } from "../parts/table.tsx";
import { reasonLabels } from "../reasons.ts";
import { secondsOf } from "../view.ts";
import { RefusalTable } from "./refusal-table.tsx";

const SHOWN = 50;

/** The refused calls of a site, or of one of its apps with `?appid=`. */
export async function refusalsPage(c: PageContext, site: Site): Promise<Response> {
  const { view, ctx } = c.var;
  const { t } = view;
  const path = `/console/sites/${site.id}/refusals`;
  // The browser sends empty fields too. An empty field does not filter.
  const asked = Object.fromEntries(Object.entries(c.req.query()).map(([name, value]) => [name, value.trim()]));
  const { appid = "", reason = "", operation = "", from = "", to = "" } = asked;
  const errors: Record<string, string> = {};
  const time = (name: string, text: string, isEnd: boolean): number | undefined => {
    const at = text === "" ? undefined : secondsOf(text, view.timeZone, isEnd);
    if (text !== "" && at === undefined) errors[name] = t("Must be a date and a time");
    return at;
  };
  const [since, until] = [time("from", from, false), time("to", to, true)];
  const isAppid = appid === "" || refusalQuerySchema.shape.appid.safeParse(appid).success;
  if (!isAppid) errors.appid = t("Must be 1 to 64 of A–Z a–z 0–9 _ -.");
  const known = {
    reason: REFUSAL_REASONS.find((each) => each === reason),
    operation: OPERATIONS.find(({ wireName }) => wireName === operation)?.wireName,
  };
  if (reason !== "" && known.reason === undefined) errors.reason = t("There is no such reason");
  if (operation !== "" && known.operation === undefined) errors.operation = t("There is no such call");
  const filter = { ...known, appid: appid === "" || !isAppid ? undefined : appid, since, until };
  const wanted = { site, ...filter, cursor: asked.cursor || undefined, limit: SHOWN };
  const kept = t("Calls are kept for {0} days. The time is longer ago.", ctx.config.journalDays);
  const found = await listRefusals(ctx, wanted).catch((error: unknown) => {
    if (!isRefusedFor(error, "fields_invalid")) throw error;
    const [issue] = error.context.issues ?? [];
    if (issue?.field === "cursor") throw error;
    if (issue?.field === "until") errors.to = kept;
    else errors.from = issue?.message === "must not be after until" ? t("Must not be after “To”.") : kept;
    return undefined;
  });
  const isWrong = Object.keys(errors).length > 0;
  const { items = [], nextCursor = null } = (!isWrong && found) || {};
  const apps = items.length === 0 ? [] : (await listApps(ctx, { site, limit: 100 })).items;
  const names = new Map(apps.flatMap(({ appid: each, name }) => (isVisible(name) ? [[each, name]] : [])));
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const empty = isWrong
    ? t("Correct the filter above.")
    : nextCursor !== null
      ? t("None of the calls looked at so far fits. The next page looks at older ones.")
      : isFiltered
        ? t("No refused call fits this filter.")
        : t("No call of this site has been refused in the last {0} days.", ctx.config.journalDays);
  const operations = OPERATIONS.map(({ wireName }): [string, string] => [wireName, wireName]);
  const body = (
    <>
      <p>
        {t(
          "Calls of this site's apps that were refused in the last {0} days, newest first. Of a flood, some are left out and counted. Calls whose appid is unknown or was not read, as with a wrong Content-Type, are in the log only.",
          ctx.config.journalDays,
        )}
      </p>
      <search>
        <form method="get" action={path} class="filter">
          <Field label="appid" name="appid" value={appid} error={errors.appid} maxlength={64} code />
          <Field
            label={t("Why")}
            name="reason"
            value={reason}
            error={errors.reason}
            options={[["", t("Any")], ...reasonLabels(view)]}
          />
          <Field
            label={t("Call")}
            name="operation"
            value={operation}
            error={errors.operation}
            options={[["", t("Any")], ...operations]}
          />
          <Field label={t("From")} name="from" type="datetime-local" value={from} error={errors.from} />
          <Field label={t("To")} name="to" type="datetime-local" value={to} error={errors.to} />
          <button type="submit">{t("Find")}</button>
        </form>
      </search>
      <RefusalTable view={view} refusals={items} names={names} empty={empty} />
      <More view={view} path={path} query={{ appid, reason, operation, from, to }} cursor={nextCursor} />
    </>
  );
  const page = { title: t("Refused calls"), site: { ...site, tab: "refusals" } as const, body };
  return showPage(c, page, isWrong ? 400 : 200);
}
