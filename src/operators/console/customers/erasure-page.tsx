import { receiptData, receiptSchema } from "../../http/customer-data.ts";
import { show } from "../../http/show.ts";
import { type CustomerErasure, continueErasure, readErasure } from "../../services/erase-customer.ts";
import { type Site, siteHasEvents } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Form } from "../parts/form.tsx";
import { Copyable, NoticeBox } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { customersPath } from "./customer-form.ts";
import { Recipients } from "./recipients.tsx";
import { ShownSbs } from "./shown-sbs.tsx";
import { WhatStays } from "./what-stays.tsx";

const erasureOf = (c: PageContext) => c.req.param("erasure_id") ?? "";

/** Answers the button that goes on with an erasure. */
export async function postErasure(c: PageContext, site: Site): Promise<Response> {
  const path = `${customersPath(site)}/erasures/${erasureOf(c)}`;
  return buttonAction(c, await readForm(c), {
    draft: { path },
    list: path,
    work: async () => {
      await continueErasure(c.var.ctx, { site, erasureId: erasureOf(c) });
      return path;
    },
  });
}

/** Shows how far an erasure is, which webhooks got the customer's data, and what stays elsewhere. Its address names no customer. */
export async function erasurePage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const [erasure, hasEvents] = await Promise.all([
    readErasure(ctx, { site, erasureId: erasureOf(c) }),
    siteHasEvents(ctx, { site }),
  ]);
  const { id, sbs, erasedSoFar, remaining, recipients, timeTravelUntil, keysUntil, receipts } = erasure;
  const isDone = remaining === 0;
  const number = (count: number) => new Intl.NumberFormat(view.language).format(count);
  const rows: Record<keyof typeof erasedSoFar, string> = {
    sessions: t("Sessions"),
    messages: t("Messages"),
    participants: t("Participants"),
    events: t("What events said"),
    deliveries: t("Deliveries called off"),
  };
  const body = (
    <>
      <Progress view={view} path={`${customersPath(site)}/erasures/${id}`} erasure={erasure} />
      {receipts !== undefined && receipts.length > 0 && <Receipts view={view} receipts={receipts} />}
      <section class="card">
        <h2>{isDone ? t("Erased") : t("Erased so far")}</h2>
        <dl class="facts">
          {sbs !== null && (
            <>
              <dt>{t("Customer id (sbs)")}</dt>
              <dd>
                <ShownSbs sbs={sbs} />
              </dd>
            </>
          )}
          {Object.entries(rows).map(([what, label]) => (
            <>
              <dt>{label}</dt>
              <dd>{number(erasedSoFar[what as keyof typeof rows])}</dd>
            </>
          ))}
          {!isDone && (
            <>
              <dt>{t("Sessions left")}</dt>
              <dd>{number(remaining)}</dd>
            </>
          )}
          <Copyable id="erasure-id" label={t("Id of the erasure")} text={id} />
        </dl>
        <p class="hint">{t("The audit log has it under this id.")}</p>
      </section>
      <Recipients view={view} site={site} recipients={recipients} hasEvents={hasEvents} />
      <WhatStays view={view} until={isDone ? { timeTravel: timeTravelUntil, keys: keysUntil } : undefined} />
      <p>
        <a class="button plain" href={customersPath(site)}>
          {t("Another customer")}
        </a>
      </p>
    </>
  );
  const title = isDone ? t("A customer's data was erased") : t("Erasing a customer's data");
  return showPage(c, { title, site: { ...site, tab: "customers" }, body });
}

/** Whether the erasure is done, and the button that continues it. */
function Progress({ view, path, erasure }: { view: View; path: string; erasure: CustomerErasure }) {
  const { t } = view;
  const { remaining, erasedSoFar, receipts } = erasure;
  if (remaining === 0) {
    return (
      <NoticeBox kind="good" title={t("It is done")}>
        <p>
          {t(
            "Everything from before the beginning of this erasure is gone. Sessions that were opened since then stay.",
          )}
        </p>
      </NoticeBox>
    );
  }
  const isBegun = erasedSoFar.sessions > 0;
  const remainingText = new Intl.NumberFormat(view.language).format(remaining);
  const mustKeep = receipts !== undefined && !isBegun;
  const title = mustKeep
    ? t("Nothing is erased yet: keep the receipts below first")
    : t("It is not done: sessions left: {0}", remainingText);
  return (
    <NoticeBox kind="note" title={title}>
      <p>{t("It goes in steps. Press again until nothing is left; this page can be opened again at any time.")}</p>
      <Form action={path}>
        <button type="submit" class="danger">
          {mustKeep ? t("I have kept them: erase now") : t("Go on erasing")}
        </button>
      </Form>
    </NoticeBox>
  );
}

/** The receipts to store by hand, for a deployment where no place for them survives a restore. */
function Receipts({ view, receipts }: { view: View; receipts: NonNullable<CustomerErasure["receipts"]> }) {
  const { t } = view;
  return (
    <section class="card">
      <h2>{t("Receipts to keep for 31 days")}</h2>
      <p>
        {t(
          "This deployment has no KV, so a restore of its main database also undoes what it knows of this erasure. Without these receipts, such a restore brings the customer back for good. Keep them outside of the deployment, and paste them in after a restore.",
        )}
      </p>
      <dl class="facts">
        <Copyable
          id="receipts"
          label={t("Receipts")}
          text={JSON.stringify(receipts.map((each) => show(receiptSchema, receiptData(each))))}
        />
      </dl>
    </section>
  );
}
