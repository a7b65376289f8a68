import type { Notice } from "../config.ts";
import { importKeyring, type Keyring } from "../credentials/sealed-secret.ts";
import { withinTime } from "../runtime.ts";
import { Budget, MOST_HOMES } from "./budget.ts";
import { type DeliveryTools, HomeRun } from "./home-run.ts";
import { notifyQueue } from "./notify-queue.ts";

/** The first attempts have begun by then, unless a database is slow. */
const BEGIN_LIMIT_MS = 1_000;

/**
 * Delivers what is due to the webhooks that the messages name. D1 says what that is, so all messages count as handled, whatever comes of
 * them: what is lost, or in a home that is closed or does not answer, the sweep finds.
 *
 * @returns once the first attempts have begun; the others go on in `waitUntil`, so that a slow receiver holds up no other message
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
  const open = [...homes].flatMap(([home, webhooks]) => {
    const db = config.closedHomes.has(home) ? undefined : config.homes.get(home);
    return db === undefined ? [] : [{ home, db, webhooks: [...webhooks.values()] }];
  });
  const served = open.splice(0, MOST_HOMES);
  // Further homes have their turn in another invocation.
  const told = notifyQueue(
    tools,
    open.flatMap(({ webhooks }) => webhooks),
  );
  let keyring: Promise<Keyring> | undefined;
  const opened = () => (keyring ??= importKeyring(config.masterKeys));
  const runs = served.map((each) => {
    const budget = new Budget(runtime, served.length, each.webhooks.length);
    return { ...each, run: new HomeRun(tools, each, opened, budget) };
  });
  const begun = runs.map(({ run }) => run.begin());
  const ended = runs.map(async ({ run }, i) => {
    await begun[i];
    await run.finish();
  });
  waitUntil(
    Promise.all([told, ...ended]).then(() => {
      // Under load most messages find that others are at it.
      if (runs.every(({ run }) => run.counts.begun === 0 && run.fault === undefined)) return;
      const of = ({ run: { fault, counts }, webhooks }: (typeof runs)[number]) => ({
        webhooks: webhooks.map(({ webhook }) => webhook),
        ...counts,
        ...(fault !== undefined && { fault }),
      });
      telemetry.job({
        job: "deliver",
        outcome: runs.some(({ run }) => run.fault !== undefined) ? "failed" : "ok",
        homes: Object.fromEntries(runs.map((each) => [each.home, of(each)])),
        ms: Math.round(runtime.elapsed() - since),
      });
    }),
  );
  // A database that does not answer keeps no other message waiting.
  await withinTime(
    runtime,
    BEGIN_LIMIT_MS,
    () => Promise.all(begun),
    () => {},
  );
}

/** The webhooks of each home, each once. */
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
