import { exportData, exportSchema } from "../../http/customer-data.ts";
import { show } from "../../http/show.ts";
import { type ExportedCustomer, exportCustomer, SESSIONS_PER_PAGE } from "../../services/customers.ts";
import { type FoundCustomer, findCustomer, MOST_CHAT_IDS } from "../../services/find-customer.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { isDraft } from "../forms/form-action.ts";
import { sendFile, showPage } from "../layout.tsx";
import { Action } from "../parts/form.tsx";
import { Table } from "../parts/list.tsx";
import { Card } from "../parts/parts.tsx";
import { countText, customerValue, ShownSbs } from "./customer-page.tsx";
import { customersPage, withCustomer } from "./customers-page.tsx";

/** Workers Free allows 50 queries in an invocation, and a page of an export needs about eleven. */
const PAGES_PER_FILE = 3;
const SESSIONS_PER_FILE = PAGES_PER_FILE * SESSIONS_PER_PAGE;

/**
 * Answers with a file of all stored data of a customer. For a customer with very many sessions, it answers with a list of several
 * files. The form may be sent any number of times: each file writes its audit rows.
 */
export async function postCustomerExport(c: PageContext, site: Site): Promise<Response> {
  const { after, from = "0", part = "1" } = c.var.form;
  const number = /^\d{1,9}$/.test(part) ? Number(part) : 1;
  return withCustomer(c, site, async (sbs, filledForm) => {
    if (await isDraft(c)) return customersPage(c, site, filledForm);
    if (after !== undefined) return customerFile(c, site, { sbs, after }, number);
    const customer = await findCustomer(c.var.ctx, { site, sbs, after: /^\d{1,16}$/.test(from) ? Number(from) : 0 });
    return from === "0" && customer.chatIds.length <= SESSIONS_PER_FILE
      ? customerFile(c, site, { sbs, after: "0" })
      : partsPage(c, site, customer, { from, first: number });
  });
}

/** @param part the number of the file, when there are several */
async function customerFile(c: PageContext, site: Site, start: { sbs: string; after: string }, part?: number) {
  const pages: ExportedCustomer[] = [];
  let cursor: string | null = start.after;
  while (cursor !== null && pages.length < PAGES_PER_FILE) {
    const page: ExportedCustomer = await exportCustomer(c.var.ctx, { site, sbs: start.sbs, cursor });
    pages.push(page);
    cursor = page.nextCursor;
  }
  const [first] = pages as [ExportedCustomer];
  const sessions = pages.flatMap((page) => page.sessions);
  const events = pages.flatMap((page) => page.events).sort((a, b) => a.seq - b.seq);
  const name = `customer-data-of-site-${site.id}${part === undefined ? "" : `-part-${part}`}.json`;
  const data = show(exportSchema, exportData({ ...first, sessions, events, nextCursor: cursor }));
  return sendFile(c, name, "application/json", `${JSON.stringify(data, null, 2)}\n`);
}

/** @param place where the list of files begins, and the number of its first file */
function partsPage(c: PageContext, site: Site, found: FoundCustomer, place: { from: string; first: number }) {
  const { view, t } = c.var;
  const { sbs, name, chatIds } = found;
  const parts = Array.from({ length: Math.ceil(chatIds.length / SESSIONS_PER_FILE) }, (_, i) => {
    const at = i * SESSIONS_PER_FILE;
    const after = i === 0 ? place.from : String(chatIds[at - 1]);
    return { part: String(place.first + i), ids: chatIds.slice(at, at + SESSIONS_PER_FILE), after };
  });
  const customer = customerValue(sbs);
  const { path } = c.req;
  const body = (
    <>
      <p class="lead">
        {t("A file holds {0} sessions, and this customer has more: take all of these files.", SESSIONS_PER_FILE)}
      </p>
      <Card
        facts={[
          [t("Customer"), <bdi>{name}</bdi>],
          [t("Customer id (sbs)"), <ShownSbs sbs={sbs} />],
          [t("Sessions"), countText(view, chatIds.length, MOST_CHAT_IDS)],
        ]}
      />
      <Table
        label={t("Files")}
        head={[t("File"), t("Sessions"), "chat_id"]}
        rows={parts.map(({ part, ids }) => [part, ids.length, `${ids[0]} – ${ids.at(-1)}`])}
        actions={parts.map(({ part, after }) => (
          <Action action={path} label={t("Download")} about={part} hidden={{ customer, after, part }} />
        ))}
        empty={t("No sessions here.")}
      />
      {chatIds.length === MOST_CHAT_IDS && (
        <Action
          action={path}
          label={t("Further files…")}
          hidden={{ customer, from: String(chatIds.at(-1)), part: String(place.first + parts.length) }}
        />
      )}
    </>
  );
  const filled = { path, values: { customer } };
  return showPage(c, { title: t("Customer's data"), site: { ...site, tab: "customers" }, filled, body });
}
