import { isRefusedFor } from "../../../core/errors.ts";
import { isVisible } from "../../../core/fields.ts";
import { customerErasureSchema } from "../../services/customers.ts";
import { METADATA_AMONG, readCustomer } from "../../services/read-customer.ts";
import { COUNT_LIMIT, listSessions } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import type { EnteredFields } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Form, FormErrors, SendButton } from "../parts/form.tsx";
import { MoreLink } from "../parts/list.tsx";
import { Card, Facts, Part, Time } from "../parts/parts.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import { SessionTable } from "../sessions/session-table.tsx";
import type { View } from "../view.ts";

/** How many different values of a name in the metadata are shown. */
const VALUES = 3;

/**
 * Shows one customer and their sessions. Owners can also export or erase the customer's data here.
 *
 * @param filledForm the form of this page to show again
 * @throws ServiceError `not_found`, reason `customer_unknown`
 */
export async function customerPage(c: PageContext, site: Site, sbs: string, filledForm?: FilledForm) {
  const { view, ctx, t } = c.var;
  const path = customersPath(site);
  const [customer, sessions] = await Promise.all([
    readCustomer(ctx, { site, sbs }),
    listSessions(ctx, { site, sbs, cursor: c.req.query("cursor"), limit: 20 }),
  ]);
  const { name, ip, first, last, metadata } = customer;
  const shownId = c.req.query("chat_id") ?? String(last.id);
  const sessionFact = ({ id, createdAt }: typeof first) => [
    <Time at={createdAt} />,
    " · ",
    <a href={`/console/sites/${site.id}/sessions/${id}`}>{id}</a>,
  ];
  const metadataFact = (
    <ul>
      {[...metadata].map(([field, values]) => (
        <li>
          <code>{field}</code> {values.slice(0, VALUES).map((value, at) => [at > 0 && ", ", <bdi>{value}</bdi>])}
          {values.length > VALUES && ` ${t("and {0} more values", values.length - VALUES)}`}
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
        <Part title={t("Sessions of this customer")}>
          <SessionTable siteId={site.id} sessions={sessions.items} isOneCustomer />
          <MoreLink path={path} query={{ chat_id: shownId }} cursor={sessions.nextCursor} />
        </Part>
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
          <Card title={t("This customer's data")}>
            <p class="hint">
              {t("Everything that this site has of them: sessions, messages, events, name and IP. Erasing asks first.")}
            </p>
            {/* The address cannot name the customer, so a hidden field does. */}
            <Form action={`${path}/export`} hidden={{ customer: customerValue(sbs) }}>
              <div class="buttons">
                <SendButton label={t("Export as a file")} class="plain" />
                <SendButton label={t("Erase this customer…")} class="danger" formaction={`${path}/erase`} />
              </div>
            </Form>
          </Card>
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

export const customersPath = ({ id }: Pick<Site, "id">): string => `/console/sites/${id}/customers`;

/** The address of a customer's page. It names one of their sessions, because no address may hold the customer's id. */
export const customerPath = (site: Pick<Site, "id">, chatId: number): string =>
  `${customersPath(site)}?chat_id=${chatId}`;

export const ShownSbs = ({ sbs }: { sbs: string }) => <bdi class="long">{showUnseen(sbs)}</bdi>;

/** A count that may have stopped at `most`. */
export const countText = ({ t, number }: View, count: number, most: number): string =>
  count === most ? t("{0} or more", number(count)) : number(count);

type Values = Record<string, string>;

/**
 * The value of the hidden field `customer`, which replaces `sbs` once the customer is found. It is JSON, because a browser changes
 * the line ends of any other value.
 */
export const customerValue = (sbs: string): string => JSON.stringify(sbs);

/** The customer's id in a form's values. */
export function sbsOf({ sbs = "", customer }: Values): string {
  if (customer === undefined) return sbs;
  try {
    return String(JSON.parse(customer));
  } catch {
    return "";
  }
}

/** Reads the customer of a sent form, as `formAction` needs it. */
export function sentCustomer({ t, form: { sbs = "", customer } }: PageContext["var"]) {
  const values: Values = customer === undefined ? { sbs } : { customer };
  const { data: input } = customerErasureSchema.safeParse({ sbs: sbsOf(values) });
  const errors = { sbs: t("Must have 1 to 64 characters") };
  const entered: EnteredFields<{ sbs: string }> = input ? { input } : { errors };
  return { values, entered };
}

/** The error of the field when the site has no such customer; undefined for any other error. */
export const unknownCustomer = (view: View, error: unknown): Values | undefined =>
  isRefusedFor(error, "customer_unknown") ? { sbs: unknownText(view) } : undefined;

/** Whether the form named a customer that the site does not have. */
export const isUnknown = (view: View, errors: Values): boolean => errors.sbs === unknownText(view);

/** The status is 404 when the site has no such customer, and 400 for any other error of a field. */
export const statusOf = (view: View, errors: Values): 200 | 400 | 404 =>
  isUnknown(view, errors) ? 404 : Object.keys(errors).length > 0 ? 400 : 200;

const unknownText = ({ t }: View) =>
  t("No name begins with it, and no customer has exactly this id. Of an erased customer nothing is left here.");
