import type { Child } from "hono/jsx";
import { MAIN_HOME } from "../../../core/homes.ts";
import { type HomeFill, homeFill } from "../../services/home-fill.ts";
import { listHomes } from "../../services/homes.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Table } from "../parts/list.tsx";
import { Badge, Facts } from "../parts/parts.tsx";
import { HomeState } from "../parts/site-frame.tsx";
import type { View } from "../view.ts";
import { pathOf } from "./restored-result.tsx";

export async function homesPage(c: PageContext): Promise<Response> {
  const { view, ctx, t } = c.var;
  const [homes, fills] = await Promise.all([listHomes(ctx), homeFill(ctx)]);
  const fillOf = new Map(fills.map((fill) => [fill.home, fill]));
  const saidAt = Math.min(...fills.flatMap(({ at }) => at ?? []));
  const restoredLink = (name: string) => (
    <a href={pathOf(name)}>
      {t("It was restored…")}
      <span class="unseen"> {name}</span>
    </a>
  );
  const body = (
    <>
      <p class="lead">
        {t("A home is a database with the data of its sites. Main is the directory too, which knows each site's home.")}
      </p>
      <Table
        label={t("Homes")}
        head={[
          t("Home"),
          { label: t("Status"), phone: "top" },
          { label: t("Sites"), end: true },
          t("Size"),
          t("Grows"),
          { label: t("Full"), named: true },
        ]}
        rows={homes.map(({ name, sites, status }) => [
          name,
          <HomeState status={status} />,
          view.number(sites),
          ...fillCells(view, fillOf.get(name)),
        ])}
        actions={
          view.may(pathOf(MAIN_HOME), "GET")
            ? homes.map(({ name }) => (ctx.config.homes.has(name) ? restoredLink(name) : "–"))
            : undefined
        }
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
          {t("Before a home is full: make new sites in another home, and let its largest keep sessions less long.")}
        </p>
      )}
      <details>
        <summary>{t("What the status means")}</summary>
        <Facts
          rows={[
            [t("Open"), t("Its database answers, and nobody closed it.")],
            [t("Closed"), t("Somebody closed it. Calls of its sites are answered 503 with Retry-After.")],
            [t("Down"), t("Its database does not answer, was not migrated or is not bound. Its sites stop.")],
          ]}
        />
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

const DAY = 86_400;

/** A home that is full later than this needs no date, because nobody plans so far ahead. */
const FAR_SECONDS = 3 * 365 * DAY;

/** How full a home is, how fast it grows and since when that is measured, and when it will be full. */
function fillCells(view: View, fill: HomeFill | undefined): Child[] {
  const { t, language, now } = view;
  const unknown = t("Not known");
  if (!fill || fill.bytes === null) return [unknown, unknown, unknown];
  const { bytes, limit, growth, from, since, fullAt, isFilling } = fill;
  const share = new Intl.NumberFormat(language, { style: "percent" }).format(bytes / limit);
  const size = (
    <span class="fill">
      <meter min={0} max={limit} high={0.7 * limit} optimum={0} value={bytes} aria-label={t("How full it is")}>
        {share}
      </meter>
      {t("{0} of {1} ({2})", sizeText(view, bytes), sizeText(view, limit), share)}
    </span>
  );
  if (growth === null || since === null) return [size, unknown, unknown];
  const date = view.day(since);
  const grows = (
    <span class="pair">
      {growth > 0 ? t("{0} a day", sizeText(view, growth)) : t("Does not grow")}{" "}
      <small>{from === "sizes" ? t("measured since {0}", date) : t("on average since {0}", date)}</small>
    </span>
  );
  if (fullAt === null) return [size, grows, t("Never, at this rate")];
  const secondsLeft = fullAt - now;
  if (secondsLeft > FAR_SECONDS) return [size, grows, t("Not within 3 years")];
  const days = view.number(Math.max(0, Math.round(secondsLeft / DAY)));
  const text = t("about {0}, in {1} days", view.day(fullAt), days);
  return [size, grows, isFilling ? <Badge kind={secondsLeft < 31 * DAY ? "bad" : "wait"} label={text} /> : text];
}

/** A size or a growth in words: `8.1 GB`, `12 MB`. */
function sizeText({ language }: View, bytes: number): string {
  const [unit, bytesPerUnit] = Math.abs(bytes) >= 1e9 ? ["GB", 1e9] : ["MB", 1e6];
  const maximumFractionDigits = Math.abs(bytes) < 10 * bytesPerUnit ? 1 : 0;
  return `${new Intl.NumberFormat(language, { maximumFractionDigits }).format(bytes / bytesPerUnit)} ${unit}`;
}
