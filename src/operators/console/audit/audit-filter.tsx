import { AUDIT_ACTIONS, type AuditAction, auditQuerySchema, MOST_CHARACTERS } from "../../services/audit.ts";
import type { PageContext } from "../env.ts";
import { Filter, type FilterInForce, filteredPath } from "../parts/filter.tsx";
import { Field } from "../parts/form.tsx";
import { localTime, secondsOf, startOfDayAndWeek, type View } from "../view.ts";
import { actionText } from "./action-text.ts";

/** The filter above the audit log, as the reader filled it in. */
export interface AuditFilterForm {
  fields: Record<"who" | "action" | "subject" | "since" | "until", string>;
  /** The faults of wrong fields, by name. */
  errors: Record<string, string>;
  /** The values that the filled-in fields filter by. */
  filter: {
    who: string | undefined;
    action: AuditAction | undefined;
    subject: string | undefined;
    since: number | undefined;
    until: number | undefined;
  };
}

export function readFilter(c: PageContext): AuditFilterForm {
  const { view } = c.var;
  const { t } = view;
  const errors: Record<string, string> = {};
  // The browser sends empty fields too. An empty field does not filter.
  const textOf = (name: string) => (c.req.query(name) ?? "").trim();
  const fields = {
    who: textOf("who"),
    action: textOf("action"),
    subject: textOf("subject"),
    since: textOf("since"),
    until: textOf("until"),
  };
  const wordOf = (name: "who" | "subject") => {
    const text = fields[name] || undefined;
    const isFit = auditQuerySchema.shape[name].safeParse(text).success;
    if (!isFit) errors[name] = t("Must have at most {0} characters", MOST_CHARACTERS);
    return text;
  };
  const timeOf = (name: "since" | "until") => {
    const at = secondsOf(fields[name], view.timeZone, name === "until");
    if (fields[name] !== "" && at === undefined) errors[name] = t("Must be a date and a time");
    return at;
  };
  const action = AUDIT_ACTIONS.find((each) => each === fields.action);
  if (fields.action !== "" && action === undefined) errors.action = t("There is no such action");
  const [since, until] = [timeOf("since"), timeOf("until")];
  if (since !== undefined && until !== undefined && since > until) errors.since = t("Must not be after “To”.");
  return { fields, errors, filter: { who: wordOf("who"), action, subject: wordOf("subject"), since, until } };
}

/** The filter's form, and the filters in force. */
export function AuditFilter({ view, path, filterForm }: { view: View; path: string; filterForm: AuditFilterForm }) {
  const { t } = view;
  const { fields, errors } = filterForm;
  const actions = AUDIT_ACTIONS.map((each): [string, string] => [each, actionText(view, each)]);
  const fieldProps = (name: keyof AuditFilterForm["fields"]) => ({ name, value: fields[name], error: errors[name] });
  return (
    <Filter
      path={path}
      parameters={fields}
      filtersInForce={filtersInForceOf(view, path, filterForm)}
      open={Object.keys(errors).length > 0}
    >
      <Field label={t("Who")} {...fieldProps("who")} maxlength={MOST_CHARACTERS} />
      <Field label={t("What")} {...fieldProps("action")} options={[["", t("Any")], ...actions]} />
      <Field label={t("Subject")} {...fieldProps("subject")} maxlength={MOST_CHARACTERS} />
      <Field label={t("From")} {...fieldProps("since")} type="datetime-local" />
      <Field label={t("To")} {...fieldProps("until")} type="datetime-local" />
    </Filter>
  );
}

function filtersInForceOf(view: View, path: string, { fields, filter }: AuditFilterForm): FilterInForce[] {
  const { t } = view;
  const { who, action, subject, since, until } = filter;
  const texts: [name: keyof AuditFilterForm["fields"], label: string, value: string | undefined][] = [
    ["who", t("Who"), who],
    ["action", t("What"), action && actionText(view, action)],
    ["subject", t("Subject"), subject],
    ["since", t("From"), since === undefined ? undefined : view.time(since)],
    ["until", t("To"), until === undefined ? undefined : view.time(until)],
  ];
  return texts.flatMap(([name, label, value]) =>
    value === undefined ? [] : [{ label, value, without: filteredPath(path, fields, name) }],
  );
}

const DAY = 86_400;

/** Links to the entries of today, yesterday and the last week, in the reader's zone. They keep the other fields of the filter. */
export function Days({
  view,
  path,
  filterForm: { fields },
}: {
  view: View;
  path: string;
  filterForm: AuditFilterForm;
}) {
  const { t, now, timeZone } = view;
  const { day: today } = startOfDayAndWeek(now, timeZone);
  const { day: yesterday } = startOfDayAndWeek(today - 1, timeZone);
  // Days are counted from noon, because a day may have 23 or 25 hours.
  const { day: weekAgo } = startOfDayAndWeek(today + DAY / 2 - 6 * DAY, timeZone);
  const minute = (at: number) => localTime(at, timeZone).slice(0, 16);
  const days: [label: string, since: string, until: string][] = [
    [t("Today"), minute(today), ""],
    [t("Yesterday"), minute(yesterday), minute(today - 60)],
    [t("Last 7 days"), minute(weekAgo), ""],
  ];
  return (
    <nav class="chips" aria-label={t("Days")}>
      {days.map(([label, since, until]) => (
        <a
          class="chip"
          href={filteredPath(path, { ...fields, since, until })}
          aria-current={fields.since === since && fields.until === until ? "true" : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  );
}
