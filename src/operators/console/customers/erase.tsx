import { eraseCustomer } from "../../services/erase-customer.ts";
import { findCustomer, findErasure, MOST_CHAT_IDS } from "../../services/find-customer.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { isDraft } from "../forms/submit-once.ts";
import { showPage } from "../layout.tsx";
import { Ask } from "../parts/ask.tsx";
import {
  countText,
  customerPath,
  customersPath,
  customerValue,
  ShownSbs,
  sentCustomer,
  statusOf,
  unknownCustomer,
} from "./customer-form.tsx";
import { customersPage } from "./customers-page.tsx";
import { WhatStays } from "./erasure-page.tsx";

/** Answers the button that asks before the erasure, and the form that erases. That form has the field `asked` and a box to tick. */
export async function postErase(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view } = c.var;
  const form = await readForm(c);
  const wasConfirmationAsked = form.asked !== undefined;
  const { values, entered } = sentCustomer(view, form);
  const { path } = c.req;
  // A draft leads to the question again, and its box need not be ticked yet.
  const isUnticked = wasConfirmationAsked && form.sure === undefined && !(await isDraft(c, form));
  const askOr = (sbs: string, filledForm?: FilledForm): Promise<Response> =>
    question(c, site, sbs, filledForm).catch(async (error: unknown) => {
      const errors = unknownCustomer(view, error);
      if (errors === undefined) throw error;
      const erasure = await findErasure(ctx, { site, sbs });
      if (erasure !== undefined) return c.redirect(`${customersPath(site)}/erasures/${erasure}`, 303);
      return customersPage(c, site, { path, values, errors });
    });
  return formAction(c, form, {
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

/** Asks before a customer is erased, and shows what is stored now. @throws ServiceError as `findCustomer` does */
async function question(c: PageContext, site: Site, sbs: string, filledForm?: FilledForm): Promise<Response> {
  const { view, t } = c.var;
  const { name, chatIds } = await findCustomer(c.var.ctx, { site, sbs });
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
          chatIds.length > 0 && ["chat_id", <ChatIds site={site} ids={chatIds} />],
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
function ChatIds({ site, ids }: { site: Site; ids: number[] }) {
  const shown = ids.length <= 5 ? ids : [...ids.slice(0, 3), ids.at(-1) ?? 0];
  return (
    <>
      {shown.map((id, at) => (
        <>
          {at > 0 && (shown.length < ids.length && at === shown.length - 1 ? " … " : ", ")}
          <a href={`/console/sites/${site.id}/sessions/${id}`}>{id}</a>
        </>
      ))}
    </>
  );
}
