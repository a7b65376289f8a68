import { isVisible } from "../../../core/fields.ts";
import { type CustomerRow, customerOf, latestCustomers } from "../../services/read-customer.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import type { FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Action, Field, Form } from "../parts/form.tsx";
import { Ago, EmptyState, NoticeBox } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { hasUnseen, showUnseen, Unseen, withoutUnseen } from "../parts/unseen.tsx";
import type { View } from "../view.ts";
import { customerPath, customersPath, isUnknown, sbsOf, statusOf, unknownCustomer } from "./customer-form.ts";
import { customerPage } from "./customer-page.tsx";

/** A customer has up to 64 characters. Browsers count UTF-16 units, and a character has up to two of them. */
const MOST_UNITS = 128;

const CUSTOMERS_PER_PAGE = 25;

/** A sent form that is shown again. */
export type FormShownAgain = FilledForm & { path: string };

/** Shows the latest customers, with a form that finds any of them; or the customer of the session that the address names. */
export async function customersPage(c: PageContext, site: Site, filledForm?: FormShownAgain): Promise<Response> {
  const { ctx } = c.var;
  if (filledForm !== undefined) return againPage(c, site, filledForm);
  const chatId = c.req.query("chat_id")?.trim() ?? "";
  if (chatId === "") return listPage(c, site, {});
  const sbs = /^[1-9]\d{0,14}$/.test(chatId) ? await customerOf(ctx, { site, chatId: Number(chatId) }) : undefined;
  return sbs === undefined ? listPage(c, site, { unknown: chatId }) : customerPage(c, site, sbs);
}

/** The page after a form. With an error the field of the id is shown again, otherwise the customer's page. */
async function againPage(c: PageContext, site: Site, filledForm: FormShownAgain): Promise<Response> {
  if (Object.keys(filledForm.errors).length > 0) return listPage(c, site, { filledForm });
  try {
    return await customerPage(c, site, sbsOf(filledForm.values), filledForm);
  } catch (error) {
    const errors = unknownCustomer(c.var.view, error);
    if (errors === undefined) throw error;
    return listPage(c, site, { filledForm: { ...filledForm, errors } });
  }
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
                <input type="hidden" name="sbs" value={withoutUnseen(sbs)} />
              </Action>
            </Unseen>
          )}
        </NoticeBox>
      )}
      <search class="filter finds">
        <Form action={`${path}/find`}>
          <CustomerField view={view} sbs={sbs} error={error} />
          <button type="submit">{t("Find")}</button>
          {isUnknown(view, errors) && view.may(`${path}/erase`) && (
            <button type="submit" class="plain" formaction={`${path}/erase`}>
              {t("Look for an erasure")}
            </button>
          )}
        </Form>
      </search>
      <LatestCustomers view={view} site={site} customers={customers} />
    </>
  );
  const page = { title: t("Customers"), site: { ...site, tab: "customers" as const }, back: path, body };
  return showPage(c, { ...page, filled: filledForm }, statusOf(view, errors));
}

/** The field of a customer's id. No input can hold a control character, so an id with one is shown as text and sent in a hidden field. */
function CustomerField({ view, sbs, error }: { view: View; sbs: string; error: string | undefined }) {
  const { t } = view;
  if (/\p{Cc}/u.test(sbs)) return <p id="sbs">{showUnseen(sbs)}</p>;
  return (
    <Field
      label={t("Customer id (sbs), to the letter")}
      name="sbs"
      value={sbs}
      error={error}
      required
      maxlength={MOST_UNITS}
      code
    />
  );
}

function LatestCustomers({ view, site, customers }: { view: View; site: Site; customers: CustomerRow[] }) {
  const { t } = view;
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
