import { eraseCustomer } from "../../services/erase-customer.ts";
import { findCustomer, findErasure, MOST_CHAT_IDS } from "../../services/find-customer.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { type EnteredFields, formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { isDraft } from "../forms/submit-once.ts";
import { showPage } from "../layout.tsx";
import { Ask } from "../parts/ask.tsx";
import { FormErrors } from "../parts/form.tsx";
import {
  customerPath,
  customersPath,
  customerValue,
  sentCustomer,
  statusOf,
  unknownCustomer,
} from "./customer-form.ts";
import { customersPage } from "./customers-page.tsx";
import { ShownSbs } from "./shown-sbs.tsx";
import { WhatStays } from "./what-stays.tsx";

/** Answers the button that asks before the erasure, and the form that erases. That form has the field `asked` and a box to tick. */
export async function postErase(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view } = c.var;
  const form = await readForm(c);
  const wasConfirmationAsked = form.asked !== undefined;
  const customer = sentCustomer(view, form);
  const values = wasConfirmationAsked ? { ...customer.values, asked: "yes" } : customer.values;
  const { path } = c.req;
  // A draft leads to the question again, and its box need not be ticked yet.
  const mustTick = wasConfirmationAsked && !(await isDraft(c, form));
  const askOr = async (sbs: string, filledForm?: FilledForm): Promise<Response> => {
    try {
      return await askPage(c, site, sbs, filledForm);
    } catch (error) {
      const errors = unknownCustomer(view, error);
      if (errors === undefined) throw error;
      const erasure = await findErasure(ctx, { site, sbs });
      if (erasure !== undefined) return c.redirect(`${customersPath(site)}/erasures/${erasure}`, 303);
      return customersPage(c, site, { path, values: customer.values, errors });
    }
  };
  return formAction(c, form, {
    values,
    entered: mustTick ? requireTick(c, form, customer.entered) : customer.entered,
    page: (filledForm) =>
      wasConfirmationAsked && filledForm.errors.sbs === undefined && "input" in customer.entered
        ? askOr(customer.entered.input.sbs, filledForm)
        : customersPage(c, site, { path, ...filledForm, values: customer.values }),
    refused: (error) => unknownCustomer(view, error),
    ask: wasConfirmationAsked ? undefined : ({ sbs }) => askOr(sbs),
    list: customersPath(site),
    work: async ({ sbs }) => `${customersPath(site)}/erasures/${(await eraseCustomer(ctx, { site, sbs })).id}`,
  });
}

function requireTick<Input>(
  c: PageContext,
  form: Record<string, string>,
  entered: EnteredFields<Input>,
): EnteredFields<Input> {
  if ("errors" in entered || form.sure !== undefined) return entered;
  return { errors: { sure: c.var.view.t("Tick it: this cannot be undone.") } };
}

/** Asks before a customer is erased, and shows what is stored now. @throws ServiceError as `findCustomer` does */
async function askPage(c: PageContext, site: Site, sbs: string, filledForm?: FilledForm): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const { name, chatIds } = await findCustomer(c.var.ctx, { site, sbs });
  const lastChatId = chatIds.at(-1);
  const count = new Intl.NumberFormat(view.language).format(chatIds.length);
  const errors = filledForm?.errors ?? {};
  const hidden = { customer: customerValue(sbs), asked: "yes" };
  const body = (
    <>
      <FormErrors filled={filledForm} fields={{ sure: t("Nobody can undo this") }} />
      <Ask
        text={t(
          "The sessions of this customer go, with messages, participants and metadata, and with what their events say. Others stay as they are.",
        )}
        facts={
          <>
            <dt>{t("Customer")}</dt>
            <dd>
              <bdi>{name}</bdi>
            </dd>
            <dt>{t("Customer id (sbs)")}</dt>
            <dd>
              <ShownSbs sbs={sbs} />
            </dd>
            <dt>{t("Sessions")}</dt>
            <dd>{chatIds.length === MOST_CHAT_IDS ? t("{0} or more", count) : count}</dd>
            {chatIds.length > 0 && (
              <>
                <dt>chat_id</dt>
                <dd>
                  <ChatIds site={site} ids={chatIds} />
                </dd>
              </>
            )}
          </>
        }
        action={`${customersPath(site)}/erase`}
        hidden={hidden}
        fields={
          <div class="field">
            <p class="tick">
              <input
                type="checkbox"
                id="sure"
                name="sure"
                required
                aria-invalid={errors.sure ? "true" : undefined}
                aria-describedby={errors.sure && "sure-error"}
              />
              <label for="sure">{t("Nobody can undo this")}</label>
            </p>
            {errors.sure && (
              <p class="error" id="sure-error">
                {errors.sure}
              </p>
            )}
          </div>
        }
        button={t("Erase now")}
        keep={t("Cancel")}
        back={lastChatId === undefined ? customersPath(site) : customerPath(site, lastChatId)}
      />
      <WhatStays view={view} />
    </>
  );
  const page = { title: t("Erase this customer's data?"), site: { ...site, tab: "customers" as const }, body };
  const filled = { path: `${customersPath(site)}/erase`, values: hidden };
  return showPage(c, { ...page, filled }, statusOf(view, errors));
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
