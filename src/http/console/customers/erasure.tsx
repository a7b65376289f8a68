import type { CustomerErasure } from "../../../services/erase-customer.ts";
import { shownReceipt } from "../../operator/shown-customer.ts";
import { Form } from "../parts/form.tsx";
import { Copyable, NoticeBox, Time } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import type { View } from "../view.ts";

/** What an erasure has done, what is left of it, and what is not erased. */
export function Erasure({
  view,
  path,
  erasure,
}: {
  view: View;
  path: string;
  erasure: CustomerErasure & { sbs: string | null };
}) {
  const { t } = view;
  const number = new Intl.NumberFormat(view.language);
  const { sessions, messages, participants, events, deliveries } = erasure.erasedSoFar;
  const facts: [string, number][] = [
    [t("Sessions"), sessions],
    [t("Messages"), messages],
    [t("Participants"), participants],
    [t("Events emptied"), events],
    [t("Deliveries skipped"), deliveries],
  ];
  return (
    <section class="card">
      {erasure.remaining === 0 ? (
        <NoticeBox kind="good" title={t("The customer is erased")} />
      ) : (
        <NoticeBox kind="note" title={t("Not done yet: {0} sessions are left", number.format(erasure.remaining))}>
          <Form view={view} action={`${path}/erase`}>
            <input type="hidden" name="sbs" value={erasure.sbs ?? ""} />
            <input type="hidden" name="sure" value="yes" />
            <button type="submit" class="danger">
              {t("Go on erasing")}
            </button>
          </Form>
        </NoticeBox>
      )}
      <h2>{t("Gone so far")}</h2>
      <dl class="facts">
        {facts.map(([term, count]) => (
          <>
            <dt>{term}</dt>
            <dd>{number.format(count)}</dd>
          </>
        ))}
        <NotErased view={view} erasure={erasure} />
      </dl>
      <h2>{t("Who has got something of it")}</h2>
      <p>{t("Tell those who are not told. An event that was on its way may still arrive.")}</p>
      <Table
        label={t("Who has got something of it")}
        head={["Webhook", t("Delivered"), t("On their way"), t("Told")]}
        rows={erasure.recipients.map(({ id, url, delivered, inFlight, told }) => [
          url === null ? (
            <>
              {t("deleted:")} <code>{id}</code>
            </>
          ) : (
            <a href={`${path.replace(/customers$/, "webhooks")}/${id}`}>{url}</a>
          ),
          number.format(delivered),
          number.format(inFlight),
          told ? t("yes") : t("no"),
        ])}
        empty={t("This site has no webhook.")}
      />
      {erasure.receipts !== undefined && (
        <>
          <NoticeBox kind="bad" title={t("Keep these receipts for 31 days")}>
            <p>
              {t(
                "No KV is bound, so this deployment keeps them nowhere. Settling a restored main needs them, so that nobody comes back.",
              )}
            </p>
          </NoticeBox>
          <dl class="facts">
            <Copyable
              view={view}
              id="receipts"
              label={t("Receipts")}
              text={JSON.stringify(erasure.receipts.map(shownReceipt))}
            />
          </dl>
        </>
      )}
    </section>
  );
}

/** What stays, and until when. Before the erasure the times are not known. */
export function NotErased({ view, erasure }: { view: View; erasure?: CustomerErasure }) {
  const { t } = view;
  return (
    <>
      <dt>{t("Not erased")}</dt>
      <dd>
        <ul>
          <li>
            {t("the state that D1’s Time Travel keeps for 30 days")}
            {erasure && (
              <>
                {": "}
                {t("until")} <Time view={view} at={erasure.timeTravelUntil} />
              </>
            )}
          </li>
          <li>{t("free pages of the database file, until SQLite writes over them")}</li>
          <li>{t("what receivers have got, and what the callers keep")}</li>
          <li>
            {t("Idempotency-Keys of the customer’s calls, for up to 24 hours")}
            {erasure && (
              <>
                {": "}
                {t("until")} <Time view={view} at={erasure.keysUntil} />
              </>
            )}
          </li>
          <li>{t("your own exports of the database")}</li>
        </ul>
      </dd>
    </>
  );
}
