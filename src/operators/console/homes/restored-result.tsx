import type { Child } from "hono/jsx";
import { MAIN_HOME } from "../../../core/homes.ts";
import { noteHome } from "../../http/context.ts";
import { type DivergentApp, listDivergentApps } from "../../services/divergent-apps.ts";
import { areKeptByOperator } from "../../services/erase-customer.ts";
import { listUsablePeople, MOST_USABLE_PEOPLE } from "../../services/people.ts";
import { sitesOf } from "../../services/site-names.ts";
import { listUsableTokens, MOST_USABLE_TOKENS } from "../../services/tokens.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { PEOPLE_PATH, TOKENS_PATH } from "../parts/grant.tsx";
import { Facts, NoticeBox, Time } from "../parts/parts.tsx";
import { MoreLink, Table } from "../parts/table.tsx";
import { personTable } from "../people/people-page.tsx";
import { tokenTable } from "../tokens/tokens-page.tsx";
import type { View } from "../view.ts";
import { confirmPath, DEFAULT_LIFT, pathOf, type Reconciled } from "./reconciled.ts";

/** How many divergent apps one page shows. */
const SHOWN_APPS = 50;

/** The result of a reconciliation, with a list of what to check before the home is opened. */
export async function resultPage(c: PageContext, home: string, reconciled: Reconciled): Promise<Response> {
  const { sites, skippedBy, reopenAfter, reconciliationId, erasures, sitesDeletedAgain } = reconciled;
  const { view, ctx, t } = c.var;
  noteHome(c, home);
  const cursor = c.req.query("cursor");
  const { items, nextCursor, ...list } = await listDivergentApps(ctx, { home, limit: SHOWN_APPS, cursor });
  const homesDown = [...new Set([...reconciled.homesDown, ...list.homesDown])];
  const left: [title: string | false, text: string][] = [
    [
      homesDown.length > 0 && t("No answer from: {0}", homesDown.join(", ")),
      t("Their sites and apps are not back. Do not open this home, and send the form again when they answer."),
    ],
    [
      erasures.left > 0 && t("Do not open this home: erasures left: {0}", view.number(erasures.left)),
      t("The restore brought back customers who were erased. Send the form again until no erasure is left."),
    ],
  ];
  const body = (
    <>
      <NoticeBox kind="good" title={t("The sites of the home {0} have skipped session numbers (chat_id)", home)} />
      {left.map(
        ([title, text]) =>
          title && (
            <NoticeBox kind="bad" title={title}>
              {text} <a href={confirmPath(home, DEFAULT_LIFT, reconciliationId)}>{t("Send it again…")}</a>
            </NoticeBox>
          ),
      )}
      <section class="card">
        <Facts
          rows={[
            [t("Sites"), view.number(sites)],
            [t("Session numbers skipped (chat_id)"), view.number(skippedBy)],
            [
              t("Customers erased again"),
              withHint(
                view.number(erasures.done),
                areKeptByOperator(ctx) &&
                  t("There is no KV: only receipts that were pasted in, and those that main still has, count."),
              ),
            ],
            sitesDeletedAgain > 0 && [
              t("Sites deleted again"),
              withHint(
                view.number(sitesDeletedAgain),
                t("The restore had brought them back. The cron deletes what they hold."),
              ),
            ],
            [
              t("Open it after"),
              withHint(
                <Time at={reopenAfter} />,
                t("Every one-time text (ranstr) of before has expired then: nothing undone can be sent again."),
              ),
            ],
          ]}
        />
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
        <MoreLink path={pathOf(home)} query={{ settled: c.req.query("settled") }} cursor={nextCursor} />
      </section>
      {home === MAIN_HOME && (await restoredGrants(c))}
      <p>
        <a class="button plain" href="/console/homes">
          {t("To the homes")}
        </a>
      </p>
    </>
  );
  return showPage(c, { title: t("Restored home {0}", home), section: "homes", body });
}

/** The people and the tokens of a restored directory. The restore may have brought back some that were ended. */
async function restoredGrants(c: PageContext) {
  const { ctx, view, t } = c.var;
  const [people, tokens] = await Promise.all([listUsablePeople(ctx), listUsableTokens(ctx)]);
  const sites = await sitesOf(ctx, [...people, ...tokens]);
  const more = (count: number, most: number, path: string, label: string) =>
    count === most && (
      <p class="hint">
        {t("There may be more:")} <a href={path}>{label}</a>
      </p>
    );
  return (
    <>
      <section class="part">
        <h2>{t("Whose access was ended since the restored time?")}</h2>
        <p class="hint">
          {t("The restore brought them back, and they may come in: end their access again.")}{" "}
          {t("Console sessions that were ended since then are open again too:")}{" "}
          <a href="/console/access">{t("Your access")}</a>
        </p>
        <Table {...personTable(view, people, sites)} id="people" empty={t("There is nobody who was let in.")} />
        {more(people.length, MOST_USABLE_PEOPLE, PEOPLE_PATH, t("People"))}
      </section>
      <section class="part">
        <h2>{t("Which of these tokens were deleted since the restored time?")}</h2>
        <p class="hint">
          {t("The restore brought them back, and they open what they opened before: delete them again.")}
        </p>
        <Table {...tokenTable(view, tokens, sites)} id="tokens" empty={t("There is no token that opens anything.")} />
        {more(tokens.length, MOST_USABLE_TOKENS, TOKENS_PATH, t("Tokens for programs"))}
      </section>
    </>
  );
}

const withHint = (value: Child, hint: string | false) => (
  <>
    {value}
    {hint && <p class="hint">{hint}</p>}
  </>
);

function adviceOn({ t }: View, { why }: DivergentApp): string {
  const texts: Record<DivergentApp["why"], string> = {
    missing: t("The home lost it: issue it again with this appid, and with its callers' secret or a new one."),
    revoked: t("It was revoked, and now is not: revoke it again."),
    unrouted: t("Its site's id is another site's by now: make a new site in its home, and a new app for its callers."),
    rotated: t("It had a newer secret, and now has an older one: rotate it and give the secret to its callers."),
  };
  return texts[why];
}
