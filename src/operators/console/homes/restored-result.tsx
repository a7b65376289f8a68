import { MAIN_HOME } from "../../../core/homes.ts";
import { noteHome } from "../../http/context.ts";
import { type DivergentApp, listDivergentApps } from "../../services/divergent-apps.ts";
import { areKeptByOperator } from "../../services/erase-customer.ts";
import type { ReconciledHome } from "../../services/homes.ts";
import { listUsablePeople, MOST_USABLE_PEOPLE } from "../../services/people.ts";
import { sitesOf } from "../../services/site-names.ts";
import { listUsableTokens, MOST_USABLE_TOKENS } from "../../services/tokens.ts";
import type { PageContext } from "../env.ts";
import { ticketEnd, ticketFor } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { PEOPLE_PATH, TOKENS_PATH } from "../parts/grant.tsx";
import { MoreLink, Table } from "../parts/list.tsx";
import { ButtonLink, Card, NoticeBox, Part, Time } from "../parts/parts.tsx";
import { personTable } from "../people/people-page.tsx";
import { tokenTable } from "../tokens/tokens-page.tsx";

/** The result of a reconciliation, as the address of its page holds it. The page reads the divergent apps, the tokens and the people anew. */
type Reconciled = Omit<ReconciledHome, "tokens" | "people">;

export const DEFAULT_LIFT = "1000000";

export const pathOf = (home: string): string => `/console/homes/${home}/restored`;

/** The address of the page that asks before a home is reconciled. A form sent again from there continues the same reconciliation. */
export const confirmPath = (home: string, lift: string, reconciliationId: string): string =>
  `${pathOf(home)}?lift=${encodeURIComponent(lift)}&settling_id=${reconciliationId}`;

/** This is longer than the home must stay closed after its reconciliation, because the page says when to open the home. */
const SHOWN_SECONDS = 7_200;

const purposeOf = (home: string, resultText: string) => ["reconciled", home, resultText];

/** The address of the page that shows the result to this console session only. */
export async function reconciledLocation(c: PageContext, home: string, result: ReconciledHome): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return pathOf(home);
  const resultText = JSON.stringify({ ...result, tokens: undefined, people: undefined });
  const ticket = await ticketFor(session, purposeOf(home, resultText), now, SHOWN_SECONDS);
  return `${pathOf(home)}?${new URLSearchParams({ settled: `${resultText}.${ticket}` })}`;
}

/** The result in an address of {@link reconciledLocation}; undefined for any other address. */
export async function reconciledOf(c: PageContext, home: string): Promise<Reconciled | undefined> {
  const { session, now } = c.var.view;
  const [, resultText = "", ticket = ""] = /^([^.]+)\.(.*)$/.exec(c.req.query("settled") ?? "") ?? [];
  const end = session && (await ticketEnd(session, purposeOf(home, resultText), ticket, now));
  return end === undefined ? undefined : JSON.parse(resultText);
}

/** How many divergent apps one page shows. */
const SHOWN_APPS = 50;

