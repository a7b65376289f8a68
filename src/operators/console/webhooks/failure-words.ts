import { causeText, FAILURE_WORDS, type FailureCause } from "../../services/events.ts";
import { ruleText } from "../forms/messages.ts";
import type { View } from "../view.ts";

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

/** A result in words that need no knowledge of HTTP, and the receiver's own text, which may be any text. */
export interface ResultWords {
  words: string;
  quote: string;
}

/** @returns undefined when the attempt has no result */
export function resultWords(view: View, result: DeliveryResult): ResultWords | undefined {
  const { t } = view;
  const { lastStatus } = result;
  const error = errorOf(result);
  // A failure of the network begins with our own words, which may be followed by the receiver's.
  const ownWords = FAILURE_WORDS.find((each) => `${error}: `.startsWith(`${each}: `));
  if (ownWords !== undefined)
    return { words: ruleText(view, ownWords), quote: error.slice(ownWords.length).replace(/^: /, "") };
  const [, timeout] = /^no answer in (\d+) s$/.exec(error) ?? [];
  if (timeout !== undefined) return { words: t("No answer within {0} s", timeout), quote: "" };
  if (error === "no connection") return { words: t("No connection to the receiver"), quote: "" };
  if (lastStatus === null) return error === "" ? undefined : { words: ruleText(view, error), quote: "" };
  const words = t("The receiver answered {0}", lastStatus);
  if (error === "") return { words, quote: "" };
  const [answer, quote = ""] = /^HTTP \d+(?:: (.*))?$/s.exec(error) ?? [];
  return answer === undefined ? { words: `${words} · ${ruleText(view, error)}`, quote } : { words, quote };
}

/** What can be done about a failure; undefined when the words of the failure say enough. */
export function cureOf({ t }: View, result: DeliveryResult): string | undefined {
  const { lastStatus } = result;
  const error = errorOf(result);
  if (error.startsWith("no answer"))
    return t(
      "The receiver takes the event and does not answer in time. Let it store the event, answer 200 at once, and do its work afterwards.",
    );
  if (error === "no connection")
    return t("Nothing answers at this address. Look whether the receiver runs and a firewall lets it be reached.");
  if (lastStatus === null) return undefined;
  if (lastStatus >= 300 && lastStatus < 400)
    return t("Set the address that it redirects to as the URL: redirects are not followed.");
  if (lastStatus === 401 || lastStatus === 403)
    return t("It refuses the event. Look whether it knows the secret of this webhook, and whether its clock is right.");
  if (lastStatus === 404 || lastStatus === 405)
    return t("Nothing takes events at this path. Look whether the URL is the right one.");
  if (lastStatus === 410)
    return t("It wants no more events at this address. If the receiver has moved, change the URL.");
  if (lastStatus === 429) return t("It gets more than it takes. What waits is tried again later, and slower.");
  if (lastStatus >= 520) return t("The host itself does not work. Whoever runs it must mend it.");
  return lastStatus >= 500 ? t("The receiver has a fault. Its own log says which.") : undefined;
}

/** The answers that tell of a wrong address or of its certificate. The last four come from Cloudflare. */
const OF_URL = [301, 302, 303, 307, 308, 404, 405, 410, 523, 525, 526, 530];

/** Whether a change of the webhook's URL may cure a failure. */
export const isOfUrl = (result: DeliveryResult): boolean =>
  OF_URL.includes(result.lastStatus ?? 0) || errorOf(result) === "no connection";
