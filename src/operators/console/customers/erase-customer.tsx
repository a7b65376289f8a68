import type { Child } from "hono/jsx";
import { receiptData, receiptSchema } from "../../http/customer-data.ts";
import { show } from "../../http/show.ts";
import { type CustomerErasure, continueErasure, eraseCustomer, readErasure } from "../../services/erase-customer.ts";
import type { Recipient } from "../../services/erasure-recipients.ts";
import { findCustomer, findErasure, MOST_CHAT_IDS } from "../../services/find-customer.ts";
import { requireOpenHome } from "../../services/service-context.ts";
import { type Site, siteHasEvents } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { buttonAction, formAction, isDraft } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Ask } from "../parts/ask.tsx";
import { Form, SendButton } from "../parts/form.tsx";
import { Table } from "../parts/list.tsx";
import { Badge, Card, Facts, LookAgain, NoticeBox, Part, Time } from "../parts/parts.tsx";
import { useView } from "../view.ts";
import { shownUrl } from "../webhooks/webhook-of.tsx";
import {
  countText,
  customerPath,
  customersPath,
  customerValue,
  ShownSbs,
  sentCustomer,
  statusOf,
  unknownCustomer,
} from "./customer-page.tsx";
import { customersPage } from "./customers-page.tsx";

/** Answers the button that asks before the erasure, and the form that erases. That form has the field `asked` and a box to tick. */
export async function postErase(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, form } = c.var;
  const wasConfirmationAsked = form.asked !== undefined;
  const { values, entered } = sentCustomer(c.var);
  const { path } = c.req;
  // A draft leads to the question again, and its box need not be ticked yet.
  const isUnticked = wasConfirmationAsked && form.sure === undefined && !(await isDraft(c));
  const askOr = (sbs: string, filledForm?: FilledForm): Promise<Response> =>
    question(c, site, sbs, filledForm).catch(async (error: unknown) => {
      const errors = unknownCustomer(view, error);
      if (errors === undefined) throw error;
      const erasure = await findErasure(ctx, { site, sbs });
      if (erasure !== undefined) return c.redirect(`${customersPath(site)}/erasures/${erasure}`, 303);
      return customersPage(c, site, { path, values, errors });
    });
  return formAction(c, {
    values: wasConfirmationAsked ? { ...values, asked: "yes" } : values,
    entered:
      isUnticked && "input" in entered ? { errors: { sure: view.t("Tick it: this cannot be undone.") } } : entered,
    page: (filledForm) =>
      wasConfirmationAsked && filledForm.errors.sbs === undefined && "input" in entered
        ? askOr(entered.input.sbs, filledForm)
        : customersPage(c, site, { path, ...filledForm, values }),
    refused: (error) => unknownCustomer(view, error),
    ask: wasConfirmationAsked ? undefined : ({ sbs }) => askOr(sbs),
    list: customersPath(site),
    work: async ({ sbs }) => `${customersPath(site)}/erasures/${(await eraseCustomer(ctx, { site, sbs })).id}`,
  });
}

/** Asks before a customer is erased, and shows what is stored now. @throws ServiceError as `findCustomer` does, and while the home is closed */
async function question(c: PageContext, site: Site, sbs: string, filledForm?: FilledForm): Promise<Response> {
  const { view, t } = c.var;
  const { name, chatIds } = await findCustomer(c.var.ctx, { site, sbs });
  requireOpenHome(c.var.ctx, site.home);
  const lastChatId = chatIds.at(-1);
  const path = `${customersPath(site)}/erase`;
  const hidden = { customer: customerValue(sbs), asked: "yes" };
  const body = (
    <>
      <Ask
        text={t(
          "The sessions of this customer go, with messages, participants and metadata, and with what their events say. Others stay as they are.",
        )}
        facts={[
          [t("Customer"), <bdi>{name}</bdi>],
          [t("Customer id (sbs)"), <ShownSbs sbs={sbs} />],
          [t("Sessions"), countText(view, chatIds.length, MOST_CHAT_IDS)],
          chatIds.length > 0 && ["chat_id", chatIdsFact(site, chatIds)],
        ]}
        action={path}
        hidden={hidden}
        fields={{ sure: { label: t("Nobody can undo this"), type: "checkbox", required: true } }}
        filled={filledForm}
        button={t("Erase now")}
        back={lastChatId === undefined ? customersPath(site) : customerPath(site, lastChatId)}
      />
      <WhatStays />
    </>
  );
  const page = { title: t("Erase this customer's data?"), site: { ...site, tab: "customers" as const }, body };
  return showPage(c, { ...page, filled: { path, values: hidden } }, statusOf(view, filledForm?.errors ?? {}));
}

/** The first sessions and the last one. They help the reader to see which customer this is. */
function chatIdsFact(site: Site, ids: number[]): Child {
  const shown = ids.length <= 5 ? ids : [...ids.slice(0, 3), ids.at(-1) ?? 0];
  return shown.map((id, at) => [
    at > 0 && (shown.length < ids.length && at === shown.length - 1 ? " … " : ", "),
    <a href={`/console/sites/${site.id}/sessions/${id}`}>{id}</a>,
  ]);
}

const erasureOf = (c: PageContext) => c.req.param("erasure_id") ?? "";

/** Answers the button that goes on with an erasure. */
export async function postErasure(c: PageContext, site: Site): Promise<Response> {
  const work = async () => {
    await continueErasure(c.var.ctx, { site, erasureId: erasureOf(c) });
    return c.req.path;
  };
  return buttonAction(c, { work });
}

