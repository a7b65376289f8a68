import { fieldIssues } from "../../../fields.ts";
import { MAIN_HOME } from "../../../homes.ts";
import { type DivergentApp, listDivergentApps } from "../../../services/divergent-apps.ts";
import { newReconciliationId, reconcileHome, reconcileSchema } from "../../../services/homes.ts";
import { homeUnknown } from "../../../services/refusals.ts";
import { listUsableTokens, MOST_USABLE_TOKENS, type Token } from "../../../services/tokens.ts";
import { noteHome } from "../../operator/context.ts";
import type { PageContext } from "../env.ts";
import { entered, formAction } from "../forms/form-action.ts";
import { errorTexts, type Filled, isRefused } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Ask } from "../parts/ask.tsx";
import { Faults, Field } from "../parts/form.tsx";
import { NoticeBox, Time } from "../parts/parts.tsx";
import { More, Table } from "../parts/table.tsx";
import { TOKENS_PATH, TokenTable } from "../tokens/token-table.tsx";
import type { View } from "../view.ts";
import { type Reconciled, reconciledLocation, reconciledOf } from "./reconciled.ts";

const DEFAULT_LIFT = "1000000";
/** How many divergent apps one page shows. */
const SHOWN_APPS = 50;

/** Reconciles a home after D1's Time Travel restored it: the form, the question before it is done, and the result. docs/operating.md. */
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
  // The id is in the address: when the answer is lost, the page sent again continues the same reconciliation.
  if (input.data.settling_id === undefined)
    return c.redirect(confirmPath(home, lift, newReconciliationId(c.var.ctx)), 303);
  return confirmPage(c, home, input.data.lift, input.data.settling_id);
}

export async function postRestored(c: PageContext): Promise<Response> {
  const home = homeOf(c);
  const form = await readForm(c);
  const { lift = "", settling_id } = form;
  const checked = reconciliationOf(lift, settling_id);
  const { lift: skip = 0, settling_id: reconciliationId = newReconciliationId(c.var.ctx) } = checked.data ?? {};
  const path = confirmPath(home, String(skip), reconciliationId);
  return formAction(c, form, {
    values: { lift },
    entered: entered(c.var.view, checked),
    page: (again) => formPage(c, home, again),
    draft: { path },
    list: path,
    work: async () => {
      noteHome(c, home);
      return reconciledLocation(c, home, await reconcileHome(c.var.ctx, { home, skip, reconciliationId }));
    },
  });
}

const pathOf = (home: string) => `/console/homes/${home}/restored`;

const confirmPath = (home: string, lift: string, reconciliationId: string) =>
  `${pathOf(home)}?lift=${encodeURIComponent(lift)}&settling_id=${reconciliationId}`;

/** The checked fields. An empty `lift` is refused: the schema would take it for the default. */
const reconciliationOf = (lift: string, settling_id?: string) =>
  reconcileSchema.safeParse({ lift: wholeNumber(lift) ?? "", settling_id });

/** @throws ServiceError `not_found` */
function homeOf(c: PageContext): string {
  const home = c.req.param("name") ?? "";
  if (!c.var.ctx.config.homes.has(home)) throw homeUnknown();
  return home;
}

async function formPage(c: PageContext, home: string, again?: Filled): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const isClosed = view.closedHomes.has(home);
  const body = (
    <>
      <Faults view={view} filled={again} labels={{ lift: t("chat_ids to skip") }} />
      {!isClosed && (
        <NoticeBox kind="note" title={t("The home {0} is not closed", home)}>
          <p>
            {t(
              "Close it before you restore it. Otherwise sessions that it opens meanwhile may get a chat_id that was given before. While it is open, the form below is refused.",
            )}
          </p>
        </NoticeBox>
      )}
      <section class="card">
        <h2>{t("In this order")}</h2>
        <ol class="steps">
          <li>
            {t("Close the home:")} <code>npm run deploy -- --close {home}</code>
          </li>
          <li>
            {t("Restore its database:")} <code>wrangler d1 time-travel restore</code>
          </li>
          <li>
            {t(
              "Send the form below, and look at the apps that it lists. It erases again whom the restore has brought back.",
            )}
          </li>
          <li>
            {t("Open the home, at the time that is told then:")} <code>npm run deploy -- --open {home}</code>
          </li>
        </ol>
      </section>
      <section class="card">
        <h2>{t("This home was restored")}</h2>
        <p>
          {t(
            "Each of its sites skips so many chat_ids that none is ever given to a second customer. Sites that the home lost come back, without what they held.",
          )}
        </p>
        <form method="get" action={pathOf(home)}>
          <Field
            label={t("chat_ids to skip")}
            name="lift"
            value={again?.values.lift ?? DEFAULT_LIFT}
            error={again?.errors.lift}
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
  return showPage(
    c,
    { title: t("Restored home {0}", home), section: "homes", back: pathOf(home), body },
    isRefused(again) ? 400 : 200,
  );
}

