import type { Site } from "../../services/sites.ts";
import { EmptyState } from "../parts/parts.tsx";
import { hasUnseen, showUnseen } from "../parts/unseen.tsx";
import type { View } from "../view.ts";
import { FirstCall } from "./first-call.tsx";
import type { Choices, SessionFilterFields } from "./session-filter.ts";

/**
 * Replaces an empty list: says why it is empty, and what to do next.
 *
 * @param props `others`: whether the site has any session, and whether the asked-for customer has one
 */
export function NoSession(props: {
  view: View;
  site: Site;
  filter: SessionFilterFields;
  choices: Choices;
  path: string;
  origin: string;
  others: { site: boolean; customer: boolean };
}) {
  const { view, site, filter, choices, path, origin, others } = props;
  const { t } = view;
  if (!others.site) {
    return (
      <EmptyState title={t("No session yet")}>
        <FirstCall view={view} site={site} choices={choices} origin={origin} />
      </EmptyState>
    );
  }
  const allSessionsLink = (
    <a class="button plain" href={path}>
      {t("All sessions")}
    </a>
  );
  if (filter.sbs !== "" && !others.customer) {
    return (
      <EmptyState title={t("This site has no session of this customer")}>
        <p>
          {t("The customer id must be the same to the letter:")} <bdi class="long">{showUnseen(filter.sbs)}</bdi>
        </p>
        {!hasUnseen(filter.sbs) && (
          <p>{t("Sessions that were erased, or that are older than this site keeps them, are gone.")}</p>
        )}
        <p class="buttons">
          <a class="button plain" href={`/console/sites/${site.id}/customers`}>
            {t("Latest customers")}
          </a>
          {allSessionsLink}
        </p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title={t("No session fits all of these filters")}>
      <p>
        {filter.sbs === ""
          ? t("Take one of them off above.")
          : t("This customer has sessions, but none that fits the other filters: take one of them off above.")}
      </p>
      <p class="buttons">{allSessionsLink}</p>
    </EmptyState>
  );
}
