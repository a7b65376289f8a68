import { isVisible } from "../../../core/fields.ts";
import { CUSTOMERS_READ, customerOf, findCustomers, latestCustomers } from "../../services/read-customer.ts";
import { customerUnknown } from "../../services/refusals.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import type { FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Action, Field, Form, Hidden, SendButton } from "../parts/form.tsx";
import { MoreLink, Table } from "../parts/list.tsx";
import { Ago, EmptyState, NameLink, NoticeBox, Part } from "../parts/parts.tsx";
import { hasUnseen, showUnseen, Unseen, withoutUnseen } from "../parts/unseen.tsx";
import { openText, sealText } from "../search/sealed-text.ts";
import {
  customerPage,
  customerPath,
  customersPath,
  customerValue,
  isUnknown,
  sbsOf,
  sentCustomer,
  statusOf,
  unknownCustomer,
} from "./customer-page.tsx";

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
  const isId = /^[1-9]\d{0,14}$/.test(chatId);
  const sbs = isId ? await customerOf(c.var.ctx, { site, chatId: Number(chatId) }) : undefined;
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
  answer: (sbs: string, filledForm: FormShownAgain) => Promise<Response>,
): Promise<Response> {
  const { values, entered } = sentCustomer(c.var);
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
 * Redirects to the customer whose id was typed, or to those whose name begins with it. It only reads, so it needs no form token. A form
 * that is sent again after a sign-in or a change of language finds the customer at once.
 */
export async function postFind(c: PageContext, site: Site): Promise<Response> {
  const { ctx } = c.var;
  return withCustomer(c, site, async (text) => {
    const { items, next, exact } = await findCustomers(ctx, { site, text, limit: CUSTOMERS_PER_PAGE });
    if (exact !== undefined && items.every(({ externalId }) => externalId === text))
      return c.redirect(customerPath(site, exact.chatId), 303);
    if (exact === undefined && items.length === 0 && next === null) throw customerUnknown();
    return c.redirect(`${customersPath(site)}?text=${await sealText(c, text)}`, 303);
  });
}

/** @param props `unknown`: a chat_id that the site does not have */
async function listPage(c: PageContext, site: Site, props: { filledForm?: FormShownAgain; unknown?: string }) {
  const { filledForm, unknown } = props;
  const { view, ctx, t } = c.var;
  const path = customersPath(site);
  const { values = {}, errors = {} } = filledForm ?? {};
  const sbs = sbsOf(values);
  const isUnseen = isUnknown(view, errors) && hasUnseen(sbs);
  const error = isUnseen ? t("This site has no customer with exactly this id.") : errors.sbs;
  const [text, after] = await Promise.all([openText(c, "text"), openText(c, "cursor")]);
  const isLost = (c.req.query("text") && text === undefined) || (c.req.query("cursor") && after === undefined);
  const isSearch = filledForm === undefined && text !== undefined && !isLost;
  const { items, next, lookedTo, exact } = isSearch
    ? await findCustomers(ctx, { site, text, after, limit: CUSTOMERS_PER_PAGE })
    : { items: await latestCustomers(ctx, { site, limit: CUSTOMERS_PER_PAGE }), next: null, lookedTo: null };
  const listTitle = isSearch ? t("Customers whose name begins so") : t("Latest customers");
  const noCustomers = (
    <EmptyState title={t("No customer yet")}>
      <p>
        {t("A customer is stored with their first session:")}{" "}
        <a href={`/console/sites/${site.id}/sessions`}>{t("how to open one")}</a>
      </p>
    </EmptyState>
  );
  const label = t("Name begins with, or exact customer id");
  const latest = { label: t("Latest session"), phone: "hide" as const };
  const body = (
    <>
      {unknown !== undefined && <NoticeBox kind="bad" title={t("This site has no session {0}", unknown)} />}
      {isLost && <NoticeBox kind="note" title={t("Type it once more: your session is another one by now.")} />}
      {filledForm !== undefined && (
        <NoticeBox kind="bad" title={t("No customer was found.")}>
          <p>
            <a href="#sbs">{label}</a>: {error}
          </p>
          {isUnseen && (
            <Unseen texts={[sbs]}>
              <Action action={`${path}/find`} label={t("Search without them")} hidden={{ sbs: withoutUnseen(sbs) }} />
            </Unseen>
          )}
        </NoticeBox>
      )}
      <search class="filter finds">
        <Form action={`${path}/find`}>
          {/* No input can hold a control character, so an id with one is shown as text and sent unseen. */}
          {/\p{Cc}/u.test(sbs) ? (
            <p id="sbs">
              {showUnseen(sbs)}
              <Hidden values={{ customer: customerValue(sbs) }} />
            </p>
          ) : (
            <Field label={label} name="sbs" value={sbs || text} error={error} required maxlength={MOST_UNITS} />
          )}
          <button type="submit">{t("Find")}</button>
          {isUnknown(view, errors) && view.may(`${path}/erase`) && (
            <SendButton label={t("Look for an erasure")} class="plain" formaction={`${path}/erase`} />
          )}
        </Form>
      </search>
      <Part title={listTitle}>
        {exact && (
          <p>
            {t("Exactly this id:")}{" "}
            <NameLink
              href={customerPath(site, exact.chatId)}
              name={isVisible(exact.name) ? exact.name : showUnseen(text ?? "")}
            />
          </p>
        )}
        <Table
          label={listTitle}
          head={[t("Name"), t("Customer id (sbs)"), latest, { label: t("Opened"), phone: "top" }]}
          rows={items.map(({ chatId, name, externalId, agentTitle, autoTitle, createdAt }) => [
            <NameLink
              class="clip"
              href={customerPath(site, chatId)}
              name={isVisible(name) ? name : showUnseen(externalId)}
            />,
            <bdi class="clip">{showUnseen(externalId)}</bdi>,
            <NameLink
              class="clip"
              href={`/console/sites/${site.id}/sessions/${chatId}`}
              name={[agentTitle ?? autoTitle].find(isVisible) ?? `(${chatId})`}
            />,
            <Ago at={createdAt} />,
          ])}
          empty={isSearch ? t("Nobody's name begins so, as far as was looked.") : noCustomers}
        />
        {lookedTo !== null && (
          <p class="hint">
            {t(
              "{0} customers were looked through, in the order of their ids, up to this one:",
              view.number(CUSTOMERS_READ),
            )}{" "}
            <bdi>{showUnseen(lookedTo)}</bdi>
          </p>
        )}
        <MoreLink path={path} query={{ text: c.req.query("text") }} cursor={next && (await sealText(c, next))} />
        {isSearch && <a href={path}>{t("Latest customers")}</a>}
      </Part>
    </>
  );
  const page = { title: t("Customers"), site: { ...site, tab: "customers" as const }, back: path, body };
  return showPage(c, { ...page, filled: filledForm }, statusOf(view, errors));
}
