import type { Child } from "hono/jsx";
import {
  changeSite,
  type Retention,
  readNextChatId,
  readRetention,
  retentionDays,
  type Site,
  siteChangeSchema,
  tooLowRule,
} from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { type EnteredFields, enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm, ruleText } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { isDraft } from "../forms/submit-once.ts";
import { askPage } from "../parts/ask.tsx";
import { daysKeptText } from "../parts/days-kept-text.ts";
import type { View } from "../view.ts";
import { sitePath } from "./site-paths.ts";
import { siteSettingsPage } from "./site-settings.tsx";

/** Asks before a site's retention of sessions changes, and says which sessions would be deleted today. */
export async function retentionPage(c: PageContext, site: Site): Promise<Response> {
  const { days } = c.req.query();
  if (days === undefined || site.status === "creating") return c.redirect(sitePath(site, "/settings"), 303);
  const readInput = readDays(c.var.view, days);
  if ("errors" in readInput) return siteSettingsPage(c, site, { values: { days }, errors: readInput.errors });
  return questionPage(c, site, readInput.input);
}

/** Answers the form of the question. When it may delete sessions, the days must be typed a second time. */
export async function postRetention(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view } = c.var;
  const form = await readForm(c);
  const { days = "", days_again = "" } = form;
  const readInput = readDays(view, days);
  const now = await readRetention(ctx, { site });
  // A draft leads to the question again, and its days need not be typed yet.
  const mustRepeat = "input" in readInput && isShorter(readInput.input, now.days) && !(await isDraft(c, form));
  const isRepeated = "input" in readInput && wholeNumber(days_again) === readInput.input;
  const list = sitePath(site, "/settings");
  return formAction(c, form, {
    values: { days },
    entered: mustRepeat && !isRepeated ? { errors: { days_again: view.t("Must be {0}, as above", days) } } : readInput,
    page: (filled) =>
      "input" in readInput ? questionPage(c, site, readInput.input, filled) : siteSettingsPage(c, site, filled),
    list,
    work: async (wantedDays) => {
      await changeSite(ctx, { site, change: { retentionDays: wantedDays } });
      return doneLocation(c, list, "retention", "retention");
    },
  });
}

/** The typed days. An empty field is null, which means for ever. */
function readDays({ t }: View, text: string): EnteredFields<number | null> {
  const number = wholeNumber(text);
  if (number === undefined) return { input: null };
  const checked = retentionDays.safeParse(number);
  if (checked.success) return { input: checked.data };
  return { errors: { days: t("Must be a whole number from 1 to 3650. Leave it empty to keep sessions for ever.") } };
}

const isShorter = (days: number | null, now: number | null): boolean => days !== null && (now === null || days < now);

async function questionPage(c: PageContext, site: Site, days: number | null, filled?: FilledForm): Promise<Response> {
  const { ctx, view, t } = c.var;
  const [now, then] = await Promise.all([
    readRetention(ctx, { site }),
    readRetention(ctx, { site, days: days ?? undefined }),
  ]);
  const isLess = isShorter(days, now.days);
  return askPage(c, {
    title: days === null ? t("Keep sessions for ever?") : t("Keep sessions for {0}?", daysKeptText(view, days)),
    site: { ...site, tab: "settings" },
    text: isLess
      ? t(
          "Older sessions go for good, the oldest first, with their messages, participants and events, and customers without sessions with them. The cron begins within minutes. Nobody can undo it.",
        )
      : t("Nothing is deleted by this: sessions are not kept for less time than now. What is gone does not come back."),
    facts: [
      [t("Now kept for"), daysKeptText(view, now.days)],
      [t("From then on kept for"), daysKeptText(view, days)],
      days !== null && [t("Sessions that would go today"), sessionsToGo(view, days, then)],
    ],
    hidden: { days: String(days ?? "") },
    fields: isLess && {
      days_again: {
        label: t("The number of days again"),
        hint: t("So that nobody deletes sessions by a slip."),
        required: true,
        inputmode: "numeric",
        maxlength: 4,
      },
    },
    filled,
    button: t("Change it now"),
    back: sitePath(site, "/settings"),
  });
}

/** How many sessions would be deleted today, and the time of the oldest. */
function sessionsToGo(view: View, days: number, { older, oldestAt }: Retention): Child {
  const { t } = view;
  if (older === null || older === 0 || oldestAt === null) return t("None");
  return (
    <>
      {t("About {0}, from {1} to {2}", view.number(older), view.time(oldestAt), view.time(view.now - days * 86_400))}
      <p class="hint">{t("Estimated from ids, not counted.")}</p>
    </>
  );
}

/** The typed number. An empty field becomes "", which the schema refuses by the field's name. */
const readFirstChatId = (c: PageContext, first_chat_id: string) =>
  enteredFields(c.var.view, siteChangeSchema.safeParse({ first_chat_id: wholeNumber(first_chat_id) ?? "" }));

/** Asks before a site skips session numbers. It says how many numbers no session will get. */
export async function chatIdPage(c: PageContext, site: Site): Promise<Response> {
  const { view, t } = c.var;
  const settings = sitePath(site, "/settings");
  const { first_chat_id } = c.req.query();
  if (first_chat_id === undefined || site.status === "creating") return c.redirect(settings, 303);
  const checked = readFirstChatId(c, first_chat_id);
  const pageWithErrors = (errors: Record<string, string>) =>
    siteSettingsPage(c, site, { values: { first_chat_id }, errors });
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
      [t("Numbers that are never given"), view.number(wanted - next)],
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
    page: (filledForm) => siteSettingsPage(c, site, filledForm),
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
