import { isRefusedFor } from "../../../errors.ts";
import { customerErasureSchema, exportWhole, lookAtCustomer, SESSIONS_PER_FILE } from "../../../services/customers.ts";
import { eraseCustomer, readErasure } from "../../../services/erase-customer.ts";
import { readSession } from "../../../services/sessions.ts";
import type { Site } from "../../../services/sites.ts";
import { shownCustomer } from "../../operator/shown-customer.ts";
import type { PageContext } from "../env.ts";
import { entered, formAction } from "../forms/form-action.ts";
import { type Filled, isRefused } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask-page.tsx";
import { Faults, Field, Form } from "../parts/form.tsx";
import { visibleSbs } from "../sessions/session-table.tsx";
import { Erasure, NotErased } from "./erasure.tsx";

const pathOf = (site: Site) => `/console/sites/${site.id}/customers`;

/** One customer's data: the forms that hand it over and erase it, and how far an erasure is. */
export async function customersPage(c: PageContext, site: Site, again?: Filled): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const path = pathOf(site);
  const erasureId = c.req.query("erasure");
  const erasure = erasureId === undefined ? undefined : await readErasure(ctx, { site, erasureId });
  const { values = {}, errors = {} } = again ?? {};
  const sbs = values.sbs ?? (await sbsOfSession(c, site));
  const labels = { sbs: t("Customer (sbs)"), after: t("After session (chat_id)") };
  const field = (error = true) => (
    <Field
      label={labels.sbs}
      name="sbs"
      value={sbs}
      error={error ? errors.sbs : undefined}
      hint={t("As callers send it. It is never put into an address.")}
      required
      maxlength={64}
    />
  );
  const body = (
    <>
      {erasure !== undefined && <Erasure view={view} path={path} erasure={erasure} />}
      <p class="lead">{t("People may ask for their data, and may ask that it goes.")}</p>
      <Faults view={view} filled={again} labels={labels} />
      <section class="card">
        <h2>{t("Hand over")}</h2>
        <p>{t("A file with everything stored of the customer: sessions, messages, metadata and events.")}</p>
        <Form view={view} action={`${path}/export`}>
          {field(values.what === "export")}
          <Field
            label={labels.after}
            name="after"
            value={values.after}
            error={errors.cursor}
            hint={t(
              "Left empty: from the first. A file has up to {0} sessions; its next_cursor goes here.",
              SESSIONS_PER_FILE,
            )}
            inputmode="numeric"
            maxlength={16}
          />
          <button type="submit">{t("Make the file")}</button>
        </Form>
      </section>
      <section class="card">
        <h2>{t("Erase")}</h2>
        <p>{t("All sessions of the customer up to now, with all that belongs to them. Nobody can undo it here.")}</p>
        <Form view={view} action={`${path}/erase`}>
          {field(values.what !== "export")}
          <button type="submit" class="danger">
            {t("Erase…")}
          </button>
        </Form>
      </section>
    </>
  );
  const page = { title: t("Customer’s data"), site: { ...site, tab: "sessions" as const }, back: path, body };
  return showPage(c, { ...page, filled: again && { path, values } }, isRefused(again) ? 400 : 200);
}

/** The customer of the session that a link names: the address has its id, and not the customer's. */
async function sbsOfSession(c: PageContext, site: Site): Promise<string | undefined> {
  const chatId = c.req.query("chat_id") ?? "";
  if (!/^[1-9]\d{0,14}$/.test(chatId)) return undefined;
  try {
    return (await readSession(c.var.ctx, { site, chatId: Number(chatId) })).customer.externalId;
  } catch (error) {
    if (isRefusedFor(error, "session_unknown")) return undefined;
    throw error;
  }
}

/** An unknown customer is an error of the field. */
const unknown = (c: PageContext) => (error: unknown) =>
  isRefusedFor(error, "customer_unknown") ? { sbs: c.var.view.t("This site has no such customer.") } : undefined;

/** Answers with the file. It may be asked for again: nothing changes but the audit log. */
export async function postExport(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  const { sbs = "", after = "" } = form;
  const checked = customerErasureSchema.safeParse({ sbs });
  const cursor = wholeNumber(after);
  return formAction(c, form, {
    values: { sbs, after, what: "export" },
    entered: entered(c.var.view, checked),
    page: (again) => customersPage(c, site, again),
    refused: unknown(c),
    ask: async (input) => {
      const asked = { site, ...input, cursor: cursor === undefined ? undefined : String(cursor) };
      const file = shownCustomer(await exportWhole(c.var.ctx, asked));
      const name = `customer-of-site-${site.id}.json`;
      return c.body(`${JSON.stringify(file, null, 2)}\n`, 200, {
        "content-type": "application/json",
        "content-disposition": `attachment; filename="${name}"`,
      });
    },
    list: pathOf(site),
    work: async () => pathOf(site),
  });
}

/** Asks first; then erases, and leads to the page that says how far it is. */
export async function postErase(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const form = await readForm(c);
  const { sbs = "", sure } = form;
  const path = pathOf(site);
  return formAction(c, form, {
    values: { sbs },
    entered: entered(view, customerErasureSchema.safeParse({ sbs })),
    page: (again) => customersPage(c, site, again),
    refused: unknown(c),
    ask:
      sure === undefined
        ? async (input) => {
            const { customer, sessions, hasMore } = await lookAtCustomer(ctx, { site, ...input });
            return askPage(
              c,
              { ...site, tab: "sessions" },
              {
                title: t("Erase this customer?"),
                text: t(
                  "All sessions of the customer up to now go, with messages, participants and the data of their events.",
                ),
                facts: (
                  <>
                    <dt>sbs</dt>
                    <dd>
                      <bdi>{visibleSbs(customer.externalId)}</bdi>
                    </dd>
                    <dt>{t("Customer")}</dt>
                    <dd>
                      <bdi>{customer.name}</bdi>
                    </dd>
                    <dt>{t("Sessions")}</dt>
                    <dd>{hasMore ? t("more than {0}", sessions) : sessions}</dd>
                    <NotErased view={view} />
                  </>
                ),
                action: `${path}/erase`,
                hidden: { sbs, sure: "yes" },
                button: t("Erase for good"),
                keep: t("Cancel"),
                back: path,
              },
            );
          }
        : undefined,
    list: path,
    work: async (input) => {
      const { id } = await eraseCustomer(ctx, { site, ...input });
      return `${path}?erasure=${id}`;
    },
  });
}
