import type { Child } from "hono/jsx";
import { MOST_RECENT, type RecentDeliveries } from "../../services/deliveries.ts";
import { MOST_COUNTED, TROUBLE_SECONDS, type Webhook } from "../../services/webhooks.ts";
import { Ago, Badge } from "../parts/parts.tsx";
import { useView, type View } from "../view.ts";
import { cureOf, type DeliveryResult, resultWords } from "./failure-words.ts";

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/** A length of time in its largest unit, such as `2 hours`. */
export function spanText({ language }: View, seconds: number): string {
  const [unit, length] = UNITS.find(([, each]) => seconds >= each) ?? ["second", 1];
  const number = Math.max(1, Math.floor(seconds / length));
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(number);
}

/** Counting stops at MOST_COUNTED, so the real number may be larger. */
export function countText({ t, language }: View, count: number): string {
  const number = new Intl.NumberFormat(language).format(count);
  return count < MOST_COUNTED ? number : t("{0} or more", number);
}

/** The state of a webhook, in a word or two. */
export function WebhookState({ webhook: { status, disabledReason, failingSince } }: { webhook: Webhook }) {
  const view = useView();
  const { t } = view;
  if (status === "disabled")
    return disabledReason === null ? (
      <Badge kind="off" label={t("Disabled")} />
    ) : (
      <Badge kind="bad" label={t("Disabled by the Worker")} />
    );
  if (failingSince === null) return <Badge kind="good" label={t("Enabled")} />;
  const past = view.now - failingSince;
  return (
    <span title={view.exactTime(failingSince)}>
      <Badge kind={past >= TROUBLE_SECONDS ? "bad" : "wait"} label={t("Failing for {0}", spanText(view, past))} />
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
export function shareOf({ t, language }: View, { delivered, tried, isCut }: RecentDeliveries): Pair {
  const number = new Intl.NumberFormat(language);
  const share = new Intl.NumberFormat(language, { style: "percent" });
  if (tried === 0) return ["–", t("none tried")];
  const text = t("{0} of {1} tried", number.format(delivered), number.format(tried));
  const cut = isCut ? `, ${t("of the last {0}", number.format(MOST_RECENT))}` : "";
  return [share.format(Math.floor((delivered / tried) * 100) / 100), text + cut];
}

/** How many deliveries are pending, and since when the oldest is. */
export const pendingOf = (view: View, { pending, oldestPendingAt }: Webhook): Pair => [
  countText(view, pending),
  oldestPendingAt !== null && (
    <>
      {view.t("oldest")} <Ago at={oldestPendingAt} />
    </>
  ),
];

/** The result of an attempt in words; for a failure also the receiver's own text, and what to do. */
export function ResultText(props: { result: DeliveryResult; noWords: string; at?: number | null }) {
  const { result, noWords, at } = props;
  const view = useView();
  const { words = noWords, quote } = resultWords(view, result) ?? {};
  const cure = cureOf(view, result);
  return (
    <>
      <p>
        <strong>{words}</strong>
        {at && ` · ${view.t("last tried")} `}
        {at && <Ago at={at} />}
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
  const { failingSince, disabledAt, disabledReason, lastCause } = webhook;
  if (failingSince === null && (disabledAt === null || disabledReason === null)) return undefined;
  const lastFailure = { ...webhook, at: webhook.lastFailedAt };
  // Older rows of webhooks do not say why the webhook fails. Its newest deliveries may say it then.
  return lastCause === null ? (failure ?? lastFailure) : lastFailure;
}

/** The state of a webhook at the top of its page: its last failure, what to do about it, and four numbers. */
export function Health({ webhook, recent }: { webhook: Webhook; recent: RecentDeliveries }) {
  const view = useView();
  const { t } = view;
  const { disabledAt, healthSince, slow, status } = webhook;
  const { failure, deliveredAt } = recent;
  const trouble = troubleOf(webhook, recent);
  const isMoved = disabledAt !== null && (healthSince ?? 0) >= disabledAt;
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
          {trouble ? (
            <ResultText result={trouble} noWords={noWords} at={trouble.at} />
          ) : (
            <p>{wellText(view, webhook, recent)}</p>
          )}
          {!trouble && slow === true && status === "enabled" && (
            <p class="hint">
              {t(
                "Its newest delivery took over 10 s. Until one is quicker, its events may come later: it shares places with those that fail.",
              )}
            </p>
          )}
          {!trouble && failure !== null && status === "enabled" && (
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
  if (webhook.pending > 0)
    return isBehind(view, webhook) ? t("Some events wait for their next attempt.") : t("Events are on their way.");
  if (deliveredAt !== null) return tried === 0 ? t("Nothing waits.") : t("All is well: nothing waits.");
  return webhook.healthSince === null
    ? t("Nothing was delivered yet. A ping shows whether the receiver answers.")
    : t(
        "Nothing was delivered since its URL was changed or it was enabled. A ping shows whether the receiver answers.",
      );
}
