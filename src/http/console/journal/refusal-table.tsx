import { type Refusal, wireNameOf } from "../../../services/journal.ts";
import { detailTexts } from "../details.ts";
import { Badge, Time } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { reasonText } from "../reasons.ts";
import type { View } from "../view.ts";

/** The path of a call's page. */
export const callPath = (siteId: number, requestId: string): string => `/console/sites/${siteId}/requests/${requestId}`;

/** The signature check, with what the journal knows of the call filled in. */
export const checkPath = ({ requestId, appid, operation }: Refusal): string =>
  `/console/signature-check?${new URLSearchParams({ operation: wireNameOf(operation), appid, request: requestId })}`;

/**
 * Refused calls: each with its reason in plain words, and what to do.
 *
 * @param names the names of apps by their appids; of others the appid is shown
 */
export function RefusalTable(props: {
  view: View;
  refusals: Refusal[];
  names: ReadonlyMap<string, string>;
  empty: string;
}) {
  const { view, refusals, names, empty } = props;
  const { t } = view;
  return (
    <Table
      label={t("Refused calls")}
      head={[t("When"), t("Call"), t("Why"), t("What to do"), t("Left out before")]}
      rows={refusals.map((refusal) => {
        const { what, cure } = reasonText(view, refusal.reason);
        return [
          <a href={callPath(refusal.siteId, refusal.requestId)}>
            <Time view={view} at={refusal.at} />
          </a>,
          <span class="pair">
            <code>{wireNameOf(refusal.operation)}</code>
            <a href={`/console/sites/${refusal.siteId}/apps/${refusal.appid}`}>
              <bdi>{names.get(refusal.appid) ?? refusal.appid}</bdi>
            </a>
          </span>,
          <span class="pair">
            <span>
              <Badge kind="bad" label={String(refusal.status)} /> {what}
            </span>
            {detailTexts(view, refusal.detail ?? "").map((text) => (
              <bdi class="long">{text}</bdi>
            ))}
          </span>,
          <span class="pair">
            <span>{cure}</span>
            <a href={checkPath(refusal)}>{t("Check this request")}</a>
          </span>,
          refusal.skipped === 0 ? "–" : t("{0} more", new Intl.NumberFormat(view.language).format(refusal.skipped)),
        ];
      })}
      empty={empty}
    />
  );
}
