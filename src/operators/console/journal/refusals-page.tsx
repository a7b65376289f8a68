import { isRefusedFor } from "../../../core/errors.ts";
import { isVisible } from "../../../core/fields.ts";
import { type AppSummary, listApps } from "../../services/apps.ts";
import {
  listRefusals,
  MOST_READ,
  OPERATIONS,
  REFUSAL_REASONS,
  type Refusal,
  refusalQuerySchema,
  tallyRefusals,
  wireNameOf,
} from "../../services/journal.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { type FilterFields, filteredPath, filterReader, List, queryOf } from "../parts/list.tsx";
import { Ago, Badge, NameLink } from "../parts/parts.tsx";
import { reasonLabels, reasonText } from "../reasons.ts";
import { localTime, secondsOf, type View } from "../view.ts";
import { refusalTexts } from "../violation-texts.ts";

/** The refused calls of a site, with their counts by app and by reason. */
export async function refusalsPage(c: PageContext, site: Site): Promise<Response> {
  const { view, ctx, t } = c.var;
  const path = `/console/sites/${site.id}/refusals`;
  const wanted = readFilter(c);
  const [refusals, apps] = await Promise.all([readRefusals(c, site, wanted), listApps(ctx, { site, limit: 100 })]);
  const [{ items, nextCursor, lookedTo }, tally] = refusals ?? [{ items: [], nextCursor: null, lookedTo: null }];
  const nameOf = namesOf(apps.items);
  const options = apps.items.map(({ appid }): [string, string] => [appid, nameOf(appid)]);
  // The appid is typed when there are more apps than one page of the list.
  const appChoice = apps.nextCursor === null ? { options } : { maxlength: 64, code: true };
  const fields = { ...wanted.fields, appid: { ...wanted.fields.appid, ...appChoice } };
  const since = (seconds: number) => localTime(view.now - seconds, view.timeZone).slice(0, 16);
  const empty =
    refusals === undefined
      ? t("Correct the filter above.")
      : lookedTo !== null
        ? t("Nothing was found so far.")
        : Object.values(wanted.filter).some((value) => value !== undefined)
          ? t("No refused call fits this filter.")
          : t("No call of this site has been refused in the last {0} days.", ctx.config.journalDays);
  const body = (
    <>
      {tally && tallyLinks(c, fields, tally, nameOf)}
      <List
        path={path}
        filter={{
          fields,
          choicesLabel: t("Time"),
          choices: [
            [t("Any time"), { from: "", to: "" }],
            [t("Last hour"), { from: since(3_600), to: "" }],
            [t("Today"), { from: `${since(0).slice(0, 10)}T00:00`, to: "" }],
            [t("Last 24 hours"), { from: since(86_400), to: "" }],
          ],
        }}
        {...refusalColumns(view, items, nameOf)}
        empty={empty}
        lookedTo={
          lookedTo !== null && [
            t("{0} calls were looked through, back to {1}.", view.number(MOST_READ), view.time(lookedTo)),
            " ",
            t("The next page looks further back."),
          ]
        }
        cursor={nextCursor}
      />
      <p class="hint">
        {t(
          "Kept for {0} days; of a flood, some are left out and counted. Calls whose appid is unknown or was not read are in the log only.",
          ctx.config.journalDays,
        )}
      </p>
    </>
  );
  const page = { title: t("Refused calls"), site: { ...site, tab: "refusals" } as const, body };
  return showPage(c, page, refusals === undefined ? 400 : 200);
}

/** Gives an app's name by its appid. An app without a visible name, or none of these, is named by its appid. */
export function namesOf(apps: AppSummary[]): (appid: string) => string {
  const names = new Map(apps.flatMap(({ appid, name }) => (isVisible(name) ? [[appid, name]] : [])));
  return (appid) => names.get(appid) ?? appid;
}

/** The filter of the address: its fields in the order of the list's columns, and as the service takes it. */
function readFilter(c: PageContext) {
  const { view, t } = c.var;
  const { text, field, time } = filterReader(c);
  const filter = {
    reason: REFUSAL_REASONS.find((each) => each === text("reason")),
    appid: refusalQuerySchema.shape.appid.safeParse(text("appid")).data,
    operation: OPERATIONS.find(({ wireName }) => wireName === text("operation"))?.wireName,
    since: secondsOf(text("from"), view.timeZone),
    until: secondsOf(text("to"), view.timeZone, true),
  };
  const reason = field(t("Why"), "reason", filter.reason, t("There is no such reason"));
  const operation = field(t("Call"), "operation", filter.operation, t("There is no such call"));
  const fields = {
    reason: { ...reason, options: [...reasonLabels(view)] },
    appid: field(t("App"), "appid", filter.appid, t("Must be 1 to 64 of A–Z a–z 0–9 _ -.")),
    operation: { ...operation, options: OPERATIONS.map(({ wireName }) => [wireName, wireName]) },
    from: time(t("From"), "from", filter.since),
    to: time(t("To"), "to", filter.until),
  } satisfies FilterFields;
  return { fields, filter };
}

