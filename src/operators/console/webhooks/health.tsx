import type { RecentDeliveries } from "../../services/deliveries.ts";
import type { Webhook } from "../../services/webhooks.ts";
import { Ago } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { countText, shareText, triedText } from "./delivered-share.tsx";
import { cureOf, resultWords } from "./failure-words.ts";
import { QuoteAndCure } from "./quote-and-cure.tsx";
import { isBehind, WebhookState } from "./webhook-state.tsx";

/** The state of a webhook at the top of its page: its last failure, what to do about it, and four numbers. */
export function Health({ view, webhook, recent }: { view: View; webhook: Webhook; recent: RecentDeliveries }) {
  return (
    <>
      <div class="health">
        <WebhookState view={view} webhook={webhook} />
        <HealthText view={view} webhook={webhook} recent={recent} />
      </div>
      <Figures view={view} webhook={webhook} recent={recent} />
    </>
  );
}

/** The last failure while it matters. Otherwise a sentence says whether all is well. */
function HealthText({ view, webhook, recent }: { view: View; webhook: Webhook; recent: RecentDeliveries }) {
  const { t } = view;
  const { failingSince, disabledAt } = webhook;
  const isInTrouble = failingSince !== null || (disabledAt !== null && webhook.disabledReason !== null);
  if (!isInTrouble) {
    const { failure } = recent;
    return (
      <div class="why">
        <p>{wellText(view, webhook, recent)}</p>
        {webhook.slow === true && webhook.status === "enabled" && (
          <p class="hint">
            {t(
              "Its newest delivery took over 10 s. Until one is quicker, its events may come later: it shares places with those that fail.",
            )}
          </p>
        )}
        {failure !== null && webhook.status === "enabled" && (
          <p class="hint">
            {t("Last failure")}: {resultWords(view, failure)?.words} · <Ago at={failure.at} />
          </p>
        )}
      </div>
    );
  }
  // Older rows of webhooks do not say why the webhook fails. Its newest deliveries may say it then.
  const lastFailure = { ...webhook, at: webhook.lastFailedAt };
  const failure = webhook.lastCause === null ? (recent.failure ?? lastFailure) : lastFailure;
  const result = resultWords(view, failure);
  const cure = cureOf(view, failure);
  const isMoved = disabledAt !== null && (webhook.healthSince ?? 0) >= disabledAt;
  return (
    <div class="why">
      <p>
        <strong>
          {result?.words ??
            (isMoved ? t("Its URL was changed since: enable it to send to the new one.") : t("It fails"))}
        </strong>
        {failure.at !== null && (
          <>
            {" · "}
            {t("last tried")} <Ago at={failure.at} />
          </>
        )}
      </p>
      <QuoteAndCure view={view} quote={result?.quote ?? ""} cure={cure} />
    </div>
  );
}

function wellText(view: View, webhook: Webhook, { tried, deliveredAt }: RecentDeliveries): string {
  const { t } = view;
  if (webhook.status === "disabled") return t("It gets no events.");
  if (webhook.pending > 0)
    return isBehind(view, webhook) ? t("Some events wait for their next attempt.") : t("Events are on their way.");
  if (deliveredAt === null)
    return webhook.healthSince === null
      ? t("Nothing was delivered yet. A ping shows whether the receiver answers.")
      : t(
          "Nothing was delivered since its URL was changed or it was enabled. A ping shows whether the receiver answers.",
        );
  return tried === 0 ? t("Nothing waits.") : t("All is well: nothing waits.");
}

function Figures({ view, webhook, recent }: { view: View; webhook: Webhook; recent: RecentDeliveries }) {
  const { t } = view;
  const { pending, failed, oldestPendingAt } = webhook;
  return (
    <dl class="figures">
      <div>
        <dt>{t("Delivered in 24 h")}</dt>
        <dd>
          {shareText(view, recent)} <small>{triedText(view, recent)}</small>
        </dd>
      </div>
      <div>
        <dt>{t("Pending")}</dt>
        <dd>
          {countText(view, pending)}
          {oldestPendingAt !== null && (
            <small>
              {" "}
              {t("oldest")} <Ago at={oldestPendingAt} />
            </small>
          )}
        </dd>
      </div>
      <div>
        <dt>{t("Failed")}</dt>
        <dd>{countText(view, failed)}</dd>
      </div>
      <div>
        <dt>{t("Last success")}</dt>
        <dd class="time">{recent.deliveredAt === null ? "–" : <Ago at={recent.deliveredAt} />}</dd>
      </div>
    </dl>
  );
}
