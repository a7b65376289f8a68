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

/** Answers of Cloudflare that tell of an address that cannot be reached, or of its certificate. */
const ADDRESS_STATUSES = [523, 525, 526, 530];

/**
 * What can be done about a failure, and whether a change of the webhook's URL may do it. Undefined when the words of the failure say
 * enough.
 */
export function cureOf({ t }: View, result: DeliveryResult): { text: string; isOfUrl: boolean } | undefined {
  const status = result.lastStatus ?? 0;
  const error = errorOf(result);
  const cures: [applies: boolean, text: string, isOfUrl?: boolean][] = [
    [
      error.startsWith("no answer"),
      t(
        "The receiver takes the event and does not answer in time. Let it store the event, answer 200 at once, and do its work afterwards.",
      ),
    ],
    [
      error === "no connection",
      t("Nothing answers at this address. Look whether the receiver runs and a firewall lets it be reached."),
      true,
    ],
    [
      status >= 300 && status < 400,
      t("Set the address that it redirects to as the URL: redirects are not followed."),
      true,
    ],
    [
      status === 401 || status === 403,
      t("It refuses the event. Look whether it knows the secret of this webhook, and whether its clock is right."),
    ],
    [
      status === 404 || status === 405,
      t("Nothing takes events at this path. Look whether the URL is the right one."),
      true,
    ],
    [status === 410, t("It wants no more events at this address. If the receiver has moved, change the URL."), true],
    [status === 429, t("It gets more than it takes. What waits is tried again later, and slower.")],
    [
      status >= 520,
      t("The host itself does not work. Whoever runs it must mend it."),
      ADDRESS_STATUSES.includes(status),
    ],
    [status >= 500, t("The receiver has a fault. Its own log says which.")],
  ];
  const [, text, isOfUrl = false] = cures.find(([applies]) => applies) ?? [];
  return text === undefined ? undefined : { text, isOfUrl };
}
