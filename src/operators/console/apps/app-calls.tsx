import type { AppSummary } from "../../services/apps.ts";
import { type NetworkUse, outcomeName } from "../../services/usage.ts";
import { Ago } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { reasonLabels } from "../reasons.ts";
import type { SiteUsage } from "../sites/site-usage.ts";
import { UsageCard } from "../sites/usage-card.tsx";
import { useView } from "../view.ts";
import { refusedCallsPath } from "./apps-page.tsx";

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
      {usage === undefined ? <Unread /> : <UsageCard view={view} usage={usage} site={app} />}
      {usage !== undefined && usage.completeUntil !== null && usage.outcomes.length > 0 && (
        <Outcomes siteId={siteId} appid={app.appid} outcomes={usage.outcomes} />
      )}
    </section>
  );
}

/** What the calls came to, the most frequent outcome first. A reason leads to the calls that were refused for it. */
function Outcomes(props: { siteId: number; appid: string; outcomes: SiteUsage["outcomes"] }) {
  const { siteId, appid, outcomes } = props;
  const view = useView();
  const { t } = view;
  const number = new Intl.NumberFormat(view.language);
  const accepted = { ok: t("Accepted"), repeated: t("Accepted before, under the same Idempotency-Key") };
  const labels = new Map([...reasonLabels(view), ...Object.entries(accepted)]);
  const byName = Map.groupBy(outcomes, ({ outcome }) => outcomeName(outcome));
  const sums = [...byName].map(([name, each]): [string, number] => [
    name,
    each.reduce((sum, { count }) => sum + count, 0),
  ]);
  return (
    <table class="numbers" aria-label={t("Calls by outcome")}>
      <thead>
        <tr>
          <th scope="col">{t("What came of it")}</th>
          <th scope="col">{t("Calls")}</th>
        </tr>
      </thead>
      <tbody>
        {sums
          .sort(([, a], [, b]) => b - a)
          .map(([name, count]) => {
            const label = labels.get(name) ?? name;
            return (
              <tr>
                <th scope="row">
                  {name in accepted ? label : <a href={refusedCallsPath(siteId, appid, name)}>{label}</a>}
                </th>
                <td>{number.format(count)}</td>
              </tr>
            );
          })}
      </tbody>
    </table>
  );
}

/** From which networks an app's secrets were used. @param props `uses` is undefined when the read failed */
export function NetworkUses({ uses }: { uses: NetworkUse[] | undefined }) {
  const { t } = useView();
  const secrets = {
    current: t("The secret in use"),
    previous: t("The previous secret"),
    ended: t("A secret that has ended"),
  };
  return (
    <section class="part" id="networks">
      <h2>{t("Where its secrets were used")}</h2>
      {uses === undefined ? (
        <Unread />
      ) : (
        <Table
          label={t("Networks")}
          head={[t("Network"), t("Secret"), { label: t("Last used"), named: true }]}
          rows={uses.map(({ network, secret, lastUsedAt }) => [
            <code>{network}</code>,
            secrets[secret],
            <Ago at={lastUsedAt} />,
          ])}
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
