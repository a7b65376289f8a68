import { isVisible } from "../../../core/fields.ts";
import { METADATA_AMONG, readCustomer, type ShownCustomer } from "../../services/read-customer.ts";
import { COUNT_LIMIT, listSessions } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import type { FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Form, FormErrors } from "../parts/form.tsx";
import { Time } from "../parts/parts.tsx";
import { MoreLink } from "../parts/table.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import { SessionTable } from "../sessions/session-table.tsx";
import type { View } from "../view.ts";
import { customersPath, customerValue } from "./customer-form.ts";
import { ShownSbs } from "./shown-sbs.tsx";

/**
 * Shows one customer and their sessions. Owners can also hand over or erase the customer's data here.
 *
 * @param filledForm the form of this page to show again
 * @throws ServiceError `not_found`, reason `customer_unknown`
 */
export async function customerPage(
  c: PageContext,
  site: Site,
  sbs: string,
  filledForm?: FilledForm & { path: string },
): Promise<Response> {
  const { view, ctx } = c.var;
  const { t } = view;
  const path = customersPath(site);
  const cursor = c.req.query("cursor");
  const [customer, sessions] = await Promise.all([
    readCustomer(ctx, { site, sbs }),
    listSessions(ctx, { site, sbs, cursor, limit: 20 }),
  ]);
  const chatId = c.req.query("chat_id") ?? String(customer.last.id);
  const body = (
    <>
      <p class="lead line-of">
        <span>{t("Customer")}</span>
        <ShownSbs sbs={sbs} />
      </p>
      <FormErrors filled={filledForm} fields={{}} />
      <div class="talk">
        <section class="part">
          <h2>{t("Sessions of this customer")}</h2>
          <SessionTable siteId={site.id} sessions={sessions.items} isOneCustomer />
          <MoreLink path={path} query={{ chat_id: chatId }} cursor={sessions.nextCursor} />
        </section>
        <Facts view={view} site={site} customer={customer} />
        <Data view={view} path={path} sbs={sbs} />
      </div>
    </>
  );
  return showPage(c, {
    title: t("Customer"),
    heading: <bdi>{isVisible(customer.name) ? customer.name : showUnseen(sbs)}</bdi>,
    site: { ...site, tab: "customers" },
    back: `${path}?chat_id=${customer.last.id}`,
    filled: filledForm,
    body,
  });
}

function Facts({ view, site, customer }: { view: View; site: Site; customer: ShownCustomer }) {
  const { t } = view;
  const { sbs, ip, first, last, sessions, metadata } = customer;
  const count = new Intl.NumberFormat(view.language).format(sessions);
  const session = ({ id, createdAt }: ShownCustomer["first"]) => (
    <>
      <Time at={createdAt} /> · <a href={`/console/sites/${site.id}/sessions/${id}`}>{id}</a>
    </>
  );
  return (
    <aside class="card" aria-label={t("Details")}>
      <dl class="facts">
        <dt>{t("Customer id (sbs)")}</dt>
        <dd>
          <ShownSbs sbs={sbs} />
        </dd>
        <dt>{t("Latest IP address")}</dt>
        <dd>
          <code>{ip}</code>
        </dd>
        <dt>{t("Sessions")}</dt>
        <dd>{sessions === COUNT_LIMIT ? t("{0} or more", count) : count}</dd>
        <dt>{t("First session")}</dt>
        <dd>{session(first)}</dd>
        <dt>{t("Latest session")}</dt>
        <dd>{session(last)}</dd>
        {metadata.size > 0 && (
          <>
            <dt>{t("Metadata of the latest {0} sessions", METADATA_AMONG)}</dt>
            <dd>
              <ul>
                {[...metadata].map(([name, values]) => (
                  <li>
                    <code>{name}</code> <Values view={view} values={values} />
                  </li>
                ))}
              </ul>
            </dd>
          </>
        )}
      </dl>
    </aside>
  );
}

/** How many different values of a name are shown. */
const VALUES = 3;

function Values({ view, values }: { view: View; values: string[] }) {
  const hiddenCount = values.length - VALUES;
  return (
    <>
      {values.slice(0, VALUES).map((value, at) => (
        <>
          {at > 0 && ", "}
          <bdi>{value}</bdi>
        </>
      ))}
      {hiddenCount > 0 && ` ${view.t("and {0} more values", hiddenCount)}`}
    </>
  );
}

/** The data of the customer, for owners only. The address cannot name the customer, so a hidden field does. */
function Data({ view, path, sbs }: { view: View; path: string; sbs: string }) {
  const { t } = view;
  if (!view.may(`${path}/export`)) return null;
  return (
    <section class="card">
      <h2>{t("This customer's data")}</h2>
      <p class="hint">
        {t("Everything that this site has of them: sessions, messages, events, name and IP. Erasing asks first.")}
      </p>
      <Form action={`${path}/export`}>
        <input type="hidden" name="customer" value={customerValue(sbs)} />
        <div class="buttons">
          <button type="submit" class="plain">
            {t("Hand over as a file")}
          </button>
          <button type="submit" class="danger" formaction={`${path}/erase`}>
            {t("Erase this customer…")}
          </button>
        </div>
      </Form>
    </section>
  );
}
