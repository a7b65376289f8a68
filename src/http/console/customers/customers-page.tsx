import { isRefusedFor } from "../../../errors.ts";
import { readSession } from "../../../services/sessions.ts";
import type { Site } from "../../../services/sites.ts";
import type { PageContext } from "../env.ts";
import type { Filled } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Faults, Field, Form } from "../parts/form.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { visibleSbs } from "../sessions/session-table.tsx";
import type { View } from "../view.ts";
import { customersPath, customerValue, sbsOf, statusOf } from "./customer-form.ts";
import { WhatStays } from "./what-stays.tsx";

/** A customer has up to 64 characters, and a character up to two UTF-16 units, which browsers count. */
const MOST_UNITS = 128;

/** Asks for a customer, to hand over or to erase what the site stores of them. */
export async function customersPage(c: PageContext, site: Site, again?: Filled & { path: string }): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const path = customersPath(site);
  const chatId = (again === undefined ? c.req.query("chat_id") : undefined)?.trim() ?? "";
  const sbsOfSession = chatId === "" ? undefined : await customerOfSession(c, site, chatId);
  const { values, errors }: Filled = again ?? { values: { sbs: sbsOfSession ?? "" }, errors: {} };
  const body = (
    <>
      <p class="lead">
        {t(
          "Gives you, or erases, everything that this site has of one customer: sessions, messages, events, name and IP.",
        )}
      </p>
      <Faults view={view} filled={again} labels={{ sbs: t("Customer (sbs)") }} />
      {chatId !== "" && sbsOfSession === undefined && (
        <NoticeBox kind="bad" title={t("This site has no session {0}", chatId)} />
      )}
      <section class="card">
        <Form view={view} action={`${path}/export`}>
          <CustomerField view={view} sbs={sbsOf(values)} error={errors.sbs} />
          <div class="buttons">
            <button type="submit">{t("Hand over as a file")}</button>
            <button type="submit" class="danger" formaction={`${path}/erase`}>
              {t("Erase…")}
            </button>
          </div>
        </Form>
      </section>
      <search>
        <form method="get" action={path} class="filter">
          <Field
            label={t("Or the customer of a session (chat_id)")}
            name="chat_id"
            value={chatId}
            inputmode="numeric"
            required
            maxlength={16}
          />
          <button type="submit" class="plain">
            {t("Fill in")}
          </button>
        </form>
      </search>
      <WhatStays view={view} />
    </>
  );
  const page = { title: t("Customer's data"), site: { ...site, tab: "customers" as const }, back: path, body };
  return showPage(c, { ...page, filled: again && { path: again.path, values } }, statusOf(view, errors));
}

/** An input cannot hold a control character such as a line end: a customer who has one is shown, and named by a hidden field. */
function CustomerField({ view, sbs, error }: { view: View; sbs: string; error: string | undefined }) {
  const { t } = view;
  if (/\p{Cc}/u.test(sbs)) {
    return (
      <>
        <dl class="facts">
          <dt>{t("Customer (sbs)")}</dt>
          <dd id="sbs">
            <code class="long">{JSON.stringify(sbs)}</code>
            {error && <p class="error">{error}</p>}
          </dd>
        </dl>
        <input type="hidden" name="customer" value={customerValue(sbs)} />
      </>
    );
  }
  return (
    <Field
      label={t("Customer (sbs)")}
      name="sbs"
      value={sbs}
      error={error}
      hint={t("The id by which your systems know the customer. It goes into no address and no log.")}
      required
      maxlength={MOST_UNITS}
      code
    />
  );
}

/** @returns undefined when the site has no such session */
async function customerOfSession(c: PageContext, site: Site, chatId: string): Promise<string | undefined> {
  if (!/^[1-9]\d{0,14}$/.test(chatId)) return undefined;
  try {
    return (await readSession(c.var.ctx, { site, chatId: Number(chatId) })).customer.externalId;
  } catch (error) {
    if (isRefusedFor(error, "session_unknown")) return undefined;
    throw error;
  }
}

/** The customer as the reader sees them. */
export const ShownSbs = ({ sbs }: { sbs: string }) => (
  <bdi class="long">{/\p{Cc}/u.test(sbs) ? JSON.stringify(sbs) : visibleSbs(sbs)}</bdi>
);
