import { isRefusedFor } from "../../../core/errors.ts";
import { fieldIssues } from "../../../core/fields.ts";
import { noteHome } from "../../http/context.ts";
import { areKeptByOperator } from "../../services/erase-customer.ts";
import { newReconciliationId, reconcileHome, reconcileSchema } from "../../services/homes.ts";
import { homeUnknown } from "../../services/refusals.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { errorTexts, type FilledForm } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Ask } from "../parts/ask.tsx";
import { Field, FormErrors } from "../parts/form.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { pastedReceipts, ReceiptsField } from "./receipts-field.tsx";
import { confirmPath, DEFAULT_LIFT, pathOf, reconciledLocation, reconciledOf } from "./reconciled.ts";
import { RestoreSteps } from "./restore-steps.tsx";
import { resultPage } from "./restored-result.tsx";

/** Reconciles a home after D1's Time Travel restored it: the form, the question and the result. See docs/operating.md. */
export async function restoredPage(c: PageContext): Promise<Response> {
  const home = homeOf(c);
  const reconciled = await reconciledOf(c, home);
  if (reconciled !== undefined) return resultPage(c, home, reconciled);
  const { lift, settling_id } = c.req.query();
  if (lift === undefined) return formPage(c, home);
  const input = reconciliationOf(lift, settling_id);
  if (!input.success) {
    return formPage(c, home, { values: { lift }, errors: errorTexts(c.var.view, fieldIssues(input.error)) });
  }
  // The address holds the id. When the answer is lost, a page that is sent again continues the same reconciliation.
  if (input.data.settling_id === undefined)
    return c.redirect(confirmPath(home, lift, newReconciliationId(c.var.ctx)), 303);
  return confirmPage(c, home, input.data.lift, input.data.settling_id);
}

export async function postRestored(c: PageContext): Promise<Response> {
  const home = homeOf(c);
  const { view } = c.var;
  const form = await readForm(c);
  const { lift = "", settling_id } = form;
  const checked = reconciliationOf(lift, settling_id);
  const { lift: skip = 0, settling_id: reconciliationId = newReconciliationId(c.var.ctx) } = checked.data ?? {};
  const receipts = pastedReceipts(view, form.receipts ?? "");
  const path = confirmPath(home, String(skip), reconciliationId);
  const values = { lift, settling_id: reconciliationId, ...(form.receipts && { receipts: form.receipts }) };
  return formAction(c, form, {
    values,
    entered: "errors" in receipts && checked.success ? receipts : enteredFields(view, checked),
    page: (filledForm) =>
      checked.success ? confirmPage(c, home, skip, reconciliationId, filledForm) : formPage(c, home, filledForm),
    // A pasted text stays in its field only when the page is shown directly. A redirect would lose it.
    draft: form.receipts ? undefined : { path },
    list: path,
    work: async () => {
      noteHome(c, home);
      const pastedReceipts = "input" in receipts ? receipts.input : {};
      try {
        const reconciledHome = await reconcileHome(c.var.ctx, { home, skip, reconciliationId, ...pastedReceipts });
        return reconciledLocation(c, home, reconciledHome);
      } catch (error) {
        if (!isRefusedFor(error, "floors_unread")) throw error;
        return confirmPage(c, home, skip, reconciliationId, { values, errors: {} }, true);
      }
    },
  });
}

/** The checked fields. An empty `lift` is refused, because the schema would replace it with the default. */
const reconciliationOf = (lift: string, settling_id?: string) =>
  reconcileSchema.safeParse({ lift: wholeNumber(lift) ?? "", settling_id });

/** @throws ServiceError `not_found` */
function homeOf(c: PageContext): string {
  const home = c.req.param("name") ?? "";
  if (!c.var.ctx.config.homes.has(home)) throw homeUnknown();
  return home;
}

async function formPage(c: PageContext, home: string, filledForm?: FilledForm): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const isClosed = view.closedHomes.has(home);
  const body = (
    <>
      <FormErrors filled={filledForm} fields={{ lift: t("Session numbers to skip (chat_id)") }} />
      {!isClosed && (
        <NoticeBox kind="note" title={t("The home {0} is not closed", home)}>
          <p>
            {t(
              "Close it before you restore it. Otherwise sessions that it opens meanwhile may get a chat_id that was given before. While it is open, the form below is refused.",
            )}
          </p>
        </NoticeBox>
      )}
      <RestoreSteps view={view} home={home} />
      <section class="card">
        <h2>{t("This home was restored")}</h2>
        <p>
          {t(
            "Each of its sites skips so many session numbers (chat_id) that none is ever given to a second customer. Sites that the home lost come back, without what they held.",
          )}
        </p>
        <form method="get" action={pathOf(home)}>
          <Field
            label={t("Session numbers to skip (chat_id)")}
            name="lift"
            value={filledForm?.values.lift ?? DEFAULT_LIFT}
            error={filledForm?.errors.lift}
            hint={t("More than any site can have given since the time that the home was restored to.")}
            required
            inputmode="numeric"
            maxlength={10}
          />
          <div class="buttons">
            <button type="submit">{t("Go on…")}</button>
            <a class="button plain" href="/console/homes">
              {t("Cancel")}
            </a>
          </div>
        </form>
      </section>
    </>
  );
  return showPage(c, { title: t("Restored home {0}", home), section: "homes", filled: filledForm, body });
}

/** @param isUnread whether the form must be sent again, because KV held more receipts than were read */
async function confirmPage(
  c: PageContext,
  home: string,
  lift: number,
  reconciliationId: string,
  filledForm?: FilledForm,
  isUnread = false,
): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const body = (
    <>
      {isUnread ? (
        <NoticeBox
          kind="bad"
          title={t(
            "Not done yet: KV holds more than can be read at once. Press it again, until it is done: each time it goes on where it stopped.",
          )}
        />
      ) : (
        <FormErrors filled={filledForm} fields={{ receipts: t("Receipts of erasures and deletions") }} />
      )}
      <Ask
        text={t(
          "The session numbers (chat_id) of its sites skip ahead for good. This page sent again skips nothing more and goes on where it stopped.",
        )}
        facts={
          <>
            <dt>{t("Home")}</dt>
            <dd>{home}</dd>
            <dt>{t("Session numbers to skip (chat_id)")}</dt>
            <dd>{new Intl.NumberFormat(view.language).format(lift)}</dd>
          </>
        }
        action={pathOf(home)}
        hidden={{ lift: String(lift), settling_id: reconciliationId }}
        fields={<ReceiptsField view={view} filledForm={filledForm} isNeeded={areKeptByOperator(c.var.ctx)} />}
        button={t("It was restored: skip now")}
        keep={t("Cancel")}
        back={pathOf(home)}
      />
    </>
  );
  const title = t("Was the home {0} restored?", home);
  return showPage(c, { title, section: "homes", filled: filledForm, body });
}
