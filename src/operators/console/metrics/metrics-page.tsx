import { Listing } from "../apps/code-example.tsx";
import { docsPath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { ButtonLink, Card } from "../parts/parts.tsx";

/** The files of docs/prometheus, which the docs serve unchanged: so the console shows the same alerts. */
const FOLDER = "/docs/prometheus";

/** The text of a file. Undefined when the assets do not answer: then the page has the link alone. */
async function textOf(c: PageContext, file: string): Promise<string | undefined> {
  const answer = await c.env.ASSETS?.fetch(new URL(`${FOLDER}/${file}`, c.req.url)).catch(() => undefined);
  if (answer?.ok) return answer.text();
  c.var.isolate.telemetry.warn({ warning: `${file} did not load: the page of the metrics shows its link alone` });
  return undefined;
}

/** What a scraper needs: the address, a token, the configuration and the alerts. It asks no database. */
export async function metricsPage(c: PageContext): Promise<Response> {
  const { view, t } = c.var;
  const { origin, host, protocol } = new URL(c.req.url);
  const [configuration, alerts] = await Promise.all([textOf(c, "prometheus.yml"), textOf(c, "alerts.yml")]);
  const scheme = `scheme: ${protocol.slice(0, -1)}`;
  // The file has an example in place of this host.
  const ownFile = configuration?.replace("agent-session.example.workers.dev", host).replace("scheme: https", scheme);
  const fileLink = (file: string) => <a href={`${FOLDER}/${file}`}>{t("{0} as a file", file)}</a>;
  const body = (
    <>
      <p class="lead">
        {t("Prometheus, or another OpenMetrics scraper, reads how the deployment does and warns of trouble.")}{" "}
        <a href={docsPath(view, "operating/watching#what-to-watch")}>{t("What each metric says")}</a>
      </p>
      <Card
        title={t("1. A token that reads the metrics and nothing else")}
        facts={[[t("Address"), `${origin}/admin/metrics`, "address"]]}
      >
        {view.may("/console/tokens") ? (
          <ButtonLink href="/console/tokens?role=metrics#make" label={t("Make a token for it…")} />
        ) : (
          <p class="hint">{t("Only an owner makes the token, with the role metrics.")}</p>
        )}
      </Card>
      <Card title={t("2. The configuration of Prometheus")}>
        <p class="hint">{t("Put the token into the file agent-session.token, and alerts.yml beside both.")}</p>
        {ownFile ? <Listing id="configuration" label="prometheus.yml" text={ownFile} /> : fileLink("prometheus.yml")}
      </Card>
      <Card title={t("3. The alerts")}>
        {alerts && (
          <details>
            <summary>{t("Show the alerts ({0})", alerts.match(/^ +- alert: /gm)?.length)}</summary>
            <Listing id="alerts" label="alerts.yml" text={alerts} />
          </details>
        )}
        <p>
          {fileLink("alerts.yml")} · <a href={docsPath(view, "paged#alerts")}>{t("What to do when one comes")}</a>
        </p>
      </Card>
    </>
  );
  return showPage(c, { title: t("Metrics and alerts"), body });
}
