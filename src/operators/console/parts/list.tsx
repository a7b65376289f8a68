import type { Child } from "hono/jsx";
import { useView } from "../view.ts";
import { Field, type Fields } from "./form.tsx";
import { Icon } from "./icons.tsx";
import { type Column, filteredPath, MoreLink, Table } from "./table.tsx";
import { hasUnseen, Unseen, withoutUnseen } from "./unseen.tsx";

/**
 * The fields of a filter by name. `value` is the one in force, and `shown` is that value in words. An empty value does not filter. The
 * filter adds to `options` what they lack: that any value fits, and the value in force.
 */
export type FilterFields = Record<string, Fields[string] & { shown?: string | undefined }>;

/** The values of a filter, as parameters of an address. */
export const queryOf = (fields: FilterFields): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value]));

/**
 * The filter above a list: usual choices, a form, which is folded on a phone, and what is in force. A field with an error opens the form
 * and does not filter.
 *
 * @param props `path` is the list's own, without a query; `choices` are labels with the values that they set
 */
export function ListFilter(props: {
  path: string;
  fields: FilterFields;
  choices?: [label: string, values: Record<string, string>][];
  choicesLabel?: string;
}) {
  const { path, fields, choices = [], choicesLabel } = props;
  const { t } = useView();
  const query = queryOf(fields);
  const inForce = Object.entries(fields).filter(([, { value = "", error }]) => value !== "" && error === undefined);
  const texts = Object.values(query).filter((value) => value !== undefined && hasUnseen(value)) as string[];
  const clean = Object.fromEntries(Object.entries(query).map(([name, value = ""]) => [name, withoutUnseen(value)]));
  return (
    <>
      {choices.length > 0 && (
        <nav class="ranges" aria-label={choicesLabel}>
          {choices.map(([label, values]) => (
            <a
              class="chip"
              href={filteredPath(path, { ...query, ...values })}
              aria-current={
                Object.entries(values).every(([name, value]) => (query[name] ?? "") === value) ? "true" : undefined
              }
            >
              {label}
            </a>
          ))}
        </nav>
      )}
      <search class="filter">
        <details open={Object.values(fields).some(({ error }) => error !== undefined)}>
          <summary class="button plain">
            <Icon name="filter" />
            {inForce.length === 0 ? t("Filter") : t("Filter ({0})", inForce.length)}
          </summary>
          <form method="get" action={path}>
            {Object.entries(fields).map(([name, { shown: _, options, ...field }]) => (
              <Field
                name={name}
                {...field}
                {...(options && { options: withLacking(options, t("Any"), field.value) })}
              />
            ))}
            <button type="submit" class="plain">
              {t("Find")}
            </button>
          </form>
        </details>
        {inForce.length > 0 && (
          <div class="chips">
            {inForce.map(([name, { label, value, shown, options }]) => (
              <a class="chip" href={filteredPath(path, query, name)}>
                <span>
                  {label}: <bdi>{shown ?? options?.find(([each]) => each === value)?.[1] ?? value}</bdi>
                </span>
                <Icon name="close" />
                <span class="unseen">{t("Take this filter off")}</span>
              </a>
            ))}
            <a href={path}>{t("Clear")}</a>
          </div>
        )}
        {texts.length > 0 && (
          <Unseen texts={texts}>
            <a class="button plain" href={filteredPath(path, clean)}>
              {t("Search without them")}
            </a>
          </Unseen>
        )}
      </search>
    </>
  );
}

/** Options with “Any” before them, and the value in force after them, unless they have these. */
function withLacking(options: [value: string, text: string][], any: string, value = ""): [string, string][] {
  const lacks = (wanted: string) => !options.some(([each]) => each === wanted);
  const own: [string, string][] = value !== "" && lacks(value) ? [[value, value]] : [];
  return [...(lacks("") ? [["", any] as [string, string]] : []), ...options, ...own];
}

/**
 * A list of a page. On every list the parts stand in this order: what adds to it, its filter, its rows, how far it looked, its pages.
 *
 * @param props `path` is the list's own, without a query; `lookedTo` says how far a bounded search looked
 */
export function List(props: {
  path: string;
  label: string;
  add?: Child;
  filter?: Omit<Parameters<typeof ListFilter>[0], "path"> | false | undefined;
  head: (string | Column)[];
  rows: Child[][];
  actions?: Child[];
  ids?: (string | undefined)[];
  empty: Child;
  lookedTo?: Child;
  cursor: string | null;
  next?: string | undefined;
}) {
  const { path, add, filter, lookedTo, cursor, next, ...table } = props;
  return (
    <>
      {(add || filter) && (
        <div class="above">
          {add}
          {filter && <ListFilter path={path} {...filter} />}
        </div>
      )}
      <Table {...table} />
      {lookedTo && <p class="hint">{lookedTo}</p>}
      <MoreLink path={path} query={filter ? queryOf(filter.fields) : undefined} cursor={cursor} next={next} />
    </>
  );
}
