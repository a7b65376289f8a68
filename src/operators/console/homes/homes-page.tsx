import { MAIN_HOME } from "../../../core/homes.ts";
import { homeFill } from "../../services/home-fill.ts";
import { listHomes } from "../../services/homes.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { HomeState } from "../parts/home-state.tsx";
import { Table } from "../parts/table.tsx";
import { FullCell, GrowthCell, SizeCell } from "./fill-cells.tsx";

export async function homesPage(c: PageContext): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const { ctx } = c.var;
  const [homes, fills] = await Promise.all([listHomes(ctx), homeFill(ctx)]);
  const fillOf = (name: string) => fills.find(({ home }) => home === name);
  const restoredPath = (name: string) => `/console/homes/${name}/restored`;
  const maySettle = view.may(restoredPath(MAIN_HOME), "GET");
  const number = new Intl.NumberFormat(view.language);
  const saidAt = Math.min(...fills.flatMap(({ at }) => (at === null ? [] : [at])));
  const body = (
    <>
      <p class="lead">
        {t(
          "A home is a database that holds the data of its sites. The home main is the directory too: it knows the home of each site.",
        )}
      </p>
      <Table
        label={t("Homes")}
        head={[
          t("Home"),
          { label: t("Status"), phone: "top" },
          { label: t("Sites"), phone: "hide", end: true },
          t("Size"),
          { label: t("Grows"), phone: "hide" },
          t("Full"),
          ...(maySettle ? [t("After a restore")] : []),
        ]}
        rows={homes.map(({ name, sites, status }) => [
          name,
          <HomeState status={status} />,
          number.format(sites),
          <SizeCell view={view} fill={fillOf(name)} />,
          <GrowthCell view={view} fill={fillOf(name)} />,
          <FullCell view={view} fill={fillOf(name)} />,
          ...(maySettle
            ? [
                ctx.config.homes.has(name) ? (
                  <a href={restoredPath(name)}>
                    {t("It was restored…")}
                    <span class="unseen"> {name}</span>
                  </a>
                ) : (
                  "–"
                ),
              ]
            : []),
        ])}
        empty=""
      />
      <p class="hint">
        {t(
          "A home takes nothing more at 10 GB (on Workers Free at 500 MB). The date assumes that it grows on as it did: measured from its sizes of up to 31 days, or, until three days of them are known, its size divided by the age of its oldest site. Room of deleted sessions is used again before a home grows.",
        )}{" "}
        {Number.isFinite(saidAt) && t("Sizes as of {0}.", view.time(saidAt))}
      </p>
      {fills.some(({ isFilling }) => isFilling) && (
        <p class="hint">
          {t(
            "Before a home is full: make new sites in another home, and keep sessions for less long in the settings of its largest sites.",
          )}
        </p>
      )}
      <details>
        <summary>{t("What the status means")}</summary>
        <dl class="facts">
          <dt>{t("Open")}</dt>
          <dd>{t("Its database answers, and nobody closed it.")}</dd>
          <dt>{t("Closed")}</dt>
          <dd>{t("Somebody closed it. Calls of its sites are answered 503 with Retry-After.")}</dd>
          <dt>{t("Down")}</dt>
          <dd>
            {t(
              "Its database does not answer, was not migrated or is not bound. Its sites stop; those of other homes go on.",
            )}
          </dd>
        </dl>
      </details>
      <details>
        <summary>{t("Close and open a home")}</summary>
        <p>{t("With a setting of the Worker, so that a restore of the database cannot undo it:")}</p>
        <pre tabindex={0}>{"npm run deploy -- --close NAME\nnpm run deploy -- --open NAME"}</pre>
      </details>
    </>
  );
  return showPage(c, { title: t("Homes"), section: "homes", body });
}
