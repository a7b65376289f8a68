import { readCustomer } from "../../services/read-customer.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { readForm } from "../forms/read-form.ts";
import { customerPath, sentCustomer, unknownCustomer } from "./customer-form.ts";
import { customersPage } from "./customers-page.tsx";

/**
 * Redirects to the page of the customer whose id was typed. It only reads, so it needs no form token. A form that is sent again after
 * a sign-in or a change of language finds the customer at once.
 */
export async function postFind(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view } = c.var;
  c.set("onlyReads", true);
  const { values, entered } = sentCustomer(view, await readForm(c));
  const { path } = c.req;
  if ("errors" in entered) return customersPage(c, site, { path, values, errors: entered.errors });
  try {
    const { last } = await readCustomer(ctx, { site, sbs: entered.input.sbs });
    return c.redirect(customerPath(site, last.id), 303);
  } catch (error) {
    const errors = unknownCustomer(view, error);
    if (errors === undefined) throw error;
    return customersPage(c, site, { path, values, errors });
  }
}
