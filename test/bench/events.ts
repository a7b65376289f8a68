import { createFields, signed } from "./bench-app.ts";
import { type Counted, countEvents, type EventCounts } from "./events-counts.ts";
import { eventsAtADistance } from "./events-distance.ts";
import { type EventsReceiver, startEventsReceiver } from "./events-receiver.ts";
import { load, postBytes } from "./keep-alive-load.ts";
import type { Goal, Measurement } from "./measurement.ts";
import { OPERATIONS_A_MESSAGE, PRICES, QUEUE_OPERATIONS_PER_MILLION } from "./prices.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { lastRelease } from "./sides.ts";
import { adminCall, benchModule, cpuMs, issueApp, type RunningWorker, startWorker } from "./start-worker.ts";
import { median, medianInterval } from "./statistics.ts";

const WARMING_ROUNDS = 10;
const LEAST_ROUNDS = 8;
const MOST_ROUNDS = 60;
/** No round starts after this time. */
const ENOUGH_MS = 40_000;
const AT_ONCE = 8;
const PER_ROUND = 40;
/** Requests of a side that are sent one after another, for p50. Then the next side takes its turn. */
const ONE_BY_ONE = 10;

/**
 * Each side has its own workerd and database. `stored` has a queue without a consumer, as if another isolate delivered,
 * so it shows the cost of the create alone. `delivered` creates and delivers in one isolate.
 */
const SIDES = ["before", "without", "stored", "delivered"] as const;
type Side = (typeof SIDES)[number];

const NAMES: Record<Side, string> = {
  before: "the last release, which has no events",
  without: "a site without events",
  stored: "a site with one webhook, delivered elsewhere",
  delivered: "a site with one webhook, delivered by the same isolate",
};

interface Round {
  p50: number;
  perSecond: number;
  /** Milliseconds of workerd's CPU per create; for `delivered`, with the delivery of its event. */
  cpu: number;
  /** Only for `delivered`: the rate until the last event of the round arrived. */
  eventsPerSecond: number;
}

/**
 * The cost of events: rows, bytes and trips, and create_gd of a site with one webhook beside a site without, in turns.
 */
export async function measureEvents(bundle: ProductionBundle): Promise<Measurement> {
  const counts = await countEvents(bundle);
  const far = await eventsAtADistance(bundle);
  const rounds = await measureRounds(bundle);
  const number = (side: Side, what: keyof Round, digits: number) =>
    median(rounds.map((round) => round[side][what])).toFixed(digits);
  const ratios = (side: Side, to: Side, what: keyof Round) =>
    rounds.map((round) => round[side][what] / round[to][what]);
  const beside = (side: Side, to: Side, what: keyof Round) => median(ratios(side, to, what)).toFixed(2);
  const within = (side: Side, to: Side, what: keyof Round) => {
    const { low, high } = medianInterval(ratios(side, to, what));
    return `${beside(side, to, what)} × (95 %: ${low.toFixed(2)} to ${high.toFixed(2)})`;
  };
  return {
    title: "Events",
    tables: [
      countTable(counts),
      {
        head: ["create_gd", "p50, ms", "beside none", "creates/s", "beside none", "workerd CPU, ms", "beside none"],
        rows: SIDES.map((side) => [
          NAMES[side],
          number(side, "p50", 2),
          beside(side, "without", "p50"),
          number(side, "perSecond", 0),
          beside(side, "without", "perSecond"),
          number(side, "cpu", 2),
          beside(side, "without", "cpu"),
        ]),
      },
    ],
    goals: [
      rows("Rows written by a create of a site without events, as before there were any", counts.without, 7),
      rows("The same with events on, without a webhook", counts.event, 8),
      rows("The same with one webhook", counts.webhook, 10),
      rows("Rows that delivering an event writes", counts.alone, 3),
      {
        what: "D1 trips of a create of a site without events, and with one webhook",
        goal: "1, 1",
        result: `${counts.without.trips}, ${counts.webhook.trips}`,
        met: counts.without.trips === 1 && counts.webhook.trips === 1,
        enforced: true,
      },
      reported("p50 of a site without events, beside the last release", within("without", "before", "p50")),
      reported("The same, of workerd's CPU", within("without", "before", "cpu")),
      reported(
        "p50 with one webhook, beside none, D1 at 80 ms",
        `${(far.webhook / far.without).toFixed(2)} × (${far.webhook.toFixed(0)} and ${far.without.toFixed(0)} ms)`,
      ),
      reported("The same, D1 on this machine", within("stored", "without", "p50")),
      reported("Creates/s with one webhook, beside none", within("stored", "without", "perSecond")),
      reported("The same while one isolate does both", within("delivered", "without", "perSecond")),
      reported("Events/s delivered meanwhile", number("delivered", "eventsPerSecond", 0)),
    ],
    notes: [
      `${rounds.length} rounds: ${ONE_BY_ONE} creates one by one for p50, side after side, then ${PER_ROUND} over ${AT_ONCE} connections; a ratio is the median of the rounds'. Where the isolate delivers too, the next side waits until all of its events are at the receiver, which answers at once and shares these cores.`,
      `An event to one webhook adds ${dollars(counts)} $ per million to a million creates: rows, those that prune deletes later among them, and ${OPERATIONS_A_MESSAGE} operations of the queue for each message at the most.`,
    ],
  };
}

