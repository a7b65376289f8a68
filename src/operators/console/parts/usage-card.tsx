import { DAYS_SHOWN, type DayOfCalls, type SiteUsage } from "../../services/site-usage.ts";
import type { Site } from "../../services/sites.ts";
import { useView } from "../view.ts";

/** The calls of a site, or of an app, by UTC days: bars, and the same numbers as a table. */
export function UsageCard({
  usage: { days, completeUntil },
  site,
}: {
  usage: SiteUsage;
  site: Pick<Site, "createdAt">;
}) {
  const { t, number, time } = useView();
  if (completeUntil === null)
    return <p class="empty">{t("Nothing is counted yet. Calls are counted half an hour after they came.")}</p>;
  const sum = (counter: "accepted" | "refused" | "sessions") => days.reduce((all, day) => all + day[counter], 0);
  const [accepted, refused] = [sum("accepted"), sum("refused")];
  const counted = t(
    "Days in UTC. Counted up to {0}: calls are counted half an hour after they came.",
    time(completeUntil),
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
  const calls = number(accepted + refused);
  const title = t("Calls in the last {0} days: {1}, of which {2} were refused.", DAYS_SHOWN, calls, number(refused));
  return (
    <section class="card usage">
      <dl class="key">
        {sums.map(([label, count, kind]) => (
          <div class={kind}>
            <dt>{label}</dt>
            <dd>{number(count)}</dd>
          </div>
        ))}
      </dl>
      <Chart days={days} title={title} />
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
/** The distance of a bar from the sides of its column. */
const GAP = 22;
const HEIGHT = 100;

/** The least height of a bar, so that a small number of calls is visible too. */
const LEAST_HEIGHT = 2.5;

/** The bars. Their labels are hidden from screen readers, which get the same from the title and the table. */
function Chart({ days, title }: { days: DayOfCalls[]; title: string }) {
  const { t, number, language, utcDay, utcMonth } = useView();
  const top = topOf(Math.max(...days.map(({ accepted, refused }) => accepted + refused)));
  const short = new Intl.NumberFormat(language, { notation: "compact" });
  const dateOf = (at: number) => new Date(at * 1000).getUTCDate();
  const width = days.length * COLUMN;
  const titleOf = ({ at, ...day }: DayOfCalls) => {
    const counts = [day.sessions, day.accepted + day.refused, day.refused].map(number);
    return t("{0}: {1} sessions opened, {2} calls, {3} refused", utcDay(at), ...counts);
  };
  return (
    <div class="chart">
      <div class="scale" aria-hidden="true">
        {[top, top / 2, 0].map((mark) => (
          <span>{short.format(mark)}</span>
        ))}
      </div>
      <svg role="img" aria-labelledby="calls-title" viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none">
        <title id="calls-title">{title}</title>
        {[0, HEIGHT / 2, HEIGHT].map((y) => (
          <line class="grid" x1="0" x2={width} y1={y} y2={y} />
        ))}
        {days.map((day, i) => (
          <g>
            <title>{titleOf(day)}</title>
            <rect class="day" x={i * COLUMN} y="0" width={COLUMN} height={HEIGHT} />
            {barParts(heightOf(day.accepted, top), heightOf(day.refused, top)).map(
              ([kind, height, y]) =>
                height > 0 && <rect class={kind} x={i * COLUMN + GAP} width={COLUMN - 2 * GAP} y={y} height={height} />,
            )}
          </g>
        ))}
      </svg>
      <div class="dates" aria-hidden="true">
        {days.map(({ at }, i) => (
          <span>
            {dateOf(at)}
            {(i === 0 || dateOf(at) === 1) && <small>{utcMonth(at)}</small>}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The parts of a day's bar: each with its height and the place of its top. The refused calls stand above the accepted ones. */
function barParts(accepted: number, refused: number): [kind: string, height: number, y: number][] {
  const rest = Math.min(accepted, HEIGHT - refused);
  return [
    ["accepted", roundLength(rest), roundLength(HEIGHT - rest)],
    ["refused", roundLength(refused), roundLength(HEIGHT - rest - refused)],
  ];
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
  const { t, number, utcDay } = useView();
  const rows = days.toReversed().map(({ at, accepted, refused, sessions }, i) => {
    const day = utcDay(at);
    return { day: i === 0 ? t("{0}, so far", day) : day, counts: [sessions, accepted + refused, refused] };
  });
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
        {rows.map(({ day, counts }) => (
          <tr>
            <th scope="row">{day}</th>
            {counts.map((count) => (
              <td>{number(count)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
