import type { Child } from "hono/jsx";
import { isRefusedFor } from "../../../core/errors.ts";
import { fieldIssues } from "../../../core/fields.ts";
import { bindingOfHome } from "../../../core/homes.ts";
import { noteHome } from "../../http/context.ts";
import { type KeptDeletion, keptDeletionsSchema } from "../../services/delete-again.ts";
import { type KeptReceipt, keptReceiptsSchema } from "../../services/erase-again.ts";
import { areKeptByOperator } from "../../services/erase-customer.ts";
import { newReconciliationId, reconcileHome, reconcileSchema } from "../../services/homes.ts";
import { homeUnknown } from "../../services/refusals.ts";
import { docsPath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { type EnteredFields, enteredFields, formAction, wholeNumber } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Ask } from "../parts/ask.tsx";
import { type Fields, FormErrors, FormFields, SendButton } from "../parts/form.tsx";
import { Card, NoticeBox } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { confirmPath, DEFAULT_LIFT, pathOf, reconciledLocation, reconciledOf, resultPage } from "./restored-result.tsx";

/** Reconciles a home after D1's Time Travel restored it: the form, the question and the result. See docs/operating/data-and-restore.md. */
export async function restoredPage(c: PageContext): Promise<Response> {
  const home = homeOf(c);
  const reconciled = await reconciledOf(c, home);
  if (reconciled !== undefined) return resultPage(c, home, reconciled);
  const { lift, settling_id } = c.req.query();
  if (lift === undefined) return formPage(c, home);
  const entered = enteredFields(c.var.view, reconciliationOf(lift, settling_id));
  if ("errors" in entered) return formPage(c, home, { values: { lift }, errors: entered.errors });
  const { lift: skip, settling_id: id } = entered.input;
  // The address holds the id. When the answer is lost, a page that is sent again continues the same reconciliation.
  if (id === undefined) return c.redirect(confirmPath(home, lift, newReconciliationId(c.var.ctx)), 303);
  return confirmPage(c, home, skip, id);
}