function countTable(counts: EventCounts) {
  const row = (what: string, { trips, statements, bytes, rowsRead, rowsWritten }: Counted) => [
    what,
    rowsWritten,
    rowsRead,
    trips,
    statements,
    Math.round(bytes),
  ];
  return {
    head: ["on average", "rows written", "rows read", "D1 trips", "statements", "bytes sent to D1"],
    rows: [
      row("a create, the last release", counts.before),
      row("a create of a site without events", counts.without),
      row("a create, events on", counts.event),
      row("a create, events on, one webhook", counts.webhook),
      row("delivering one event", counts.alone),
      row("delivering one of many", counts.together),
    ],
  };
}

/** The price includes one pruned row for the event and one for its delivery. */
function dollars({ without, webhook, alone }: EventCounts): string {
  const pruned = 2;
  const rowsWritten = webhook.rowsWritten - without.rowsWritten + alone.rowsWritten + pruned;
  return (rowsWritten * PRICES.rowsWritten.perMillion + OPERATIONS_A_MESSAGE * QUEUE_OPERATIONS_PER_MILLION).toFixed(2);
}

const rows = (what: string, { rowsWritten }: Counted, most: number): Goal => ({
  what,
  goal: `≤ ${most}`,
  result: String(rowsWritten),
  met: rowsWritten <= most,
  enforced: true,
});

const reported = (what: string, result: string): Goal => ({
  what,
  goal: "reported",
  result,
  met: true,
  enforced: false,
});

async function measureRounds(bundle: ProductionBundle): Promise<Record<Side, Round>[]> {
  const receivers = { stored: await startEventsReceiver(), delivered: await startEventsReceiver() };
  const workers = {} as Record<Side, RunningWorker>;
  for (const side of SIDES) workers[side] = await start(bundle, side, receivers);
  let events = 0;
  /** Loads a side, and waits until its deliveries have ended, so that the next side has the machine alone. */
  const send = async (side: Side, number: number, connections: number, took: number[] = []) => {
    const { url, pid } = workers[side];
    const [since, cpuBefore] = [performance.now(), cpuMs(pid)];
    const ms = await load(url, creates(number), connections, took);
    if (side === "delivered") {
      events += number;
      await receivers.delivered.arrived(events);
    }
    const perSecond = (time: number) => (number / time) * 1000;
    return {
      perSecond: perSecond(ms),
      eventsPerSecond: perSecond(performance.now() - since),
      cpu: (cpuMs(pid) - cpuBefore) / number,
    };
  };
  const round = async (order: readonly Side[]) => {
    const took: Record<Side, number[]> = { before: [], without: [], stored: [], delivered: [] };
    for (let i = 0; i < ONE_BY_ONE; i++) for (const side of order) await send(side, 1, 1, took[side]);
    const done = {} as Record<Side, Round>;
    for (const side of order) done[side] = { p50: median(took[side]), ...(await send(side, PER_ROUND, AT_ONCE)) };
    return done;
  };
  for (let i = 0; i < WARMING_ROUNDS; i++) await round(SIDES);
  const rounds: Record<Side, Round>[] = [];
  for (
    const since = performance.now();
    rounds.length < MOST_ROUNDS && (rounds.length < LEAST_ROUNDS || performance.now() - since < ENOUGH_MS);
  ) {
    // The order is reversed every other round, so that no side always runs after the same other side.
    rounds.push(await round(rounds.length % 2 === 0 ? SIDES : SIDES.toReversed()));
  }
  for (const worker of Object.values(workers)) await worker.close();
  for (const receiver of Object.values(receivers)) receiver.close();
  return rounds;
}

async function start(
  bundle: ProductionBundle,
  side: Side,
  receivers: Partial<Record<Side, EventsReceiver>>,
): Promise<RunningWorker> {
  const code = side === "before" ? lastRelease() : bundle.code;
  const front = [benchModule("limited-worker.ts"), benchModule("counter-limit.ts")];
  const modules = [...front, { name: "worker.js", code }];
  const running = await startWorker(bundle, modules, { WEBHOOK_LOOPBACK: "allow" }, [], side === "delivered");
  await issueApp(running.url);
  const url = receivers[side]?.url;
  if (url !== undefined) await adminCall(running.url, "POST", "1/webhooks", { url });
  return running;
}

let customers = 0;

/** Every other request has the customer of the request before. */
const creates = (number: number) =>
  Array.from({ length: number }, () => {
    const { body, signature } = signed(createFields({ sbs: `customer_${customers++ >> 1}` }));
    return postBytes("/openapi/chat/create_gd", body, { "x-chat-signature": signature });
  });
