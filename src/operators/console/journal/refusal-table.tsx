import { type Refusal, wireNameOf } from "../../services/journal.ts";
import { Ago, Badge } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { reasonText } from "../reasons.ts";
import type { View } from "../view.ts";
import { refusalTexts } from "./refusal-texts.ts";

export const callPath = (siteId: number, requestId: string): string => `/console/sites/${siteId}/requests/${requestId}`;

/** The address of the signature check, with the fields that the journal knows of the call. */
export const checkPath = ({ requestId, appid, operation }: Refusal): string =>
  `/console/signature-check?${new URLSearchParams({ operation: wireNameOf(operation), appid, request: requestId })}`;

/** Refused calls, a row each. The fault links to the page of the call, which says what to do. */
export function RefusalTable(props: {
  view: View;
  refusals: Refusal[];
  nameOf: (appid: string) => string;
  empty: string;
}) {
  const { view, refusals, nameOf, empty } = props;
  const { t } = view;
  const number = new Intl.NumberFormat(view.language);
  return (
    <Table
      label={t("Refused calls")}
      head={[t("Why"), { label: t("When"), phone: "top", end: true }, t("App"), t("Call"), t("Answer")]}
      rows={refusals.map((refusal) => {
        const { siteId, requestId, reason, appid, operation, status, at, skipped } = refusal;
        const details = refusalTexts(view, refusal).join(" ");
        const moreText = skipped > 0 && t("{0} more like it before were left out.", number.format(skipped));
        return [
          <span class="why">
            <a class="clip" href={callPath(siteId, requestId)}>
              {reasonText(view, reason).what}
            </a>
            {(details !== "" || moreText) && (
              <small class="clip" title={details}>
                <bdi>{details}</bdi> {moreText}
              </small>
            )}
          </span>,
          <Ago at={at} />,
          <a class="clip" href={`/console/sites/${siteId}/apps/${appid}`}>
            <bdi>{nameOf(appid)}</bdi>
          </a>,
          <code>{wireNameOf(operation)}</code>,
          <Badge kind={status >= 500 ? "bad" : "wait"} label={String(status)} />,
        ];
      })}
      empty={empty}
    />
  );
}
