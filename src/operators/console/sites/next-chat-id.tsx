import { changeSite, readNextChatId, type Site, siteChangeSchema, tooLowRule } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, ruleText } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { askPage } from "../parts/ask.tsx";
import { sitePath } from "./site-paths.ts";
import { settingsPage } from "./site-settings.tsx";

/** The typed number. An empty field becomes "", which the schema refuses by the field's name. */
const readFirstChatId = (c: PageContext, first_chat_id: string) =>
  enteredFields(c.var.view, siteChangeSchema.safeParse({ first_chat_id: wholeNumber(first_chat_id) ?? "" }));

/** Asks before a site skips session numbers. It says how many numbers no session will get. */
export async function chatIdPage(c: PageContext, site: Site): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const settings = sitePath(site, "/settings");
  const { first_chat_id } = c.req.query();
  if (first_chat_id === undefined || site.status === "creating") return c.redirect(settings, 303);
  const checked = readFirstChatId(c, first_chat_id);
  const pageWithErrors = (errors: Record<string, string>) =>
    settingsPage(c, site, { values: { first_chat_id }, errors });
  if ("errors" in checked) return pageWithErrors(checked.errors);
  const { next, setTo } = await readNextChatId(c.var.ctx, { site });
  const wanted = Number(checked.input.first_chat_id);
  if (wanted < next) return pageWithErrors({ first_chat_id: ruleText(view, tooLowRule(next - 1)) });
  return askPage(c, {
    site: { ...site, tab: "settings" },
    title: t("Go on at chat_id {0}?", wanted),
    text: t("The numbers between are never given to a session. It cannot be undone: no later number may be lower."),
    facts: [
      [t("Without this, the next session gets"), next],
      [t("With this, it gets"), wanted],
      [t("Numbers that are never given"), new Intl.NumberFormat(view.language).format(wanted - next)],
    ],
    hidden: { first_chat_id: String(wanted), set_to: String(setTo) },
    button: t("Set the chat_id"),
    back: settings,
  });
}

/** Answers the form of {@link chatIdPage}. It asks again when somebody else has set another number meanwhile. */
export async function postChatId(c: PageContext, site: Site): Promise<Response> {
  const { ctx } = c.var;
  const form = await readForm(c);
  const { first_chat_id = "", set_to } = form;
  const settings = sitePath(site, "/settings");
  const question = `${c.req.path}?${new URLSearchParams({ first_chat_id })}`;
  return formAction(c, form, {
    values: { first_chat_id },
    entered: readFirstChatId(c, first_chat_id),
    page: (filledForm) => settingsPage(c, site, filledForm),
    draft: { path: question },
    list: settings,
    work: async ({ first_chat_id: firstChatId }) => {
      const { setTo } = await readNextChatId(ctx, { site });
      // When the answer was lost, this form has set the number already. The form sent again repairs the copies.
      if (String(setTo) !== set_to && setTo !== firstChatId) return doneLocation(c, question, "changed_meanwhile");
      await changeSite(ctx, { site, change: { firstChatId } });
      return doneLocation(c, settings, "first_chat_id", "numbers");
    },
  });
}
