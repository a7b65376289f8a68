import { CLOSED_RETRY_SECONDS } from "../../../core/config.ts";
import {
  changeSite,
  readNextChatId,
  readRetention,
  retentionDays,
  type Site,
  type SiteChange,
  siteChangeSchema,
  siteHasEvents,
  tooLowRule,
} from "../../services/sites.ts";
import { listWebhooks } from "../../services/webhooks.ts";
import { sitePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import {
  buttonAction,
  type EnteredFields,
  enteredFields,
  formAction,
  isDraft,
  wholeNumber,
} from "../forms/form-action.ts";
import { doneLocation, type FilledForm, type FormResult, ruleText } from "../forms/messages.ts";
import { askPage } from "../parts/ask.tsx";
import type { View } from "../view.ts";
import { daysKeptText, RetentionProgress, siteSettingsPage } from "./site-settings.tsx";

/** Asks before a setting changes. */
const askOf = (c: PageContext, site: Site, question: Omit<Parameters<typeof askPage>[1], "site" | "back">) =>
  askPage(c, { ...question, site: { ...site, tab: "settings" }, back: sitePath(site, "/settings") });

/** Makes the answer to a button that changes a site. A button that takes something away stands on a page at the path of its form. */
const siteButton =
  (change: SiteChange, result: FormResult) =>
  async (c: PageContext, site: Site): Promise<Response> => {
    const list = sitePath(site, "/settings");
    const isOff = change.events === false;
    return buttonAction(c, {
      draft: { path: isOff || change.status === "closed" ? c.req.path : list },
      list,
      work: async () => {
        const wasOff = isOff && !(await siteHasEvents(c.var.ctx, { site }));
        await changeSite(c.var.ctx, { site, change });
        return doneLocation(c, list, wasOff ? "events_off_before" : result, isOff ? "events" : undefined);
      },
    });
  };

export const postClose = siteButton({ status: "closed" }, "site_closed");
export const postOpen = siteButton({ status: "open" }, "site_opened");
export const postEventsOn = siteButton({ events: true }, "saved");
export const postEventsOff = siteButton({ events: false }, "events_off");

export async function closePage(c: PageContext, site: Site): Promise<Response> {
  const { t } = c.var;
  if (site.status !== "open") return c.redirect(sitePath(site, "/settings"), 303);
  const answer = t("503 with Retry-After: {0}. Nothing is used up, so they may send it again.", CLOSED_RETRY_SECONDS);
  return askOf(c, site, {
    title: t("Close this site?"),
    text: t("None of its calls is accepted until you open it again. Nothing is deleted."),
    facts: [
      [t("Name"), <bdi>{site.name}</bdi>],
      [t("Its callers get"), answer],
    ],
    button: t("Close now"),
  });
}

/** Asks before the events of a site are turned off, and says what is lost from then on. */
export async function eventsOffPage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  const [hasEvents, webhooks] = await Promise.all([siteHasEvents(ctx, { site }), listWebhooks(ctx, { site })]);
  if (!hasEvents) return c.redirect(sitePath(site, "/settings"), 303);
  const enabled = webhooks.filter(({ status }) => status === "enabled").length;
  const lost = t("Calls that came in between left no events: none can be sent again or pulled for them.");
  return askOf(c, site, {
    title: t("Turn the events of this site off?"),
    text: t(
      "From then on its calls leave no events, and nobody is told when a customer is erased. Nothing makes up for it later.",
    ),
    facts: [
      [t("Webhooks that get nothing new"), view.number(enabled)],
      [t("Earlier events"), t("They stay, and what is pending is still sent.")],
      [t("When they are turned on again"), lost],
    ],
    button: t("Turn off now"),
  });
}

/** Asks before a site's retention of sessions changes, and says which sessions would be deleted today. */
export async function retentionPage(c: PageContext, site: Site): Promise<Response> {
  const { days } = c.req.query();
  if (days === undefined || site.status === "creating") return c.redirect(sitePath(site, "/settings"), 303);
  const entered = readDays(c.var.view, days);
  if ("errors" in entered) return siteSettingsPage(c, site, { values: { days }, errors: entered.errors });
  return askDays(c, site, entered.input);
}

