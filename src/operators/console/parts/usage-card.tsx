import { DAYS_SHOWN, type DayOfCalls, type SiteUsage } from "../../services/site-usage.ts";
import type { Site } from "../../services/sites.ts";
import { useView, type View } from "../view.ts";

/** The calls of a site, or of an app, by UTC days: bars, and the same numbers as a table. */
export function UsageCard({ usage, site }: { usage: SiteUsage; site: Pick<Site, "createdAt"> }) {
  const view = useView();
  const { t } = view;
  const { days, completeUntil } = usage;
  const sum = (counter: "accepted" | "refused" | "sessions") => days.reduce((all, day) => all + day[counter], 0);
  const [accepted, refused] = [sum("accepted"), sum("refused")];
  if (completeUntil === null)
    return <p class="empty">{t("Nothing is counted yet. Calls are counted half an hour after they came.")}</p>;
  const counted = t(
    "Days in UTC. Counted up to {0}: calls are counted half an hour after they came.",
    view.time(completeUntil),
  );
  if (accepted + refused === 0)
    return (
      <div class="empty">
        <p>
          {site.createdAt > completeUntil
            ? t("Not counted yet.")
            : t("No counted calls in the last {0} days.", DAYS_SHOWN)}
        </p>
        <p class="hint">{counted}</p>
      </div>
    );
  const sums: [label: string, sum: number, kind?: string][] = [
    [t("Calls in {0} days", DAYS_SHOWN), accepted + refused],
    [t("Sessions opened"), sum("sessions")],
    [t("Accepted"), accepted, "accepted"],
    [t("Refused"), refused, "refused"],
  ];
  return (
    <section class="card usage">
      <dl class="key">
        {sums.map(([label, count, kind]) => (
          <div class={kind}>
            <dt>{label}</dt>
            <dd>{view.number(count)}</dd>
          </div>
        ))}
      </dl>
      <Chart
        days={days}
        title={t(
          "Calls in the last {0} days: {1}, of which {2} were refused.",
          DAYS_SHOWN,
          view.number(accepted + refused),
          view.number(refused),
        )}
      />
      <p class="hint">{counted}</p>
      <details>
        <summary>{t("The numbers of each day")}</summary>
        <Days days={days} />
      </details>
    </section>
  );
}

/** The width of a column and the height of the chart, in the chart's own units. The browser stretches both. */
const COLUMN = 100;
const HEIGHT = 100;

/** The least height of a bar, so that a small number of calls is visible too. */
const LEAST_HEIGHT = 2.5;

/** The bars. Their labels are hidden from screen readers, which get the same from the title and the table. */
function Chart({ days, title }: { days: DayOfCalls[]; title: string }) {
  const view = useView();
  const top = topOf(Math.max(...days.map(({ accepted, refused }) => accepted + refused)));
  const short = new Intl.NumberFormat(view.language, { notation: "compact" });
  const month = new Intl.DateTimeFormat(localeOf(view), { month: "short", timeZone: "UTC" });
  const dateOf = (at: number) => new Date(at * 1000).getUTCDate();
  return (
    <div class="chart">
      <div class="scale" aria-hidden="true">
        {[top, top / 2, 0].map((mark) => (
          <span>{short.format(mark)}</span>
        ))}
      </div>
      <svg
        role="img"
        aria-labelledby="calls-title"
        viewBox={`0 0 ${days.length * COLUMN} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        <title id="calls-title">{title}</title>
        {[0, HEIGHT / 2, HEIGHT].map((y) => (
          <line class="grid" x1="0" x2={days.length * COLUMN} y1={y} y2={y} />
        ))}
        {days.map((day, i) => (
          <g>
            <title>
              {view.t(
                "{0}: {1} sessions opened, {2} calls, {3} refused",
                dayText(view, day.at),
                view.number(day.sessions),
                view.number(day.accepted + day.refused),
                view.number(day.refused),
              )}
            </title>
            <rect class="day" x={i * COLUMN} y="0" width={COLUMN} height={HEIGHT} />
            <Bar leftEdge={i * COLUMN} accepted={heightOf(day.accepted, top)} refused={heightOf(day.refused, top)} />
          </g>
        ))}
      </svg>
      <div class="dates" aria-hidden="true">
        {days.map(({ at }, i) => (
          <span>
            {dateOf(at)}
            {(i === 0 || dateOf(at) === 1) && <small>{month.format(at * 1000)}</small>}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The bar of a day. Its refused calls stand above the accepted ones. */
function Bar({ leftEdge, accepted, refused }: { leftEdge: number; accepted: number; refused: number }) {
  const rest = Math.min(accepted, HEIGHT - refused);
  const part = (kind: string, height: number, below: number) =>
    height > 0 && (
      <rect
        class={kind}
        x={leftEdge + 0.22 * COLUMN}
        width={0.56 * COLUMN}
        y={roundLength(HEIGHT - below - height)}
        height={roundLength(height)}
      />
    );
  return (
    <>
      {part("accepted", rest, 0)}
      {part("refused", refused, rest)}
    </>
  );
}

const heightOf = (count: number, top: number) => (count === 0 ? 0 : Math.max(LEAST_HEIGHT, (count / top) * HEIGHT));

const roundLength = (length: number) => Math.round(length * 100) / 100;

/** The smallest number from 2, 4, 6, 8, 10, 20, 40, … that is not below `most`. All are even, so that the half is a whole number too. */
function topOf(most: number): number {
  for (let power = 1; ; power *= 10) {
    const evenStep = [2, 4, 6, 8, 10].find((step) => step * power >= most);
    if (evenStep !== undefined) return evenStep * power;
  }
}

function Days({ days }: { days: DayOfCalls[] }) {
  const view = useView();
  const { t } = view;
  const today = days.at(-1)?.at;
  return (
    <table class="numbers" aria-label={t("Calls by day")}>
      <thead>
        <tr>
          {[t("Day"), t("Sessions opened"), t("Calls"), t("Refused")].map((label) => (
            <th scope="col">{label}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {days.toReversed().map(({ at, accepted, refused, sessions }) => (
          <tr>
            <th scope="row">{at === today ? t("{0}, so far", dayText(view, at)) : dayText(view, at)}</th>
            {[sessions, accepted + refused, refused].map((count) => (
              <td>{view.number(count)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const localeOf = ({ language }: View) => (language === "zh" ? "zh-CN" : "en-GB");

/** The date of a UTC day, whatever the reader's zone is. */
const dayText = (view: View, at: number) =>
  new Intl.DateTimeFormat(localeOf(view), { dateStyle: "medium", timeZone: "UTC" }).format(at * 1000);
