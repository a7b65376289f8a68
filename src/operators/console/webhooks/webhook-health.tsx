import type { Child } from "hono/jsx";
import { MOST_RECENT, type RecentDeliveries } from "../../services/deliveries.ts";
import { causeText, FAILURE_WORDS, type FailureCause } from "../../services/events.ts";
import { MOST_COUNTED, TROUBLE_SECONDS, type Webhook } from "../../services/webhooks.ts";
import { ruleText } from "../forms/messages.ts";
import { Ago, Badge } from "../parts/parts.tsx";
import { useView, type View } from "../view.ts";

/** The stored result of an attempt. */
export interface DeliveryResult {
  lastStatus: number | null;
  lastError: string | null;
  /** The cause of the failure, which stays stored after its words are deleted. */
  lastCause?: FailureCause | null;
}

function errorOf({ lastStatus, lastError, lastCause }: DeliveryResult): string {
  const cause = lastStatus === null ? lastCause : "status";
  return lastError ?? (cause ? causeText(cause, lastStatus) : "");
}

/** A result in words that need no knowledge of HTTP, and as `quote` the receiver's own text, which may be any; undefined without a result. */
export function resultWords(
  view: View,
  result: DeliveryResult,
): { words: string; quote?: string | undefined } | undefined {
  const { t } = view;
  const { lastStatus } = result;
  const error = errorOf(result);
  // A failure of the network begins with our own words, which may be followed by the receiver's.
  const ownWords = FAILURE_WORDS.find((each) => `${error}: `.startsWith(`${each}: `));
  if (ownWords !== undefined)
    return { words: ruleText(view, ownWords), quote: error.slice(ownWords.length).replace(/^: /, "") };
  const [, timeout] = /^no answer in (\d+) s$/.exec(error) ?? [];
  if (timeout !== undefined) return { words: t("No answer within {0} s", timeout) };
  if (error === "no connection") return { words: t("No connection to the receiver") };
  if (lastStatus === null) return error === "" ? undefined : { words: ruleText(view, error) };
  const words = t("The receiver answered {0}", lastStatus);
  const [answer, quote] = /^(?:HTTP \d+(?:: (.*))?)?$/s.exec(error) ?? [];
  return answer === undefined ? { words: `${words} · ${ruleText(view, error)}` } : { words, quote };
}

/** What can be done about a failure; undefined when the words of the failure say enough. */
function cureOf({ t }: View, result: DeliveryResult): string | undefined {
  const cures: [failure: RegExp, cure: string][] = [
    [/^\S+ no answer/, t("It answers too late. Let it store the event, answer 200 at once, and do its work then.")],
    [
      /^\S+ no connection$/,
      t("Nothing answers at this address. Look whether it runs, and whether a firewall bars it."),
    ],
    [/^3/, t("Set the address that it redirects to as the URL: redirects are not followed.")],
    [/^40[13]/, t("It refuses the event. Does it know the secret of this webhook, and is its clock right?")],
    [/^40[45]/, t("Nothing takes events at this path. Look whether the URL is the right one.")],
    [/^410/, t("It wants no more events at this address. If the receiver has moved, change the URL.")],
    [/^429/, t("It gets more than it takes. What waits is tried again later, and slower.")],
    [/^5[2-9]/, t("The host itself does not work. Whoever runs it must mend it.")],
    [/^5/, t("The receiver has a fault. Its own log says which.")],
  ];
  const failure = `${result.lastStatus} ${errorOf(result)}`;
  return cures.find(([each]) => each.test(failure))?.[1];
}

/** Whether a change of the webhook's URL may cure a failure: its address or certificate is wrong. The last four come from Cloudflare. */
export const isOfUrl = (result: DeliveryResult): boolean =>
  [301, 302, 303, 307, 308, 404, 405, 410, 523, 525, 526, 530].includes(result.lastStatus ?? 0) ||
  errorOf(result) === "no connection";

const UNITS = { day: 86_400, hour: 3_600, minute: 60, second: 1 };

/** A length of time in its largest unit, such as `2 hours`. */
export function spanText({ language }: View, seconds: number): string {
  const [unit, length] = Object.entries(UNITS).find(([, each]) => seconds >= each) ?? ["second", 1];
  const number = Math.max(1, Math.floor(seconds / length));
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(number);
}

/** Counting stops at MOST_COUNTED, so the real number may be larger. */
export const countText = ({ t, number }: View, count: number): string =>
  count < MOST_COUNTED ? number(count) : t("{0} or more", number(count));

/** The state of a webhook, in a word or two. */
export function WebhookState({ webhook: { status, disabledReason, failingSince } }: { webhook: Webhook }) {
  const view = useView();
  if (status === "disabled" && disabledReason === null) return <Badge kind="off" label={view.t("Disabled")} />;
  if (status === "disabled") return <Badge kind="bad" label={view.t("Disabled by the Worker")} />;
  if (failingSince === null) return <Badge kind="good" label={view.t("Enabled")} />;
  const past = view.now - failingSince;
  return (
    <span title={view.exactTime(failingSince)}>
      <Badge kind={past >= TROUBLE_SECONDS ? "bad" : "wait"} label={view.t("Failing for {0}", spanText(view, past))} />
    </span>
  );
}

/** Whether a delivery has waited for so long that the receiver does not keep up. */
const isBehind = ({ now }: View, { oldestPendingAt }: Webhook): boolean =>
  oldestPendingAt !== null && now - oldestPendingAt >= TROUBLE_SECONDS;