async function confirmPage(c: PageContext, home: string, lift: number, reconciliationId: string): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const body = (
    <>
      <Ask
        view={view}
        text={t(
          "The chat_ids of its sites are lifted for good. This page sent again lifts nothing more and goes on where it stopped.",
        )}
        facts={
          <>
            <dt>{t("Home")}</dt>
            <dd>{home}</dd>
            <dt>{t("chat_ids to skip")}</dt>
            <dd>{new Intl.NumberFormat(view.language).format(lift)}</dd>
          </>
        }
        action={pathOf(home)}
        hidden={{ lift: String(lift), settling_id: reconciliationId }}
        button={t("It was restored: lift now")}
        keep={t("Cancel")}
        back={pathOf(home)}
      />
    </>
  );
  return showPage(c, { title: t("Was the home {0} restored?", home), section: "homes", body });
}

async function resultPage(c: PageContext, home: string, reconciled: Reconciled): Promise<Response> {
  const { sites, skippedBy, reopenAfter, reconciliationId, erasures } = reconciled;
  const view = c.var.view;
  const { t } = view;
  noteHome(c, home);
  const cursor = c.req.query("cursor");
  const { items, nextCursor, ...list } = await listDivergentApps(c.var.ctx, { home, limit: SHOWN_APPS, cursor });
  const tokens = home === MAIN_HOME ? await listUsableTokens(c.var.ctx) : [];
  const homesDown = [...new Set([...reconciled.homesDown, ...list.homesDown])];
  const number = new Intl.NumberFormat(view.language);
  const body = (
    <>
      <NoticeBox kind="good" title={t("The chat_ids of the home {0} were lifted", home)} />
      {homesDown.length > 0 && (
        <NoticeBox kind="bad" title={t("No answer from: {0}", homesDown.join(", "))}>
          {t("Their sites and apps are not back. Do not open this home, and send the form again when they answer.")}{" "}
          <a href={confirmPath(home, DEFAULT_LIFT, reconciliationId)}>{t("Send it again…")}</a>
        </NoticeBox>
      )}
      {erasures.left > 0 && (
        <NoticeBox kind="bad" title={t("Erasures of customers that are left: {0}", number.format(erasures.left))}>
          {t("Customers who were erased are back. Do not open this home, and send the form again until none is left.")}{" "}
          <a href={confirmPath(home, DEFAULT_LIFT, reconciliationId)}>{t("Send it again…")}</a>
        </NoticeBox>
      )}
      <section class="card">
        <dl class="facts">
          <dt>{t("Sites")}</dt>
          <dd>{number.format(sites)}</dd>
          <dt>{t("Customers erased again")}</dt>
          <dd>{number.format(erasures.done)}</dd>
          <dt>{t("chat_ids skipped")}</dt>
          <dd>{number.format(skippedBy)}</dd>
          <dt>{t("Open it after")}</dt>
          <dd>
            <Time view={view} at={reopenAfter} />
            <p class="hint">
              {t("By then every ranstr of before has expired, so nothing that was undone can be sent again.")}
            </p>
          </dd>
        </dl>
      </section>
      <section class="part">
        <h2>{t("Apps to look at before that")}</h2>
        <Table
          label={t("Apps to look at before that")}
          head={["appid", t("Site"), t("What to do")]}
          rows={items.map((app) => [
            <a
              href={`/console/sites/${app.siteId}/apps${app.why === "missing" || app.why === "unrouted" ? "" : `/${app.appid}`}`}
            >
              <code>{app.appid}</code>
            </a>,
            <a href={`/console/sites/${app.siteId}`}>{app.siteId}</a>,
            adviceOn(view, app),
          ])}
          empty={
            nextCursor === null && cursor === undefined
              ? t("There is none: every app is as it was.")
              : t("There is none on this page.")
          }
        />
        <More view={view} path={pathOf(home)} query={{ settled: c.req.query("settled") }} cursor={nextCursor} />
      </section>
      {home === MAIN_HOME && <RestoredTokens view={view} tokens={tokens} />}
      <p>
        <a class="button plain" href="/console/homes">
          {t("To the homes")}
        </a>
      </p>
    </>
  );
  return showPage(c, { title: t("Restored home {0}", home), section: "homes", body });
}

/** The tokens that a restored directory has: it may have brought deleted ones back. */
function RestoredTokens({ view, tokens }: { view: View; tokens: Token[] }) {
  const { t } = view;
  return (
    <section class="part">
      <h2>{t("Which of these tokens were deleted since the restored time?")}</h2>
      <p class="hint">
        {t("The restore brought them back, and they open what they opened before: delete them again.")}{" "}
        {t("Console sessions that were ended since then are open again too:")}{" "}
        <a href="/console/access">{t("Your access")}</a>
      </p>
      <TokenTable view={view} tokens={tokens} empty={t("There is no token that opens anything.")} />
      {tokens.length === MOST_USABLE_TOKENS && (
        <p class="hint">
          {t("There may be more:")} <a href={TOKENS_PATH}>{t("Tokens")}</a>
        </p>
      )}
    </section>
  );
}

function adviceOn({ t }: View, { why }: DivergentApp): string {
  const texts: Record<DivergentApp["why"], string> = {
    missing: t(
      "The home does not have it any more: issue it again with this appid, and with the secret that its callers have or a new one.",
    ),
    revoked: t("It was revoked, and now is not: revoke it again."),
    unrouted: t(
      "Its site's id belongs to another site by now: make a new site in its home, and issue a new app for its callers.",
    ),
    rotated: t("It had a newer secret, and now has an older one: rotate it and give the secret to its callers."),
  };
  return texts[why];
}