/** Shows how far an erasure is, which webhooks got the customer's data, and what stays elsewhere. Its address names no customer. */
export async function erasurePage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  const { number } = view;
  const [erasure, hasEvents] = await Promise.all([
    readErasure(ctx, { site, erasureId: erasureOf(c) }),
    siteHasEvents(ctx, { site }),
  ]);
  const { id, sbs, erasedSoFar, remaining, recipients, timeTravelUntil, keysUntil, receipts = [] } = erasure;
  const isDone = remaining === 0;
  const shownReceipts = receipts.map((each) => show(receiptSchema, receiptData(each)));
  const body = (
    <>
      <Progress path={c.req.path} erasure={erasure} />
      {/* The receipts are for a deployment where no place for them survives a restore. */}
      {receipts.length > 0 && (
        <Card title={t("Receipts to keep for 31 days")}>
          <p>
            {t(
              "This deployment has no KV, so a restore of its main database also undoes what it knows of this erasure. Without these receipts, such a restore brings the customer back for good. Keep them outside of the deployment, and paste them in after a restore.",
            )}
          </p>
          <Facts rows={[[t("Receipts"), JSON.stringify(shownReceipts), "receipts"]]} />
        </Card>
      )}
      <Card
        title={isDone ? t("Erased") : t("Erased so far")}
        facts={[
          sbs !== null && [t("Customer id (sbs)"), <ShownSbs sbs={sbs} />],
          [t("Sessions"), number(erasedSoFar.sessions)],
          [t("Messages"), number(erasedSoFar.messages)],
          [t("Participants"), number(erasedSoFar.participants)],
          [t("Contents of events"), number(erasedSoFar.events)],
          [t("Deliveries called off"), number(erasedSoFar.deliveries)],
          !isDone && [t("Sessions left"), number(remaining)],
          [t("Id of the erasure"), id, "erasure-id"],
        ]}
      >
        <p class="hint">{t("The audit log has it under this id.")}</p>
      </Card>
      <Recipients site={site} recipients={recipients} hasEvents={hasEvents} />
      <WhatStays until={isDone ? { timeTravel: timeTravelUntil, keys: keysUntil } : undefined} />
    </>
  );
  const title = isDone ? t("A customer's data was erased") : t("Erasing a customer's data");
  return showPage(c, { title, site: { ...site, tab: "customers" }, body });
}

function Progress({ path, erasure }: { path: string; erasure: CustomerErasure }) {
  const { t, number } = useView();
  const { remaining, erasedSoFar, receipts } = erasure;
  if (remaining === 0)
    return (
      <NoticeBox kind="good" title={t("It is done")}>
        <p>{t("Everything from before this erasure began is gone. Sessions opened since then stay.")}</p>
      </NoticeBox>
    );
  const mustKeep = receipts !== undefined && erasedSoFar.sessions === 0;
  const title = mustKeep
    ? t("Nothing is erased yet: keep the receipts below first")
    : t("It is not done: sessions left: {0}", number(remaining));
  return (
    <NoticeBox kind="note" title={title}>
      <p>{t("It goes in steps. Press again until nothing is left; this page can be opened again at any time.")}</p>
      <LookAgain />
      <Form action={path}>
        <SendButton label={mustKeep ? t("I have kept them: erase now") : t("Go on erasing")} class="danger" />
      </Form>
    </NoticeBox>
  );
}

/** The webhooks of an erasure: which got the customer's data, and which get the event of the erasure. */
function Recipients({ site, recipients, hasEvents }: { site: Site; recipients: Recipient[]; hasEvents: boolean }) {
  const { t, number } = useView();
  const notTold = recipients.filter(({ told }) => !told);
  return (
    <Part title={t("Who has got the data")}>
      {notTold.length > 0 && (
        <NoticeBox kind="bad" title={t("Not told: {0} of {1} receivers", notTold.length, recipients.length)}>
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
        head={[
          "Webhook",
          { label: t("Events that it got"), end: true },
          { label: t("May have arrived"), end: true },
          { label: t("Is told"), named: true, phone: "top" },
        ]}
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
          number(delivered),
          number(attempted),
          told ? <Badge kind="good" label={t("Yes")} /> : <Badge kind="bad" label={t("No")} />,
        ])}
        empty={t("This site has no webhooks.")}
      />
      {recipients.length > 0 && (
        <p class="hint">
          {t("Deliveries are counted as far as they are kept: a receiver may have got earlier ones too.")}
        </p>
      )}
    </Part>
  );
}

/** @param props `until`: for a completed erasure, when Time Travel and the Idempotency-Keys no longer have the data */
function WhatStays({ until }: { until?: { timeTravel: number; keys: number } | undefined }) {
  const { t } = useView();
  const stays: [text: string, until?: number | undefined][] = [
    [t("D1's Time Travel: for 30 days it can bring back the database as it was."), until?.timeTravel],
    [
      t("Idempotency-Keys of the customer's calls, for up to 24 hours: the key, and a fingerprint of the call."),
      until?.keys,
    ],
    [t("Free pages of the database file: the platform writes over them when it needs them.")],
    [t("What receivers of webhooks have stored. Those that take session.erased are told which chat_ids are gone.")],
    [t("The data of the systems that opened the sessions, exported files, and copies of the database.")],
    [t("The audit log: when and by whom somebody was erased. In place of the customer's id it has a hash.")],
  ];
  return (
    <Card title={t("What erasing does not reach")}>
      <ul class="stays">
        {stays.map(([text, end]) => (
          <li>
            {text}
            {end !== undefined && [` ${t("Until:")} `, <Time at={end} />]}
          </li>
        ))}
      </ul>
    </Card>
  );
}
