import type { Child } from "hono/jsx";
import { refusalOf } from "../../../core/http/faults.ts";
import type { AppSummary } from "../../services/apps.ts";
import type { SiteUsage } from "../../services/site-usage.ts";
import type { Site } from "../../services/sites.ts";
import { type NetworkUse, outcomeName, readLastUses as readLastUsesOf, type Usage } from "../../services/usage.ts";
import type { PageContext } from "../env.ts";
import { Ago, type FactRows, Time } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { UsageCard } from "../parts/usage-card.tsx";
import { reasonLabels } from "../reasons.ts";
import { useView, type View } from "../view.ts";

/** When the secrets of apps were last used; undefined when the read failed. */
export type LastUses = Pick<Usage, "apps" | "completeUntil"> | undefined;

/** The result of a read, or undefined when it failed: the page is then shown without it, and the log has the error. */
export const orUndefined = <Read,>(c: PageContext, read: Promise<Read>): Promise<Read | undefined> =>
  read.catch((error) => {
    refusalOf(error as Error, c.var.trace);
    return undefined;
  });

/** Reads the last uses of a site's apps, or of one app. */
export const readLastUses = (c: PageContext, site: Site, appid?: string): Promise<LastUses> =>
  orUndefined(c, readLastUsesOf(c.var.ctx, { site, appid }));

const lastUseOf = (uses: LastUses, appid: string) => uses?.apps.find((each) => each.appid === appid);

/** When an app was last used. In place of that it never says "never", because calls of the last half hour are not counted yet. */
export function LastUsed({ uses, app, isAgo }: { uses: LastUses; app: AppSummary; isAgo?: boolean }) {
  const { t } = useView();
  const at = lastUseOf(uses, app.appid)?.lastUsedAt ?? null;
  if (at !== null) return isAgo ? <Ago at={at} /> : <Time at={at} />;
  const completeUntil = uses?.completeUntil ?? null;
  if (completeUntil === null) return <>–</>;
  return <span class="hint">{app.createdAt > completeUntil ? t("Not counted yet") : t("No counted call")}</span>;
}

/** Up to which time the last uses are known. */
export function countedUntilText({ t, time }: View, uses: LastUses): string {
  if (uses === undefined) return t("When apps were last used could not be read. Try again in a moment.");
  if (uses.completeUntil === null) return t("Nothing is counted yet. Calls are counted half an hour after they came.");
  return t("Last uses are known up to {0}: calls are counted half an hour after they came.", time(uses.completeUntil));
}

const withHint = (text: Child, hint: string | undefined) => (
  <>
    {text}
    {hint && <span class="hint line">{hint}</span>}
  </>
);

/** When an app was last used, as a fact. */
export const lastUsedFact = (view: View, uses: LastUses, app: AppSummary): FactRows[number] => [
  view.t("Last used"),
  withHint(<LastUsed uses={uses} app={app} />, countedUntilText(view, uses)),
];

/** Says when an app's old secret was last used. A reader then knows whether it can be ended. */
export function oldSecretUse({ t, time }: View, uses: LastUses, appid: string): Child {
  if (uses === undefined) return t("When the old secret was last used could not be read. Try again in a moment.");
  const at = lastUseOf(uses, appid)?.previousSecretUsedAt ?? null;
  const { completeUntil } = uses;
  return withHint(
    at === null
      ? t("It is not known whether the old secret is still used: no counted call has used it.")
      : t("The old secret was last used on {0}, as far as is counted.", time(at)),
    completeUntil === null ? "" : t("Counted up to {0}: later calls are not known yet.", time(completeUntil)),
  );
}

/** The address of an app's refused calls. @param reason when only those for one reason are wanted */
export const refusedCallsPath = (siteId: number, appid: string, reason?: string): string =>
  `/console/sites/${siteId}/refusals?${new URLSearchParams({ appid, ...(reason && { reason }) })}`;

const Unread = () => <p class="empty">{useView().t("This part could not be read. Try again in a moment.")}</p>;

/** The calls of an app by day and by outcome. @param props `usage` is that of the app alone; undefined when the read failed */
export function AppCalls(props: { siteId: number; app: AppSummary; usage: SiteUsage | undefined }) {
  const { siteId, app, usage } = props;
  const view = useView();
  const { t } = view;
  return (
    <section class="part">
      <div class="head">
        <h2>{t("Calls")}</h2>
        <a href={refusedCallsPath(siteId, app.appid)}>{t("Refused calls of this app")}</a>
      </div>
      {usage === undefined ? <Unread /> : <UsageCard usage={usage} site={app} />}
      {usage !== undefined && usage.completeUntil !== null && usage.outcomes.length > 0 && (
        <Table
          id={undefined}
          label={t("Calls by outcome")}
          head={[t("What came of it"), { label: t("Calls"), phone: "top", end: true }]}
          rows={outcomeRows(view, usage.outcomes, (reason) => refusedCallsPath(siteId, app.appid, reason))}
          empty=""
        />
      )}
    </section>
  );
}

/** What calls came to and how many, the most frequent outcome first. A reason leads to the calls that were refused for it. */
function outcomeRows(view: View, outcomes: SiteUsage["outcomes"], pathOf: (reason: string) => string): Child[][] {
  const { t, number } = view;
  const accepted = { ok: t("Accepted"), repeated: t("Accepted before, under the same Idempotency-Key") };
  const reasons = reasonLabels(view);
  return [...Map.groupBy(outcomes, ({ outcome }) => outcomeName(outcome))]
    .map(([name, each]) => ({ name, count: each.reduce((sum, { count }) => sum + count, 0) }))
    .sort((a, b) => b.count - a.count)
    .map(({ name, count }) => [
      // In a span, a long reason is not cut off on a phone.
      <span>{accepted[name as keyof typeof accepted] ?? <a href={pathOf(name)}>{reasons.get(name) ?? name}</a>}</span>,
      number(count),
    ]);
}

/** From which networks an app's secrets were used. @param props `uses` is undefined when the read failed */
export function NetworkUses({ uses }: { uses: NetworkUse[] | undefined }) {
  const { t } = useView();
  const secrets = {
    current: t("The secret in use"),
    previous: t("The old secret"),
    ended: t("A secret that has ended"),
  };
  const rows = uses?.map(({ network, secret, lastUsedAt }) => [
    <code>{network}</code>,
    secrets[secret],
    <Ago at={lastUsedAt} />,
  ]);
  return (
    <section class="part" id="networks">
      <h2>{t("Where its secrets were used")}</h2>
      {rows === undefined ? (
        <Unread />
      ) : (
        <Table
          label={t("Networks")}
          head={[t("Network"), t("Secret"), { label: t("Last used"), named: true }]}
          rows={rows}
          empty={t("No network is known yet.")}
        />
      )}
      <p class="hint">
        {t(
          "The networks of 14 days, the last use first: /24 of IPv4, /48 of IPv6. An hour keeps the newest eight. Calls that no secret verified are not among them.",
        )}
      </p>
    </section>
  );
}
