import type { Notice } from "../core/config.ts";
import { importKeyring, type Keyring } from "../core/credentials/sealed-secret.ts";
import { withinTime } from "../core/runtime.ts";
import { Budget, MOST_HOMES } from "./budget.ts";
import { type DeliveryTools, HomeRun } from "./home-run.ts";
import { notifyQueue } from "./notify-queue.ts";

/** How long a message waits for the first attempts to begin. */
const BEGIN_LIMIT_MS = 1_000;

/**
 * Delivers what is due to the webhooks that the messages name. All messages count as handled, because D1 holds what is due. The sweep
 * finds missed deliveries, for example those of a home that is closed or does not answer.
 *
 * @returns after the first attempts have begun. The further attempts run in `waitUntil`, so that a slow receiver delays no other message
 */
export async function deliver(
  tools: DeliveryTools,
  messages: readonly { readonly body: unknown }[],
  waitUntil: (work: Promise<unknown>) => void,
): Promise<void> {
  const { runtime, telemetry, config } = tools;
  const since = runtime.elapsed();
  const notices = messages.flatMap(({ body }) => (isNotice(body) ? [body] : []));
  if (notices.length < messages.length) telemetry.warn({ warning: "a message of the queue names no webhook" });
  const homes = byHome(notices);
  const openHomes = [...homes].flatMap(([home, webhooks]) => {
    const db = config.closedHomes.has(home) ? undefined : config.homes.get(home);
    return db === undefined ? [] : [{ home, db, webhooks: [...webhooks.values()] }];
  });
  // The first home is drawn at random. Otherwise busy homes, whose messages come first in each batch, would keep back all others.
  const firstHome = Math.floor(runtime.random() * openHomes.length);
  const line = [...openHomes.slice(firstHome), ...openHomes.slice(0, firstHome)];
  const served = line.splice(0, MOST_HOMES);
  // The homes beyond the limit are delivered by another invocation.
  const notified = notifyQueue(
    tools,
    line.flatMap(({ webhooks }) => webhooks),
  );
  let keyring: Promise<Keyring> | undefined;
  const openKeyring = () => (keyring ??= importKeyring(config.masterKeys));
  const runs = served.map((each) => {
    const budget = new Budget(runtime, served.length);
    return { ...each, run: new HomeRun(tools, each, openKeyring, budget) };
  });
  const beginnings = runs.map(({ run }) => run.begin());
  const endings = runs.map(async ({ run }, i) => {
    await beginnings[i];
    await run.finish();
  });
  waitUntil(
    Promise.all([notified, ...endings]).then(() => {
      // Nothing is logged when nothing began: under load most messages find that other invocations deliver already.
      if (runs.every(({ run }) => run.counts.begun === 0 && run.fault === undefined)) return;
      const logOf = ({ run: { fault, counts }, webhooks }: (typeof runs)[number]) => ({
        webhooks: webhooks.map(({ webhook }) => webhook),
        ...counts,
        ...(fault !== undefined && { fault }),
      });
      telemetry.job({
        job: "deliver",
        outcome: runs.some(({ run }) => run.fault !== undefined) ? "failed" : "ok",
        homes: Object.fromEntries(runs.map((each) => [each.home, logOf(each)])),
        ms: Math.round(runtime.elapsed() - since),
      });
    }),
  );
  // A database that does not answer must not keep other messages waiting.
  await withinTime(
    runtime,
    BEGIN_LIMIT_MS,
    () => Promise.all(beginnings),
    () => {},
  );
}

/** The webhooks of each home, without duplicates. */
function byHome(notices: Notice[]): Map<string, Map<string, Notice>> {
  const homes = new Map<string, Map<string, Notice>>();
  for (const notice of notices) {
    const webhooks = homes.get(notice.home) ?? new Map<string, Notice>();
    homes.set(notice.home, webhooks.set(`${notice.site} ${notice.webhook}`, notice));
  }
  return homes;
}

function isNotice(body: unknown): body is Notice {
  const { home, site, webhook } = (body ?? {}) as Partial<Record<keyof Notice, unknown>>;
  return typeof home === "string" && Number.isSafeInteger(site) && typeof webhook === "string";
}
