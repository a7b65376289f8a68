import { isVisible } from "../../../core/fields.ts";
import { METADATA_AMONG, readCustomer } from "../../services/read-customer.ts";
import { COUNT_LIMIT, listSessions } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import type { FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Form, FormErrors, Hidden } from "../parts/form.tsx";
import { Facts, Time } from "../parts/parts.tsx";
import { MoreLink } from "../parts/table.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import { SessionTable } from "../sessions/session-table.tsx";
import { countText, customersPath, customerValue, ShownSbs } from "./customer-form.tsx";

/** How many different values of a name in the metadata are shown. */
const VALUES = 3;

/**
 * Shows one customer and their sessions. Owners can also export or erase the customer's data here.
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
  const { view, ctx, t } = c.var;
  const path = customersPath(site);
  const [customer, sessions] = await Promise.all([
    readCustomer(ctx, { site, sbs }),
    listSessions(ctx, { site, sbs, cursor: c.req.query("cursor"), limit: 20 }),
  ]);
  const { name, ip, first, last, metadata } = customer;
  const sessionFact = ({ id, createdAt }: typeof first) => (
    <>
      <Time at={createdAt} /> · <a href={`/console/sites/${site.id}/sessions/${id}`}>{id}</a>
    </>
  );
  const valuesFact = (values: string[]) => (
    <>
      {values.slice(0, VALUES).map((value, at) => (
        <>
          {at > 0 && ", "}
          <bdi>{value}</bdi>
        </>
      ))}
      {values.length > VALUES && ` ${t("and {0} more values", values.length - VALUES)}`}
    </>
  );
  const metadataFact = (
    <ul>
      {[...metadata].map(([field, values]) => (
        <li>
          <code>{field}</code> {valuesFact(values)}
        </li>
      ))}
    </ul>
  );
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
          <MoreLink
            path={path}
            query={{ chat_id: c.req.query("chat_id") ?? String(last.id) }}
            cursor={sessions.nextCursor}
          />
        </section>
        <aside class="card" aria-label={t("Details")}>
          <Facts
            rows={[
              [t("Customer id (sbs)"), <ShownSbs sbs={sbs} />],
              [t("Latest IP address"), <code>{ip}</code>],
              [t("Sessions"), countText(view, customer.sessions, COUNT_LIMIT)],
              [t("First session"), sessionFact(first)],
              [t("Latest session"), sessionFact(last)],
              metadata.size > 0 && [t("Metadata of the latest {0} sessions", METADATA_AMONG), metadataFact],
            ]}
          />
        </aside>
        {view.may(`${path}/export`) && (
          <section class="card">
            <h2>{t("This customer's data")}</h2>
            <p class="hint">
              {t("Everything that this site has of them: sessions, messages, events, name and IP. Erasing asks first.")}
            </p>
            <Form action={`${path}/export`}>
              {/* The address cannot name the customer, so a hidden field does. */}
              <Hidden values={{ customer: customerValue(sbs) }} />
              <div class="buttons">
                <button type="submit" class="plain">
                  {t("Export as a file")}
                </button>
                <button type="submit" class="danger" formaction={`${path}/erase`}>
                  {t("Erase this customer…")}
                </button>
              </div>
            </Form>
          </section>
        )}
      </div>
    </>
  );
  return showPage(c, {
    title: t("Customer"),
    heading: <bdi>{isVisible(name) ? name : showUnseen(sbs)}</bdi>,
    site: { ...site, tab: "customers" },
    back: `${path}?chat_id=${last.id}`,
    filled: filledForm,
    body,
  });
}