/** Sorts webhooks: those that need an operator come first, and among them those with the oldest trouble. */
export function worstFirst(view: View, webhooks: Webhook[]): Webhook[] {
  const rankOfState = (webhook: Webhook) => {
    const { status, disabledReason, failingSince } = webhook;
    if (status === "disabled") return disabledReason === null ? 3 : 0;
    if (failingSince !== null) return view.now - failingSince >= TROUBLE_SECONDS ? 0 : 1;
    return isBehind(view, webhook) ? 2 : 4;
  };
  const troubledSince = ({ disabledAt, failingSince }: Webhook) => failingSince ?? disabledAt ?? view.now;
  return webhooks.toSorted((a, b) => rankOfState(a) - rankOfState(b) || troubledSince(a) - troubledSince(b));
}

/** A fact with what is said small below it. The second is left out on a phone. */
export type Pair = [fact: Child, below?: Child];

export const PairOf = ({ pair: [fact, below] }: { pair: Pair }) => (
  <span class="pair">
    <span>{fact}</span>
    {below && <small class="off-phone">{below}</small>}
  </span>
);

/** The share of the tried deliveries that were delivered, such as `68%`, and their numbers. It is rounded down, so that 100% means all. */
export function shareOf({ t, number }: View, { delivered, tried, isCut }: RecentDeliveries): Pair {
  if (tried === 0) return ["–", t("none tried")];
  const cut = isCut ? `, ${t("of the last {0}", number(MOST_RECENT))}` : "";
  return [`${Math.floor((delivered / tried) * 100)}%`, t("{0} of {1} tried", number(delivered), number(tried)) + cut];
}

/** How many deliveries are pending, and since when the oldest is. */
export const pendingOf = (view: View, { pending, oldestPendingAt }: Webhook): Pair => [
  countText(view, pending),
  oldestPendingAt !== null && [`${view.t("oldest")} `, <Ago at={oldestPendingAt} />],
];

/** The result of an attempt in words; for a failure also the receiver's own text, and what to do. */
export function ResultText({ result, noWords, at }: { result: DeliveryResult; noWords: string; at?: number | null }) {
  const view = useView();
  const { words = noWords, quote } = resultWords(view, result) ?? {};
  const cure = cureOf(view, result);
  return (
    <>
      <p>
        <strong>{words}</strong>
        {at && [` · ${view.t("last tried")} `, <Ago at={at} />]}
      </p>
      {quote && (
        <p class="hint">
          {view.t("It said:")} <q class="long">{quote}</q>
        </p>
      )}
      {cure && <p class="hint">{cure}</p>}
    </>
  );
}

/** The last failure of a webhook while it matters; undefined when all is well. */
export function troubleOf(webhook: Webhook, { failure }: RecentDeliveries) {
  const { failingSince, disabledReason, lastCause } = webhook;
  if (failingSince === null && (webhook.disabledAt === null || disabledReason === null)) return undefined;
  const lastFailure = { ...webhook, at: webhook.lastFailedAt };
  // Older rows of webhooks do not say why the webhook fails. Its newest deliveries may say it then.
  return lastCause === null ? (failure ?? lastFailure) : lastFailure;
}

/** The state of a webhook at the top of its page: its last failure, what to do about it, and four numbers. */
export function Health({ webhook, recent }: { webhook: Webhook; recent: RecentDeliveries }) {
  const view = useView();
  const { t } = view;
  const { disabledAt } = webhook;
  const { failure, deliveredAt } = recent;
  const trouble = troubleOf(webhook, recent);
  const isWell = !trouble && webhook.status === "enabled";
  const isMoved = disabledAt !== null && (webhook.healthSince ?? 0) >= disabledAt;
  const noWords = isMoved ? t("Its URL was changed since: enable it to send to the new one.") : t("It fails");
  const figures: [string, ...Pair][] = [
    [t("Delivered in 24 h"), ...shareOf(view, recent)],
    [t("Pending"), ...pendingOf(view, webhook)],
    [t("Failed"), countText(view, webhook.failed)],
    [t("Last success"), <span class="time">{deliveredAt === null ? "–" : <Ago at={deliveredAt} />}</span>],
  ];
  return (
    <>
      <div class="health">
        <WebhookState webhook={webhook} />
        <div class="why">
          {trouble && <ResultText result={trouble} noWords={noWords} at={trouble.at} />}
          {!trouble && <p>{wellText(view, webhook, recent)}</p>}
          {isWell && webhook.slow && (
            <p class="hint">
              {t("Its newest delivery took over 10 s. Until one is quicker, its events wait beside those that fail.")}
            </p>
          )}
          {isWell && failure && (
            <p class="hint">
              {t("Last failure")}: {resultWords(view, failure)?.words} · <Ago at={failure.at} />
            </p>
          )}
        </div>
      </div>
      <dl class="figures">
        {figures.map(([label, number, small]) => (
          <div>
            <dt>{label}</dt>
            <dd>
              {number} {small && <small>{small}</small>}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function wellText(view: View, webhook: Webhook, { tried, deliveredAt }: RecentDeliveries): string {
  const { t } = view;
  if (webhook.status === "disabled") return t("It gets no events.");
  if (view.isHomeClosed && webhook.pending > 0) return t("Events wait until the home is open.");
  if (isBehind(view, webhook) && webhook.pending > 0) return t("Some events wait for their next attempt.");
  if (webhook.pending > 0) return t("Events are on their way.");
  if (deliveredAt !== null) return tried === 0 ? t("Nothing waits.") : t("All is well: nothing waits.");
  if (webhook.healthSince === null) return t("Nothing was delivered yet. A ping shows whether the receiver answers.");
  return t("Nothing was delivered since its URL was changed or it was enabled. A ping shows whether it answers.");
}