export async function postRestored(c: PageContext): Promise<Response> {
  const home = homeOf(c);
  const { ctx, view, t, form } = c.var;
  const { lift = "", settling_id, receipts = "" } = form;
  const checked = reconciliationOf(lift, settling_id);
  const { lift: skip = 0, settling_id: id = newReconciliationId(ctx) } = checked.data ?? {};
  const entered = enteredFields(view, checked);
  const path = confirmPath(home, String(skip), id);
  const values = { lift, settling_id: id, ...(receipts && { receipts }) };
  return formAction(c, {
    values,
    entered: "errors" in entered ? entered : pastedReceipts(view, receipts),
    page: (filled) => (checked.success ? confirmPage(c, home, skip, id, filled) : formPage(c, home, filled)),
    // A pasted text stays in its field only when the page is shown directly. A redirect would lose it.
    draft: receipts ? undefined : { path },
    list: path,
    work: async (pasted) => {
      noteHome(c, home);
      try {
        return reconciledLocation(c, home, await reconcileHome(ctx, { home, skip, reconciliationId: id, ...pasted }));
      } catch (error) {
        if (!isRefusedFor(error, "floors_unread")) throw error;
        const title = t("Not done yet: KV holds more than is read at once. Press it again, until it is done.");
        return confirmPage(c, home, skip, id, { values, errors: {} }, <NoticeBox kind="bad" title={title} />);
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

async function formPage(c: PageContext, home: string, filled?: FilledForm) {
  const { view, t } = c.var;
  const fields: Fields = {
    lift: {
      label: t("Session numbers to skip (chat_id)"),
      value: DEFAULT_LIFT,
      hint: t("More than any site can have given since the time that the home was restored to."),
      required: true,
      inputmode: "numeric",
      maxlength: 10,
    },
  };
  const body = (
    <>
      <FormErrors filled={filled} fields={fields} />
      {!view.closedHomes.has(home) && (
        <NoticeBox kind="note" title={t("The home {0} is not closed", home)}>
          <p>
            {t(
              "Close it before you restore it. Otherwise sessions that it opens meanwhile may get a chat_id that was given before. While it is open, the form below is refused.",
            )}
          </p>
        </NoticeBox>
      )}
      {restoreSteps(view, home)}
      <Card title={t("This home was restored")}>
        <p>
          {t("Its sites skip session numbers (chat_id): none is given twice. Lost sites return without their data.")}
        </p>
        <form method="get" action={pathOf(home)}>
          <FormFields fields={fields} filled={filled} />
          <SendButton label={t("Go on…")} back="/console/homes" />
        </form>
      </Card>
    </>
  );
  return showPage(c, { title: t("Restored home {0}", home), section: "homes", filled, body });
}

/** @param unread what to say when the form must be sent again, because KV held more receipts than were read */
async function confirmPage(
  c: PageContext,
  home: string,
  skip: number,
  id: string,
  filled?: FilledForm,
  unread?: Child,
) {
  const { ctx, view, t } = c.var;
  const byOperator = areKeptByOperator(ctx);
  // Without KV, the deployment has stored no receipt. With KV, the operator may have older receipts, or none.
  const hint = byOperator
    ? t(
        "This deployment has no KV: without the receipts of the last 31 days, customers who were erased since then come back, and so do sites that were deleted. Paste each list as it was shown, one a line. Leave it empty only if no customer was erased and no site deleted.",
      )
    : t("Only those that you were told to keep before this deployment had KV. Paste each list as shown, one a line.");
  const label = t("Receipts of erasures and deletions");
  const body = (
    <>
      {unread}
      <Ask
        text={t(
          "The session numbers (chat_id) of its sites skip ahead for good. This page sent again skips nothing more and goes on where it stopped.",
        )}
        facts={[
          [t("Home"), home],
          [t("Session numbers to skip (chat_id)"), view.number(skip)],
        ]}
        action={pathOf(home)}
        hidden={{ lift: String(skip), settling_id: id }}
        fields={{ receipts: { label, hint, value: filled?.values.receipts, rows: byOperator ? 6 : 2, code: true } }}
        filled={unread ? undefined : filled}
        button={t("It was restored: skip now")}
        back={pathOf(home)}
      />
    </>
  );
  return showPage(c, { title: t("Was the home {0} restored?", home), section: "homes", filled, body });
}

/** The steps that restore a home. They begin with the same words as those of docs/operating/data-and-restore.md, which a test compares. */
function restoreSteps(view: View, home: string) {
  const { t } = view;
  const binding = bindingOfHome(home);
  const log = <a href="/console/audit">{t("Audit log")}</a>;
  const steps: [begins: string, rest: Child, ...commands: string[]][] = [
    [
      t("Keep the list of changes since the point."),
      [t("The home's own log goes back too. Keep it as a file, from the page:"), " ", log],
    ],
    [t("Close the home."), t("Then wait a minute."), `npm run deploy -- --close ${home}`],
    [
      t("Restore its database."),
      t("First keep the bookmark that info prints: it is the way back."),
      `npx wrangler d1 time-travel info ${binding} --env ""`,
      `npx wrangler d1 time-travel restore ${binding} --timestamp 2026-11-22T06:00:00Z --env ""`,
    ],
    [t("Migrate it."), t("The restore undid later migrations too. The home stays closed."), "npm run deploy"],
    [t("Reconcile it."), t("Send the form below until it is done: customers who were erased are erased again.")],
    [t("Look at each app that the list names."), t("This page shows it after the form. See the list you kept, too.")],
    [t("Wait until it may be opened."), t("The result tells this time. Old requests could be sent again until then.")],
    [t("Open it."), "", `npm run deploy -- --open ${home}`],
  ];
  return (
    <Card title={t("In this order")}>
      <ol class="steps">
        {steps.map(([begins, rest, ...commands]) => (
          <li>
            <strong>{begins}</strong> {rest}
            {commands.map((command) => (
              <span class="line">
                <code>{command}</code>
              </span>
            ))}
          </li>
        ))}
      </ol>
      <p class="hint">
        <a href={docsPath(view, "operating/data-and-restore#restoring-a-home")}>{t("The steps in full")}</a>
      </p>
    </Card>
  );
}

/** The receipts that the operator saved: of erasures, and of deleted sites. */
type PastedReceipts = { receipts: KeptReceipt[]; deletions: KeptDeletion[] };

/** Reads the receipts in a pasted text: one JSON list, or a list or a single receipt on each line. */
function pastedReceipts({ t }: View, text: string): EnteredFields<PastedReceipts> {
  const receiptsError = (error: string) => ({ errors: { receipts: error } });
  const whole = parsedJson(text);
  const lines = whole ? [whole] : text.split("\n").map((line) => (line.trim() === "" ? [] : parsedJson(line)));
  const cutLine = lines.indexOf(undefined);
  if (cutLine >= 0) return receiptsError(t("Line {0} is not JSON. Was it cut off?", cutLine + 1));
  const pasted: PastedReceipts = { receipts: [], deletions: [] };
  for (const [at, one] of lines.flat().entries()) {
    const isDeletion = typeof one === "object" && one !== null && "deletion_id" in one;
    const checked = isDeletion ? keptDeletionsSchema.safeParse([one]) : keptReceiptsSchema.safeParse([one]);
    if (!checked.success) {
      const [, ...field] = (fieldIssues(checked.error)[0]?.field ?? "").split(".");
      return receiptsError(
        field.length === 0
          ? t("Number {0} is no receipt: paste it as it was shown.", at + 1)
          : t("Number {0} is not as it was shown: {1}", at + 1, field.join(".")),
      );
    }
    for (const each of checked.data) {
      if ("deletion_id" in each) pasted.deletions.push(each);
      else pasted.receipts.push(each);
    }
  }
  return { input: pasted };
}

/** The values of a JSON list, or a single value; undefined when the text is no JSON. */
function parsedJson(text: string): unknown[] | undefined {
  try {
    return [JSON.parse(text)].flat();
  } catch {
    return undefined;
  }
}