/** Reads the calls, and for the first page their counts by app and reason. A time that is too old is an error of its field. */
async function readRefusals(c: PageContext, site: Site, { fields, filter }: ReturnType<typeof readFilter>) {
  const { ctx, t } = c.var;
  const cursor = c.req.query("cursor") || undefined;
  if (Object.values(fields).some(({ error }) => error !== undefined)) return undefined;
  try {
    return await Promise.all([
      listRefusals(ctx, { site, ...filter, cursor, limit: 50 }),
      cursor === undefined ? tallyRefusals(ctx, { site, ...filter }) : undefined,
    ]);
  } catch (error) {
    if (!isRefusedFor(error, "fields_invalid")) throw error;
    const [issue] = error.context.issues ?? [];
    if (issue?.field === "cursor") throw error;
    fields[issue?.field === "until" ? "to" : "from"].error =
      issue?.message === "must not be after until"
        ? t("Must not be after “To”.")
        : t("Calls are kept for {0} days. The time is longer ago.", ctx.config.journalDays);
    return undefined;
  }
}

/** The columns of refused calls, as a list or a table takes them. The fault links to the page of the call, which says what to do. */
export function refusalColumns(view: View, refusals: Refusal[], nameOf: NameOf) {
  const { t } = view;
  return {
    label: t("Refused calls"),
    head: [t("Why"), t("App"), t("Call"), t("Answer"), { label: t("When"), phone: "top" as const }],
    rows: refusals.map((refusal) => {
      const { siteId, requestId, reason, appid, operation, status, at, skipped } = refusal;
      const details = refusalTexts(view, refusal).join(" ");
      const moreText = skipped > 0 && t("{0} more like it before were left out.", view.number(skipped));
      return [
        <span class="stack">
          <a class="clip" href={`/console/sites/${siteId}/requests/${requestId}`}>
            {reasonText(view, reason).what}
          </a>
          {(details !== "" || moreText) && (
            <small class="clip" title={details}>
              <bdi>{details}</bdi> {moreText}
            </small>
          )}
        </span>,
        <NameLink class="clip" href={`/console/sites/${siteId}/apps/${appid}`} name={nameOf(appid)} />,
        <code>{wireNameOf(operation)}</code>,
        <Badge kind={status >= 500 ? "bad" : "wait"} label={String(status)} />,
        <Ago at={at} />,
      ];
    }),
  };
}

/** How many apps and reasons are listed. The filter finds the calls of all others. */
const MOST_SHOWN = 5;

type Tally = Awaited<ReturnType<typeof tallyRefusals>>;
type NameOf = ReturnType<typeof namesOf>;

/** How many calls were refused, by app and by reason. Each count links to the list with that filter. */
function tallyLinks(c: PageContext, fields: FilterFields, tally: Tally, nameOf: NameOf) {
  const { view, t } = c.var;
  const query = queryOf(fields);
  const labels = reasonLabels(view);
  // A reason is a sentence, which a chip shows without its full stop.
  const reasonOf = (reason: string) => (labels.get(reason) ?? reason).replace(/[.。]$/, "");
  const lines = [
    ["appid", t("By app"), tally.byApp, nameOf],
    ["reason", t("By reason"), tally.byReason, reasonOf],
  ] as const;
  if (lines.every(([, , sums]) => sums.length === 0)) return undefined;
  return (
    <div class="tallies">
      {lines.map(([name, label, sums, textOf]) => (
        <nav class="tally" aria-label={label}>
          <span aria-hidden="true">{label}</span>
          {sums.slice(0, MOST_SHOWN).map(([key, calls]) => (
            <a
              class="chip"
              href={filteredPath(c.req.path, { ...query, [name]: query[name] === key ? "" : key })}
              aria-current={query[name] === key ? "true" : undefined}
            >
              <bdi>{textOf(key)}</bdi> <b>{view.number(calls)}</b>
            </a>
          ))}
          {sums.length > MOST_SHOWN && <span>{t("and {0} more", view.number(sums.length - MOST_SHOWN))}</span>}
        </nav>
      ))}
      {!tally.isWhole && <p class="hint">{t("Counted among the newest {0} that are kept.", view.number(MOST_READ))}</p>}
    </div>
  );
}
