import { markdownTable } from "./markdown-table.ts";
import { goalText, type Measured, NUMBERS, type NumberName, numberText, shownResult } from "./numbers.ts";
import {
  DOLLARS_PER_DATABASE,
  DOLLARS_PER_GB,
  DOLLARS_PER_MILLION_LINES,
  dollarsAMonth,
  dollarsPerMillion,
  INCLUDED_DATABASES,
  INCLUDED_GB,
  KINDS,
  OPERATIONS_A_MESSAGE,
  PRICES,
  QUEUE_OPERATIONS_PER_MILLION,
  RATES,
  type UsedAmounts,
} from "./prices.ts";

/** The largest database that D1 allows. */
const GIGABYTES = 10;
const DAY_S = 86_400;
/** For how many days sessions are kept in the examples. */
const KEPT_DAYS = [30, 365];
/** How many creates a second to plan for one home. It is advice, so no run of the bench changes it. docs/scale.md explains it. */
const PLANNED_CALLS = 150;
/** How many times as much as planned a database must take when the bench runs. */
const RESERVE = 4;
/** The highest cost of a delivery's CPU and of the rows that it reads, in dollars for a million events. */
const DOLLARS_BESIDES = 0.3;

const NAMES = Object.keys(NUMBERS) as NumberName[];
const groupDigits = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 0 });
const dollars = (value: number) => `$${value.toFixed(2)}`;
const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** The seconds that each part of the gate took, which CI writes, each under the name in its marker. The whole is in minutes. */
export const gateTexts = ({ all = 0, ...parts }: Record<string, number>): Record<string, string> => ({
  "gate.all": `${Math.round(all / 60)} minutes`,
  ...Object.fromEntries(Object.entries(parts).map(([part, seconds]) => [`gate.${part}`, `${seconds} s`])),
});

/**
 * The bench's results as the pages show them: the tables, and the texts inside sentences, each under the name in its marker.
 *
 * @throws Error when the results are not those that the bench measures now, or do not support the pages' advice
 */
