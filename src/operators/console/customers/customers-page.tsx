import { isVisible } from "../../../core/fields.ts";
import { type CustomerRow, customerOf, latestCustomers, readCustomer } from "../../services/read-customer.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Action, Field, Form, Hidden } from "../parts/form.tsx";
import { Ago, EmptyState, NoticeBox } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { hasUnseen, showUnseen, Unseen, withoutUnseen } from "../parts/unseen.tsx";
import { useView } from "../view.ts";
import {
  customerPath,
  customersPath,
  isUnknown,
  sbsOf,
  sentCustomer,
  statusOf,
  unknownCustomer,
} from "./customer-form.tsx";
import { customerPage } from "./customer-page.tsx";

/** A customer has up to 64 characters. Browsers count UTF-16 units, and a character has up to two of them. */
const MOST_UNITS = 128;

const CUSTOMERS_PER_PAGE = 25;

/** A sent form that is shown again. */
type FormShownAgain = FilledForm & { path: string };

/** Shows the latest customers, with a form that finds any of them; or the customer of the session that the address names. */
export async function customersPage(c: PageContext, site: Site, filledForm?: FormShownAgain): Promise<Response> {
  if (filledForm !== undefined) {
    // With an error the field of the id is shown again, otherwise the customer's page.
    if (Object.keys(filledForm.errors).length > 0) return listPage(c, site, { filledForm });
    return orUnknown(c, site, filledForm, customerPage(c, site, sbsOf(filledForm.values), filledForm));
  }
  const chatId = c.req.query("chat_id")?.trim() ?? "";
  if (chatId === "") return listPage(c, site, {});
  const sbs = /^[1-9]\d{0,14}$/.test(chatId)
    ? await customerOf(c.var.ctx, { site, chatId: Number(chatId) })
    : undefined;
  return sbs === undefined ? listPage(c, site, { unknown: chatId }) : customerPage(c, site, sbs);
}

/**
 * Answers a form that names a customer. A wrong id is shown again at its field, and so is one that the site does not have.
 *
 * @param answer gets the customer's id, and the form to show again
 */
export async function withCustomer(
  c: PageContext,
  site: Site,
  form: Record<string, string>,
  answer: (sbs: string, filledForm: FormShownAgain) => Promise<Response>,
): Promise<Response> {
  const { values, entered } = sentCustomer(c.var.view, form);
  const filledForm = { path: c.req.path, values, errors: {} };
  if ("errors" in entered) return listPage(c, site, { filledForm: { ...filledForm, errors: entered.errors } });
  return orUnknown(c, site, filledForm, answer(entered.input.sbs, filledForm));
}

/** The answer; or the list, when the site does not have the customer of the form. */
const orUnknown = (c: PageContext, site: Site, filledForm: FormShownAgain, answer: Promise<Response>) =>
  answer.catch((error: unknown) => {
    const errors = unknownCustomer(c.var.view, error);
    if (errors === undefined) throw error;
    return listPage(c, site, { filledForm: { ...filledForm, errors } });
  });

/**
 * Redirects to the page of the customer whose id was typed. It only reads, so it needs no form token. A form that is sent again after
 * a sign-in or a change of language finds the customer at once.
 */
export async function postFind(c: PageContext, site: Site): Promise<Response> {
  c.set("onlyReads", true);
  return withCustomer(c, site, await readForm(c), async (sbs) => {
    const { last } = await readCustomer(c.var.ctx, { site, sbs });
    return c.redirect(customerPath(site, last.id), 303);
  });
}

/** @param props `unknown`: a chat_id that the site does not have */
async function listPage(
  c: PageContext,
  site: Site,
  props: { filledForm?: FormShownAgain; unknown?: string },
): Promise<Response> {
  const { filledForm, unknown } = props;
  const { view, ctx } = c.var;
  const { t } = view;
  const path = customersPath(site);
  const { values = {}, errors = {} } = filledForm ?? {};
  const customers = await latestCustomers(ctx, { site, limit: CUSTOMERS_PER_PAGE });
  const sbs = sbsOf(values);
  const isUnseen = isUnknown(view, errors) && hasUnseen(sbs);
  const error = isUnseen ? t("This site has no customer with exactly this id.") : errors.sbs;
  const body = (
    <>
      {unknown !== undefined && <NoticeBox kind="bad" title={t("This site has no session {0}", unknown)} />}
      {filledForm !== undefined && (
        <NoticeBox kind="bad" title={t("No customer was found, and nothing was changed.")}>
          <p>
            <a href="#sbs">{t("Customer id (sbs)")}</a>: {error}
          </p>
          {isUnseen && (
            <Unseen texts={[sbs]}>
              <Action action={`${path}/find`} label={t("Search without them")}>
                <Hidden values={{ sbs: withoutUnseen(sbs) }} />
              </Action>
            </Unseen>
          )}
        </NoticeBox>
      )}
      <search class="filter finds">
        <Form action={`${path}/find`}>
          {/* No input can hold a control character, so an id with one is shown as text. */}
          {/\p{Cc}/u.test(sbs) ? (
            <p id="sbs">{showUnseen(sbs)}</p>
          ) : (
            <Field
              label={t("Customer id (sbs), to the letter")}
              name="sbs"
              value={sbs}
              error={error}
              required
              maxlength={MOST_UNITS}
              code
            />
          )}
          <button type="submit">{t("Find")}</button>
          {isUnknown(view, errors) && view.may(`${path}/erase`) && (
            <button type="submit" class="plain" formaction={`${path}/erase`}>
              {t("Look for an erasure")}
            </button>
          )}
        </Form>
      </search>
      <LatestCustomers site={site} customers={customers} />
    </>
  );
  const page = { title: t("Customers"), site: { ...site, tab: "customers" as const }, back: path, body };
  return showPage(c, { ...page, filled: filledForm }, statusOf(view, errors));
}

function LatestCustomers({ site, customers }: { site: Site; customers: CustomerRow[] }) {
  const { t } = useView();
  if (customers.length === 0) {
    return (
      <EmptyState title={t("No customer yet")}>
        <p>
          {t("A customer is stored with their first session:")}{" "}
          <a href={`/console/sites/${site.id}/sessions`}>{t("how to open one")}</a>
        </p>
      </EmptyState>
    );
  }
  return (
    <section class="part">
      <h2>{t("Latest customers")}</h2>
      <Table
        label={t("Latest customers")}
        head={[
          t("Name"),
          t("Customer id (sbs)"),
          { label: t("Latest session"), phone: "hide" },
          { label: t("Opened"), phone: "top" },
        ]}
        rows={customers.map((customer) => [
          <a class="clip" href={customerPath(site, customer.chatId)}>
            <bdi>{isVisible(customer.name) ? customer.name : showUnseen(customer.externalId)}</bdi>
          </a>,
          <bdi class="clip">{showUnseen(customer.externalId)}</bdi>,
          <a class="clip" href={`/console/sites/${site.id}/sessions/${customer.chatId}`}>
            <bdi>{titleOf(customer)}</bdi>
          </a>,
          <Ago at={customer.createdAt} />,
        ])}
        empty=""
      />
    </section>
  );
}

function titleOf({ agentTitle, autoTitle, chatId }: CustomerRow): string {
  const title = agentTitle ?? autoTitle;
  return isVisible(title) ? title : `(${chatId})`;
}