/** The result of a reconciliation, with a list of what to check before the home is opened. */
export async function resultPage(c: PageContext, home: string, reconciled: Reconciled): Promise<Response> {
  const { sites, skippedBy, reopenAfter, reconciliationId, erasures, sitesDeletedAgain } = reconciled;
  const { ctx, t } = c.var;
  const { number } = c.var.view;
  noteHome(c, home);
  const { settled, cursor } = c.req.query();
  const { items, nextCursor, ...list } = await listDivergentApps(ctx, { home, limit: SHOWN_APPS, cursor });
  const homesDown = [...new Set([...reconciled.homesDown, ...list.homesDown])];
  const sendAgain = <a href={confirmPath(home, DEFAULT_LIFT, reconciliationId)}>{t("Send it again…")}</a>;
  const hint = (text: string) => <p class="hint">{text}</p>;
  const noKvText = t("There is no KV: only receipts that were pasted in, and those that main still has, count.");
  const sitesText = t("The restore had brought them back. The cron deletes what they hold.");
  const openText = t("Every one-time text (ranstr) of before has expired then: nothing undone can be sent again.");
  const advice: Record<DivergentApp["why"], string> = {
    missing: t("The home lost it: issue it again with this appid, and with its callers' secret or a new one."),
    revoked: t("It was revoked, and now is not: revoke it again."),
    unrouted: t("Its site's id is another site's by now: make a new site in its home, and a new app for its callers."),
    rotated: t("It had a newer secret, and now has an older one: rotate it and give the secret to its callers."),
  };
  const pageOf = ({ siteId, appid, why }: DivergentApp) =>
    `/console/sites/${siteId}/apps${why === "missing" || why === "unrouted" ? "" : `/${appid}`}`;
  const isAll = nextCursor === null && cursor === undefined;
  const body = (
    <>
      <NoticeBox kind="good" title={t("The sites of the home {0} have skipped session numbers (chat_id)", home)} />
      {homesDown.length > 0 && (
        <NoticeBox kind="bad" title={t("No answer from: {0}", homesDown.join(", "))}>
          {t("Their sites and apps are not back. Do not open this home, and send the form again when they answer.")}{" "}
          {sendAgain}
        </NoticeBox>
      )}
      {erasures.left > 0 && (
        <NoticeBox kind="bad" title={t("Do not open this home: erasures left: {0}", number(erasures.left))}>
          {t("The restore brought back customers who were erased. Send the form again until no erasure is left.")}{" "}
          {sendAgain}
        </NoticeBox>
      )}
      <Card
        facts={[
          [t("Sites"), number(sites)],
          [t("Session numbers skipped (chat_id)"), number(skippedBy)],
          [t("Customers erased again"), [number(erasures.done), areKeptByOperator(ctx) && hint(noKvText)]],
          sitesDeletedAgain > 0 && [t("Sites deleted again"), [number(sitesDeletedAgain), hint(sitesText)]],
          [t("Open it after"), [<Time at={reopenAfter} />, hint(openText)]],
        ]}
      />
      <Part title={t("Apps to look at before that")}>
        <Table
          label={t("Apps to look at before that")}
          head={["appid", t("Site"), t("What to do")]}
          rows={items.map((app) => [
            <a href={pageOf(app)}>
              <code>{app.appid}</code>
            </a>,
            <a href={`/console/sites/${app.siteId}`}>{app.siteId}</a>,
            advice[app.why],
          ])}
          empty={isAll ? t("There is none: every app is as it was.") : t("There is none on this page.")}
        />
        <MoreLink path={pathOf(home)} query={{ settled }} cursor={nextCursor} />
      </Part>
      {home === MAIN_HOME && (await restoredGrants(c))}
      <p>
        <ButtonLink href="/console/homes" label={t("To the homes")} plain />
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
      <Part title={t("Whose access was ended since the restored time?")}>
        <p class="hint">
          {t("The restore brought them back, and they may come in: end their access again.")}{" "}
          {t("Console sessions that were ended since then are open again too:")}{" "}
          <a href="/console/access">{t("Your access")}</a>
        </p>
        <Table {...personTable(view, people, sites)} id="people" empty={t("There is nobody who was let in.")} />
        {more(people.length, MOST_USABLE_PEOPLE, PEOPLE_PATH, t("People"))}
      </Part>
      <Part title={t("Which of these tokens were deleted since the restored time?")}>
        <p class="hint">
          {t("The restore brought them back, and they open what they opened before: delete them again.")}
        </p>
        <Table {...tokenTable(view, tokens, sites)} id="tokens" empty={t("There is no token that opens anything.")} />
        {more(tokens.length, MOST_USABLE_TOKENS, TOKENS_PATH, t("Tokens for programs"))}
      </Part>
    </>
  );
}