export function numberTexts({ measured, results }: Measured): Record<string, string> {
  const known = Object.keys(results).sort();
  if (known.join() !== NAMES.toSorted().join())
    throw new Error("docs/numbers.json has other numbers than the bench: run npm run bench");
  const value = (name: NumberName) => results[name].value;
  if (value("database.creates") < RESERVE * PLANNED_CALLS)
    throw new Error(
      `one database takes less than ${RESERVE} times the ${PLANNED_CALLS} creates/s that docs/scale.md advises`,
    );

  const used: UsedAmounts = {
    requests: 1,
    cpuMs: value("cpu.create"),
    rowsWritten: value("rows.written") + value("rows.pruned"),
    rowsRead: value("rows.read"),
    kvReads: value("rows.kv-reads"),
    kvWrites: value("rows.kv-writes"),
  };
  const withoutNonces = { ...used, kvReads: 0, kvWrites: 0 };
  const bytes = value("database.bytes");

  const rowsOf = (create: number, deliveries: number, events: number) => {
    const parts = [create, deliveries * value("rows.delivery"), events + deliveries];
    return [...parts, sum(parts)];
  };
  const withEvents = value("rows.event") - value("rows.written");
  const withWebhook = value("rows.webhook") - value("rows.written");
  const oneWebhook = rowsOf(withWebhook, 1, 1);
  const eventRows = oneWebhook.at(-1) ?? 0;
  const eventParts: [string, number][] = [
    [`D1 rows: ${eventRows} an event, with those that pruning deletes`, dollarsPerMillion({ rowsWritten: eventRows })],
    [
      `queue operations: three a message, at $${QUEUE_OPERATIONS_PER_MILLION.toFixed(2)} a million`,
      OPERATIONS_A_MESSAGE * QUEUE_OPERATIONS_PER_MILLION,
    ],
    ["invocations of the consumer: one a message", dollarsPerMillion({ requests: 1 })],
    ["their CPU, and the rows that are read", DOLLARS_BESIDES],
  ];
  const eventDollars = sum(eventParts.map(([, cost]) => cost));

  const months = RATES.map((rate) => dollarsAMonth(used, rate));
  const sumOfDollars = (month: ReturnType<typeof dollarsAMonth>) => groupDigits(sum(Object.values(month)));
  const storage = (gigabytes: number) => {
    const homes = Math.ceil(gigabytes / GIGABYTES);
    const cost =
      Math.max(0, gigabytes - INCLUDED_GB) * DOLLARS_PER_GB +
      Math.max(0, homes - INCLUDED_DATABASES) * DOLLARS_PER_DATABASE;
    return `${groupDigits(gigabytes)} GB, ${groupDigits(homes)}, $${groupDigits(cost)} a month`;
  };

  return {
    ...Object.fromEntries(NAMES.map((name) => [name, numberText(name, value(name))])),
    measured,
    planned: `${PLANNED_CALLS} creates/s`,
    reserve: String(RESERVE),
    "sessions-in-a-home": `${((GIGABYTES * 1e9) / bytes / 1e6).toFixed(0)} million`,
    million: dollars(dollarsPerMillion(used)),
    "million-without-nonces": dollars(dollarsPerMillion(withoutNonces)),
    "million-events": dollars(eventDollars),
    "queue-price": dollars(QUEUE_OPERATIONS_PER_MILLION),
    "log-price": dollars(DOLLARS_PER_MILLION_LINES),
    "databases-included": groupDigits(INCLUDED_DATABASES),
    "free-creates": groupDigits(100_000 / used.rowsWritten),
    numbers: markdownTable(
      ["part", "measurement", "goal", "result"],
      NAMES.map((name) => [
        `\`${name.split(".")[0]}\``,
        NUMBERS[name].what,
        goalText(name),
        shownResult(name, results[name]),
      ]),
    ),
    "million-parts": markdownTable(
      ["a million creates", ""],
      [
        ...KINDS.map((kind) => [PRICES[kind].name, dollars(dollarsPerMillion({ [kind]: used[kind] }))]),
        ["**together**", `**${dollars(dollarsPerMillion(used))}**`],
      ],
    ),
    month: markdownTable(
      ["$ a month, by creates a second", ...RATES.map(groupDigits)],
      [
        ["Workers Paid", ...months.map(({ subscription }) => groupDigits(subscription))],
        ...KINDS.map((kind) => [PRICES[kind].name, ...months.map((month) => groupDigits(month[kind]))]),
        ["**together**", ...months.map((month) => `**${sumOfDollars(month)}**`)],
        ["with `NONCES` not bound", ...RATES.map((rate) => sumOfDollars(dollarsAMonth(withoutNonces, rate)))],
      ],
    ),
    prices: markdownTable(
      ["price, beyond what a month includes", "$", "included"],
      [
        ...Object.values(PRICES).map(({ name, perMillion, included }) => [
          `a million ${name}`,
          perMillion < 0.01 ? String(perMillion) : perMillion.toFixed(2),
          `${groupDigits(included / 1e6)} million`,
        ]),
        ["a GB of D1, a month", DOLLARS_PER_GB.toFixed(2), `${INCLUDED_GB} GB`],
        ["a D1 database, a month", DOLLARS_PER_DATABASE.toFixed(2), groupDigits(INCLUDED_DATABASES)],
      ],
    ),
    storage: markdownTable(
      ["creates/s", "homes for the creates", ...KEPT_DAYS.map((days) => `${days} days kept: GB, homes, storage`)],
      RATES.map((rate) => [
        groupDigits(rate),
        groupDigits(Math.ceil(rate / PLANNED_CALLS)),
        ...KEPT_DAYS.map((days) => storage((rate * days * DAY_S * bytes) / 1e9)),
      ]),
    ),
    "event-rows": markdownTable(
      ["rows written", "by the create", "by the delivery", "by pruning, after 30 days", "together"],
      [
        ["events on, no webhook", ...rowsOf(withEvents, 0, 1).map(String)],
        ["one webhook", ...oneWebhook.map(String)],
        ["each further webhook", ...rowsOf(withWebhook - withEvents, 1, 0).map(String)],
      ],
    ),
    "event-parts": markdownTable(
      ["a million events", "$ at most"],
      [
        ...eventParts.map(([part, cost]) => [part, cost.toFixed(2)]),
        ["**together**", `**${eventDollars.toFixed(2)}**`],
      ],
    ),
  };
}
