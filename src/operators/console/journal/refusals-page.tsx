import { isRefusedFor } from "../../../core/errors.ts";
import { isVisible } from "../../../core/fields.ts";
import { type AppSummary, listApps } from "../../services/apps.ts";
import { listRefusals, OPERATIONS, tallyRefusals } from "../../services/journal.ts";
import type { Page } from "../../services/page.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Filter, type FilterInForce, filteredPath } from "../parts/filter.tsx";
import { Field } from "../parts/form.tsx";
import { MoreLink } from "../parts/table.tsx";
import { reasonLabels } from "../reasons.ts";
import { quickTimes, type RefusalFilter, readRefusalFilter } from "./refusal-filter.ts";
import { RefusalTable } from "./refusal-table.tsx";
import { RefusalTally } from "./refusal-tally.tsx";

const REFUSALS_PER_PAGE = 50;

/** The refused calls of a site, with their counts by app and by reason. */
export async function refusalsPage(c: PageContext, site: Site): Promise<Response> {
  const { view, ctx } = c.var;
  const { t } = view;
  const path = `/console/sites/${site.id}/refusals`;
  const readFilter = readRefusalFilter(c);
  const { fields, filter, errors } = readFilter;
  const cursor = c.req.query("cursor") || undefined;
  const [refusals, apps] = await Promise.all([
    Object.keys(errors).length > 0 ? undefined : readRefusals(c, site, readFilter, cursor),
    listApps(ctx, { site, limit: 100 }),
  ]);
  const isWrong = Object.keys(errors).length > 0;
  const { items = [], nextCursor = null } = refusals?.page ?? {};
  const names = new Map(apps.items.flatMap(({ appid, name }) => (isVisible(name) ? [[appid, name]] : [])));
  const nameOf = (appid: string) => names.get(appid) ?? appid;
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
      <Filter
        path={path}
        parameters={{ ...fields }}
        filtersInForce={filtersInForceOf(c, path, readFilter, nameOf)}
        open={isWrong}
      >
        <Field
          label={t("App")}
          name="appid"
          value={fields.appid}
          error={errors.appid}
          {...appChoice(c, apps, fields.appid)}
        />
        <Field
          label={t("Why")}
          name="reason"
          value={fields.reason}
          error={errors.reason}
          options={[["", t("Any")], ...reasonLabels(view)]}
        />
        <Field
          label={t("Call")}
          name="operation"
          value={fields.operation}
          error={errors.operation}
          options={[["", t("Any")], ...operations]}
        />
        <Field label={t("From")} name="from" type="datetime-local" value={fields.from} error={errors.from} />
        <Field label={t("To")} name="to" type="datetime-local" value={fields.to} error={errors.to} />
      </Filter>
      <nav class="tally" aria-label={t("Time")}>
        {quickTimes(c, path, fields).map(({ label, href }) => (
          <a class="chip" href={href}>
            {label}
          </a>
        ))}
      </nav>
      {refusals?.tally && <RefusalTally view={view} path={path} fields={fields} nameOf={nameOf} {...refusals.tally} />}
      <RefusalTable view={view} refusals={items} nameOf={nameOf} empty={empty} />
      <MoreLink path={path} query={{ ...fields }} cursor={nextCursor} />
      <p class="hint">
        {t(
          "Kept for {0} days; of a flood, some are left out and counted. Calls whose appid is unknown or was not read are in the log only.",
          ctx.config.journalDays,
        )}
      </p>
    </>
  );
  const page = { title: t("Refused calls"), site: { ...site, tab: "refusals" } as const, body };
  return showPage(c, page, isWrong ? 400 : 200);
}

/** Reads the calls, and for the first page their counts by app and reason. A time that is too old is an error of its field. */
async function readRefusals(c: PageContext, site: Site, { filter, errors }: RefusalFilter, cursor: string | undefined) {
  const { ctx, view } = c.var;
  try {
    const [page, tally] = await Promise.all([
      listRefusals(ctx, { site, ...filter, cursor, limit: REFUSALS_PER_PAGE }),
      cursor === undefined ? tallyRefusals(ctx, { site, ...filter }) : undefined,
    ]);
    return { page, tally };
  } catch (error) {
    if (!isRefusedFor(error, "fields_invalid")) throw error;
    const [issue] = error.context.issues ?? [];
    if (issue?.field === "cursor") throw error;
    const tooOldText = view.t("Calls are kept for {0} days. The time is longer ago.", ctx.config.journalDays);
    if (issue?.field === "until") errors.to = tooOldText;
    else errors.from = issue?.message === "must not be after until" ? view.t("Must not be after “To”.") : tooOldText;
    return undefined;
  }
}

/** A choice among the site's apps. It is a text field when there are more apps than one page of the list. */
function appChoice({ var: { view } }: PageContext, apps: Page<AppSummary>, chosenAppid: string) {
  if (apps.nextCursor !== null) return { maxlength: 64, code: true };
  const options = apps.items.map(({ appid, name }): [string, string] => [appid, isVisible(name) ? name : appid]);
  const others: [string, string][] =
    chosenAppid === "" || options.some(([appid]) => appid === chosenAppid) ? [] : [[chosenAppid, chosenAppid]];
  return { options: [["", view.t("Any")] as [string, string], ...options, ...others] };
}

/** The filters in force, in words. */
function filtersInForceOf(
  { var: { view } }: PageContext,
  path: string,
  { fields, filter, errors }: RefusalFilter,
  nameOf: (appid: string) => string,
): FilterInForce[] {
  const { t } = view;
  const chips: [keyof typeof fields, string, string | undefined][] = [
    ["appid", t("App"), filter.appid && nameOf(filter.appid)],
    ["reason", t("Why"), filter.reason && reasonLabels(view).get(filter.reason)],
    ["operation", t("Call"), filter.operation],
    ["from", t("From"), filter.since === undefined ? undefined : view.time(filter.since)],
    ["to", t("To"), filter.until === undefined ? undefined : view.time(filter.until)],
  ];
  return chips.flatMap(([name, label, value]) =>
    value === undefined || errors[name] !== undefined
      ? []
      : [{ label, value, without: filteredPath(path, { ...fields }, name) }],
  );
}
