import type { Recipient } from "../../services/erasure-recipients.ts";
import type { Site } from "../../services/sites.ts";
import { Badge, NoticeBox } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import type { View } from "../view.ts";
import { shownUrl } from "../webhooks/webhook-of.tsx";

/** The webhooks of an erasure: which got the customer's data, and which get the event of the erasure. */
export function Recipients(props: { view: View; site: Site; recipients: Recipient[]; hasEvents: boolean }) {
  const { view, site, recipients, hasEvents } = props;
  const { t } = view;
  const number = new Intl.NumberFormat(view.language);
  const recipientsNotTold = recipients.filter(({ told }) => !told);
  return (
    <section class="part">
      <h2>{t("Who has got the data")}</h2>
      {recipientsNotTold.length > 0 && (
        <NoticeBox kind="bad" title={t("Not told: {0} of {1} receivers", recipientsNotTold.length, recipients.length)}>
          <p>
            {t(
              "Ask whoever runs them to erase this customer too. An event tells a receiver only while its webhook is enabled and takes session.erased.",
            )}{" "}
            {!hasEvents && t("The events of this site are off.")}
          </p>
        </NoticeBox>
      )}
      <Table
        label={t("Who has got the data")}
        head={["Webhook", t("Events that it got"), t("May have arrived"), t("Is told")]}
        rows={recipients.map(({ id, url, delivered, attempted, told }) => [
          url === null ? (
            <span class="pair">
              <code>{id}</code>
              <small>{t("deleted")}</small>
            </span>
          ) : (
            <a class="clip" href={`/console/sites/${site.id}/webhooks/${id}`}>
              {shownUrl({ url })}
            </a>
          ),
          number.format(delivered),
          number.format(attempted),
          told ? <Badge kind="good" label={t("Yes")} /> : <Badge kind="bad" label={t("No")} />,
        ])}
        empty={t("This site has no webhooks.")}
      />
      {recipients.length > 0 && (
        <p class="hint">
          {t("Deliveries are counted as far as they are kept: a receiver may have got earlier ones too.")}
        </p>
      )}
    </section>
  );
}
