import { isRefusedFor } from "../../../core/errors.ts";
import { customerErasureSchema } from "../../services/customers.ts";
import type { Site } from "../../services/sites.ts";
import type { EnteredFields } from "../forms/form-action.ts";
import { showUnseen } from "../parts/unseen.tsx";
import type { View } from "../view.ts";

/** The customer in an address, in the fields of a form and among the facts of a page. */

export const customersPath = ({ id }: Pick<Site, "id">): string => `/console/sites/${id}/customers`;

/** The address of a customer's page. It names one of their sessions, because no address may hold the customer's id. */
export const customerPath = (site: Pick<Site, "id">, chatId: number): string =>
  `${customersPath(site)}?chat_id=${chatId}`;

export const ShownSbs = ({ sbs }: { sbs: string }) => <bdi class="long">{showUnseen(sbs)}</bdi>;

/** A count that may have stopped at `most`. */
export const countText = ({ t, language }: View, count: number, most: number): string => {
  const text = new Intl.NumberFormat(language).format(count);
  return count === most ? t("{0} or more", text) : text;
};

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
export function sentCustomer({ t }: View, form: Values): { values: Values; entered: EnteredFields<{ sbs: string }> } {
  const { sbs = "", customer } = form;
  const values: Values = customer === undefined ? { sbs } : { customer };
  const checked = customerErasureSchema.safeParse({ sbs: sbsOf(values) });
  return checked.success
    ? { values, entered: { input: checked.data } }
    : { values, entered: { errors: { sbs: t("Must have 1 to 64 characters") } } };
}

/** The error of the field when the site has no such customer; undefined for any other error. */
export const unknownCustomer = (view: View, error: unknown): Values | undefined =>
  isRefusedFor(error, "customer_unknown") ? { sbs: unknownText(view) } : undefined;

/** Whether the form named a customer that the site does not have. */
export const isUnknown = (view: View, errors: Values): boolean => errors.sbs === unknownText(view);

/** The status is 404 when the site has no such customer, and 400 for any other error of a field. */
export function statusOf(view: View, errors: Values): 200 | 400 | 404 {
  if (isUnknown(view, errors)) return 404;
  return Object.keys(errors).length > 0 ? 400 : 200;
}

const unknownText = ({ t }: View) =>
  t("This site has no such customer. If there was one who was erased, nothing is left of them here.");
