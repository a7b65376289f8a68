import { changeSite, type Retention, readRetention, retentionDays, type Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { type EnteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { isDraft } from "../forms/submit-once.ts";
import { showPage } from "../layout.tsx";
import { Ask } from "../parts/ask.tsx";
import { daysKeptText } from "../parts/days-kept-text.ts";
import { Field, FormErrors } from "../parts/form.tsx";
import type { View } from "../view.ts";
import { retentionPath, settingsPath } from "./site-paths.ts";
import { settingsPage } from "./site-settings.tsx";

/** Asks before a site's retention of sessions changes, and says which sessions would be deleted today. */
export async function retentionPage(c: PageContext, site: Site): Promise<Response> {
  const { days } = c.req.query();
  if (days === undefined || site.status === "creating") return c.redirect(settingsPath(site), 303);
  const readInput = readDays(c.var.view, days);
  if ("errors" in readInput) return settingsPage(c, site, { values: { days }, errors: readInput.errors });
  return askPage(c, site, readInput.input);
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
  return formAction(c, form, {
    values: { days },
    entered: mustRepeat && !isRepeated ? { errors: { days_again: view.t("Must be {0}, as above", days) } } : readInput,
    page: (filledForm) =>
      "input" in readInput ? askPage(c, site, readInput.input, filledForm) : settingsPage(c, site, filledForm),
    list: settingsPath(site),
    work: async (wantedDays) => {
      await changeSite(ctx, { site, change: { retentionDays: wantedDays } });
      return doneLocation(c, settingsPath(site), "retention", "retention");
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

async function askPage(c: PageContext, site: Site, days: number | null, filledForm?: FilledForm): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const [now, then] = await Promise.all([
    readRetention(ctx, { site }),
    readRetention(ctx, { site, days: days ?? undefined }),
  ]);
  const isLess = isShorter(days, now.days);
  const path = retentionPath(site);
  const body = (
    <>
      <FormErrors filled={filledForm} fields={{ days_again: t("The number of days again") }} />
      <Ask
        text={
          isLess
            ? t(
                "Older sessions go for good, the oldest first, with their messages, participants and events, and customers without sessions with them. The cron begins within minutes. Nobody can undo it.",
              )
            : t(
                "Nothing is deleted by this: sessions are not kept for less time than now. What is gone does not come back.",
              )
        }
        facts={
          <>
            <dt>{t("Now kept for")}</dt>
            <dd>{daysKeptText(view, now.days)}</dd>
            <dt>{t("From then on kept for")}</dt>
            <dd>{daysKeptText(view, days)}</dd>
            {days !== null && (
              <>
                <dt>{t("Sessions that would go today")}</dt>
                <dd>
                  <RetentionPreview view={view} days={days} then={then} />
                </dd>
              </>
            )}
          </>
        }
        action={path}
        hidden={{ days: String(days ?? "") }}
        fields={
          isLess && (
            <Field
              label={t("The number of days again")}
              name="days_again"
              error={filledForm?.errors.days_again}
              hint={t("So that nobody deletes sessions by a slip.")}
              required
              inputmode="numeric"
              maxlength={4}
            />
          )
        }
        button={t("Change it now")}
        keep={t("Cancel")}
        back={settingsPath(site)}
      />
    </>
  );
  const title = days === null ? t("Keep sessions for ever?") : t("Keep sessions for {0}?", daysKeptText(view, days));
  const page = { title, site: { ...site, tab: "settings" as const }, body };
  return showPage(c, { ...page, filled: filledForm });
}

/** How many sessions would be deleted today, and the time of the oldest. */
function RetentionPreview({ view, days, then }: { view: View; days: number; then: Retention }) {
  const { t } = view;
  const { older, oldestAt } = then;
  if (older === null || older === 0 || oldestAt === null) return <>{t("None")}</>;
  return (
    <>
      {t(
        "About {0}, from {1} to {2}",
        new Intl.NumberFormat(view.language).format(older),
        view.time(oldestAt),
        view.time(view.now - days * 86_400),
      )}
      <p class="hint">{t("Estimated from ids, not counted.")}</p>
    </>
  );
}
