import { withParameter } from "./console-path.ts";
import type { PageContext } from "./env.ts";
import { ticketEnd, ticketFor } from "./tickets.ts";
import type { View } from "./view.ts";

/** What the schemas say is wrong with a field, for a reader. Its numbers are not part of the text that is translated. */
export function ruleText(v: View, message: string): string {
  const numbers: string[] = [];
  const text = message.replace(/\d+/g, (number) => `{${numbers.push(number) - 1}}`);
  return v.t(text.charAt(0).toUpperCase() + text.slice(1), ...numbers);
}

/** What a form's fields were and what is wrong with them. Without errors it is only shown again, and not sent yet. */
export interface Filled {
  values: Record<string, string>;
  errors: Record<string, string>;
}

export function filled(v: View, values: Record<string, string>, issues: { field: string; message: string }[]): Filled {
  return { values, errors: Object.fromEntries(issues.map(({ field, message }) => [field, ruleText(v, message)])) };
}

export const isRefused = (form: Filled | undefined): boolean => Object.keys(form?.errors ?? {}).length > 0;

/** What came of a form, said once on the page that it leads to. */
export type Done =
  | ("site" | "revoked" | "agents" | "renamed" | "normal" | "disabled")
  | ("not_known" | "rotated_before" | "revoked_before" | "draft");

/**
 * Where to lead after a form: the address says what came of it, with a ticket, so that no link makes a page say it.
 *
 * @param id of the element to lead to, so that nobody has to look for the place anew
 */
export async function doneLocation(c: PageContext, path: string, done: Done, id?: string): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  const ticket = await ticketFor(session, ["done", path.replace(/\?.*/, ""), done], now);
  return withParameter(path, "done", `${done}.${ticket}`) + (id === undefined ? "" : `#${id}`);
}

/** What to say on the page that {@link doneLocation} led to. */
export async function doneNotice(c: PageContext): Promise<{ kind: "good" | "bad"; title: string } | undefined> {
  const { t, session, now, here } = c.var.view;
  const good: Partial<Record<Done, string>> = {
    site: t("The site was created."),
    revoked: t("The app was revoked."),
    agents: t("The agents were added."),
    renamed: t("The agent was renamed."),
    normal: t("The agent was enabled."),
    disabled: t("The agent was disabled."),
  };
  const bad: Partial<Record<Done, string>> = {
    not_known: t(
      "This form was sent before, and it is not known what came of it. It is never done twice; look here whether it was done.",
    ),
    rotated_before: t("The app was rotated since this form was shown. Nothing was changed now."),
    revoked_before: t("The app is revoked."),
    draft: t("Nothing was changed: press it again."),
  };
  const [, said = "", ticket = ""] = /^(\w+)\.(.*)$/.exec(c.req.query("done") ?? "") ?? [];
  const purpose = ["done", here.replace(/\?.*/, ""), said];
  if (session === undefined || (await ticketEnd(session, purpose, ticket, now)) === undefined) return undefined;
  const done = said as Done;
  return { kind: done in good ? "good" : "bad", title: good[done] ?? bad[done] ?? "" };
}
