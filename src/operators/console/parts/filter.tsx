import type { PropsWithChildren } from "hono/jsx";
import { useView } from "../view.ts";
import { Icon } from "./icons.tsx";
import { hasUnseen, Unseen, withoutUnseen } from "./unseen.tsx";

/** Filters as parameters of an address. An empty one does not filter. */
type FilterParameters = Readonly<Record<string, string | undefined>>;

/** A filter in force: its label and value, and the address of the list without it. */
export interface FilterInForce {
  label: string;
  value: string;
  without: string;
}

/**
 * The filter above a list, with the filters in force. On a phone it is folded.
 *
 * @param props `path` is the list's own, without a query; `parameters` are those of its address; the children are fields
 */
export function Filter(
  props: PropsWithChildren<{
    path: string;
    parameters: FilterParameters;
    filtersInForce: FilterInForce[];
    /** Opens the filter on a phone. */
    open?: boolean;
  }>,
) {
  const { path, parameters, filtersInForce, open, children } = props;
  const { t } = useView();
  const texts = Object.values(parameters).filter((value) => value !== undefined && hasUnseen(value)) as string[];
  const clean = Object.fromEntries(
    Object.entries(parameters).map(([name, value = ""]) => [name, withoutUnseen(value)]),
  );
  return (
    <search class="filter">
      <details open={open}>
        <summary class="button plain">
          <Icon name="filter" />
          {filtersInForce.length === 0 ? t("Filter") : t("Filter ({0})", filtersInForce.length)}
        </summary>
        <form method="get" action={path}>
          {children}
          <button type="submit" class="plain">
            {t("Find")}
          </button>
        </form>
      </details>
      {filtersInForce.length > 0 && (
        <div class="chips">
          {filtersInForce.map(({ label, value, without }) => (
            <a class="chip" href={without}>
              <span>
                {label}: <bdi>{value}</bdi>
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
  );
}

/**
 * The address of a list with these filters. Empty ones are left out.
 *
 * @param droppedName the name of a filter to leave out too
 */
export function filteredPath(path: string, filters: FilterParameters, droppedName?: string): string {
  const set = Object.entries(filters).filter(([name, value]) => value && name !== droppedName);
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set as [string, string][])}`;
}