/** Answers the form of the question. When it may delete sessions, the days must be typed a second time. */
export async function postRetention(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, t, form } = c.var;
  const { days = "", days_again = "" } = form;
  const entered = readDays(view, days);
  const list = sitePath(site, "/settings");
  const wanted = "input" in entered ? entered.input : null;
  // A draft leads to the question again, and its days need not be typed yet.
  const mustRepeat = isShorter(wanted, (await readRetention(ctx, { site })).days) && !(await isDraft(c));
  const errors = { days_again: t("Must be {0}, as above", days) };
  return formAction(c, {
    values: { days },
    entered: mustRepeat && wholeNumber(days_again) !== wanted ? { errors } : entered,
    page: (filled) => ("input" in entered ? askDays(c, site, wanted, filled) : siteSettingsPage(c, site, filled)),
    list,
    work: async (retentionDays) => {
      await changeSite(ctx, { site, change: { retentionDays } });
      return doneLocation(c, list, "retention", "retention");
    },
  });
}

/** The typed days. An empty field is null, which means for ever. */
function readDays({ t }: View, text: string): EnteredFields<number | null> {
  if (text.trim() === "") return { input: null };
  const checked = retentionDays.safeParse(wholeNumber(text));
  if (checked.success) return { input: checked.data };
  return { errors: { days: t("Must be a whole number from 1 to 3650. Leave it empty to keep sessions for ever.") } };
}

const isShorter = (days: number | null, now: number | null): boolean => days !== null && (now === null || days < now);

async function askDays(c: PageContext, site: Site, days: number | null, filled?: FilledForm): Promise<Response> {
  const { ctx, view, t } = c.var;
  const [now, then] = await Promise.all([
    readRetention(ctx, { site }),
    readRetention(ctx, { site, days: days ?? undefined }),
  ]);
  const isLess = isShorter(days, now.days);
  return askOf(c, site, {
    title: days === null ? t("Keep sessions for ever?") : t("Keep sessions for {0}?", daysKeptText(view, days)),
    text: isLess
      ? t(
          "Older sessions go for good, the oldest first, with their messages, participants and events, and customers without sessions with them. The cron begins within minutes. Nobody can undo it.",
        )
      : t("Nothing is deleted by this: sessions are not kept for less time than now. What is gone does not come back."),
    facts: [
      [t("Now kept for"), daysKeptText(view, now.days)],
      [t("From then on kept for"), daysKeptText(view, days)],
      days !== null && [t("Sessions that would go today"), <RetentionProgress retention={then} />],
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
  });
}

/** The typed number. An empty field becomes "", which the schema refuses by the field's name. */
const readFirstChatId = (c: PageContext, first_chat_id: string) =>
  enteredFields(c.var.view, siteChangeSchema.safeParse({ first_chat_id: wholeNumber(first_chat_id) ?? "" }));

/** Asks before a site skips session numbers. It says how many numbers no session will get. */
export async function chatIdPage(c: PageContext, site: Site): Promise<Response> {
  const { view, ctx, t } = c.var;
  const { first_chat_id } = c.req.query();
  if (first_chat_id === undefined || site.status === "creating") return c.redirect(sitePath(site, "/settings"), 303);
  const entered = readFirstChatId(c, first_chat_id);
  const again = (errors: Record<string, string>) => siteSettingsPage(c, site, { values: { first_chat_id }, errors });
  if ("errors" in entered) return again(entered.errors);
  const { next, setTo } = await readNextChatId(ctx, { site });
  const wanted = Number(entered.input.first_chat_id);
  if (wanted < next) return again({ first_chat_id: ruleText(view, tooLowRule(next - 1)) });
  return askOf(c, site, {
    title: t("Go on at chat_id {0}?", wanted),
    text: t("The numbers between are never given to a session. It cannot be undone: no later number may be lower."),
    facts: [
      [t("Without this, the next session gets"), next],
      [t("With this, it gets"), wanted],
      [t("Numbers that are never given"), view.number(wanted - next)],
    ],
    hidden: { first_chat_id: String(wanted), set_to: String(setTo) },
    button: t("Set the chat_id"),
  });
}

/** Answers the form of {@link chatIdPage}. It asks again when somebody else has set another number meanwhile. */
export async function postChatId(c: PageContext, site: Site): Promise<Response> {
  const { first_chat_id = "", set_to } = c.var.form;
  const list = sitePath(site, "/settings");
  const question = `${c.req.path}?${new URLSearchParams({ first_chat_id })}`;
  return formAction(c, {
    entered: readFirstChatId(c, first_chat_id),
    page: (filled) => siteSettingsPage(c, site, filled),
    draft: { path: question },
    list,
    work: async ({ first_chat_id: firstChatId }) => {
      const { setTo } = await readNextChatId(c.var.ctx, { site });
      // When the answer was lost, this form has set the number already. The form sent again repairs the copies.
      if (String(setTo) !== set_to && setTo !== firstChatId) return doneLocation(c, question, "changed_meanwhile");
      await changeSite(c.var.ctx, { site, change: { firstChatId } });
      return doneLocation(c, list, "first_chat_id", "numbers");
    },
  });
}
