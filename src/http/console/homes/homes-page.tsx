import { MAIN_HOME } from "../../../homes.ts";
import { listHomes } from "../../../services/homes.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { HomeState } from "../parts/home-state.tsx";
import { Table } from "../parts/table.tsx";

export async function homesPage(c: PageContext): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const homes = await listHomes(c.var.ctx);
  const isBound = (name: string) => c.var.ctx.config.homes.has(name);
  const restored = (name: string) => `/console/homes/${name}/restored`;
  const maySettle = view.may(restored(MAIN_HOME), "GET");
  const body = (
    <>
      <p class="lead">
        {t(
          "A home is a database that holds the data of its sites. The home main is the directory too: it knows the home of each site.",
        )}
      </p>
      <Table
        label={t("Homes")}
        head={[t("Home"), t("Sites"), t("Status"), ...(maySettle ? [t("After a restore")] : [])]}
        rows={homes.map(({ name, sites, status }) => [
          name,
          new Intl.NumberFormat(view.language).format(sites),
          <HomeState view={view} status={status} />,
          ...(maySettle
            ? [
                isBound(name) ? (
                  <a href={restored(name)}>
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
      <section class="card">
        <h2>{t("What the status means")}</h2>
        <dl class="facts">
          <dt>
            <HomeState view={view} status="open" />
          </dt>
          <dd>{t("Its database answers, and calls of its sites are accepted.")}</dd>
          <dt>
            <HomeState view={view} status="closed" />
          </dt>
          <dd>{t("CLOSED_HOMES names it. Calls of its sites are answered 503 with Retry-After.")}</dd>
          <dt>
            <HomeState view={view} status="down" />
          </dt>
          <dd>
            {t(
              "Its database does not answer, was not migrated or is not bound. Its sites stop; those of other homes go on.",
            )}
          </dd>
        </dl>
      </section>
      <section class="card">
        <h2>{t("Close and open a home")}</h2>
        <p>{t("With a setting of the Worker, so that a restore of the database cannot undo it:")}</p>
        <pre tabindex={0}>{"npm run deploy -- --close NAME\nnpm run deploy -- --open NAME"}</pre>
      </section>
    </>
  );
  return showPage(c, { title: t("Homes"), section: "homes", body });
}
