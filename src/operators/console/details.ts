import type { View } from "./view.ts";

type Translate = View["t"];

/** What a part of a detail may say, and the same in words that `t` translates. The groups of the pattern are the values. */
type Words = [pattern: RegExp, words: (t: Translate, ...values: string[]) => string];

/** Rules of a field or a header. test/operators/console/details.test.ts names a rule of the code that is missing here. */
const RULES: Words[] = [
  [/^is required$/, (t) => t("is missing.")],
  [/^must be an integer, Unix seconds$/, (t) => t("must be a whole number: Unix seconds.")],
  [/^must be an integer$/, (t) => t("must be a whole number.")],
  [/^must be an integer from (\d+) to (\d+)$/, (t, ...range) => t("must be a whole number from {0} to {1}.", ...range)],
  [/^must be the integer 1, 2 or 3$/, (t) => t("must be the number 1, 2 or 3.")],
  [
    /^must be a string of (\d+) to (\d+) characters$/,
    (t, ...range) => t("must be a string of {0} to {1} characters.", ...range),
  ],
  [
    /^must be a string of (\d+) to (\d+) characters, or an integer of \1 to \2 digits$/,
    (t, ...range) => t("must be a string of {0} to {1} characters, or a whole number of {0} to {1} digits.", ...range),
  ],
  [/^must be an IPv4 or IPv6 address$/, (t) => t("must be an IPv4 or IPv6 address.")],
  [/^must be one of (\w+)$/, (t, list) => t("must be one of {0}.", list)],
  [
    /^must be an array of (\d+) to (\d+) agent ids/,
    (t, ...range) => t("must be an array of {0} to {1} agent ids.", ...range),
  ],
  [
    /^must be (\d+) to (\d+) agent ids .*between commas or as an array$/,
    (t, ...range) => t("must be {0} to {1} agent ids, separated by commas or as an array.", ...range),
  ],
  [
    /^must be a positive integer in digits, without leading zeros$/,
    (t) => t("must be a whole number above 0 in digits, without leading zeros."),
  ],
  [/^has a full-width comma/, (t) => t("has a full-width comma: write “,”.")],
  [/^is empty: end the list without a comma$/, (t) => t("is empty: end the list without a comma.")],
  [/^is empty$/, (t) => t("is empty.")],
  [
    /^must be an object of up to (\d+) strings of up to (\d+) characters, under names of (\d+) to (\d+) characters of (\S+)$/,
    (t, ...limits) =>
      t(
        "must be an object of up to {0} strings of up to {1} characters, under names of {2} to {3} characters of {4}",
        ...limits,
      ),
  ],
  [/^must have at most (\d+) keys$/, (t, most) => t("must have at most {0} keys.", most)],
  [
    /^must have a string of up to (\d+) characters$/,
    (t, most) => t("must have a string of up to {0} characters.", most),
  ],
  [
    /^must be a name of (\d+) to (\d+) characters of (\S+)$/,
    (t, ...limits) => t("must be a name of {0} to {1} characters of {2}", ...limits),
  ],
  [
    /^must be within (\d+) s of (\d+), Unix seconds$/,
    (t, most, now) =>
      t(
        "may be at most {0} s before or after the service's clock, which stood at {1}. 13 digits are milliseconds: send seconds.",
        most,
        now,
      ),
  ],
  [/^was already used$/, (t) => t("was used before. Each try needs a new one.")],
  [/^no such session on this site$/, (t) => t("is unknown to this site.")],
  [/^is not a ticket session$/, (t) => t("is not a ticket, and agents can be added to tickets only.")],
  [/^the session has no responsible agent$/, (t) => t("is a session without a responsible agent.")],
  [
    /^must be (\d+) to (\d+) visible ASCII characters$/,
    (t, ...range) => t("must be {0} to {1} visible ASCII characters, without spaces.", ...range),
  ],
  [
    /^was used for a request that meant something else$/,
    (t) => t("was used before for a call that meant something else."),
  ],
  [
    /^must be 64 hex digits, without a prefix such as (\S+)$/,
    (t, prefix) => t("must be 64 hex digits, without “{0}” before them.", prefix),
  ],
  [/^must be 64 hex digits, not (\d+)$/, (t, count) => t("must be 64 hex digits; it has {0}.", count)],
  [/^must be 64 hex digits, not base64$/, (t) => t("must be 64 hex digits; it is base64.")],
  [
    /^must be 64 hex digits, without other characters$/,
    (t) => t("must be 64 hex digits, and it has other characters."),
  ],
  [/^must be UTF-8$/, (t) => t("is not UTF-8.")],
  [/^must have no byte order mark$/, (t) => t("begins with a byte order mark: send UTF-8 without BOM.")],
  [/^must be JSON$/, (t) => t("is not JSON.")],
  [/^must be a JSON object$/, (t) => t("is JSON, but not an object: it must begin with “{” and end with “}”.")],
  [/^must be at most (\d+) bytes$/, (t, most) => t("is too long: at most {0} bytes.", most)],
  [/^must arrive within (\d+) s$/, (t, most) => t("did not arrive within {0} s.", most)],
  [/^ended before its time$/, (t) => t("ended before its announced length.")],
  [/^must be application\/json$/, (t) => t("must be application/json.")],
  [/^must be absent$/, (t) => t("must not be sent.")],
];

/** Details that name no field. */
const SENTENCES: Words[] = [
  [/^the site is closed for now$/, (t) => t("The site is closed.")],
  [
    /^the calls are (POST \S+(?: and POST \S+)*)$/,
    (t, calls = "") => t("There is no such path. The calls are {0}.", calls.split(" and ").join(t(", "))),
  ],
  [/^The home (\S+) is closed\.$/, (t, home) => t("The home {0} is closed.", home)],
  [
    /^The home (\S+) has no database: bind it as (\S+)\.$/,
    (t, home, binding) => t("The home {0} has no database: bind it as {1}.", home, binding),
  ],
];

/**
 * A detail of a refused call (`x-error-detail`, or `detail` in the log) in the reader's language: one text for each fault. A fault
 * that is not known here is quoted as it is.
 */
export const detailTexts = (view: Pick<View, "t">, detail: string): string[] =>
  detail
    .split("; ")
    .filter((fault) => fault !== "")
    .map((fault) => faultText(view, fault) ?? `“${fault}”`);

function faultText(view: Pick<View, "t">, fault: string): string | undefined {
  const { t } = view;
  const sentence = wordsOf(t, SENTENCES, fault);
  if (sentence !== undefined) return sentence;
  const [, field, rule = ""] = /^([\w-]+): (.*)$/s.exec(fault) ?? [];
  if (field === undefined) return undefined;
  const [, nobody, ids = ""] = /^(nobody to add: )?(.*)$/s.exec(rule) ?? [];
  const agents = leftOutText(view, ids);
  if (agents !== undefined) {
    return t("{0}: {1}", field, nobody === undefined ? agents : `${t("There is nobody to add.")}${t(" ")}${agents}`);
  }
  const [, position, ofItem] = /^item (\d+) (.*)$/s.exec(rule) ?? [];
  const [, key, ofKey] = /^(?:one key|key (\d+)) (.*)$/s.exec(rule) ?? [];
  const words = ruleWords(t, ofItem ?? ofKey ?? rule);
  if (words === undefined) return undefined;
  if (ofItem !== undefined) return t("{0}, item {1}, {2}", field, position, words);
  if (ofKey === undefined) return t("{0} {1}", field, words);
  return key === undefined ? t("{0}, one of its keys, {1}", field, words) : t("{0}, key {1}, {2}", field, key, words);
}

/** A rule with what describe-fields.ts adds to it. */
function ruleWords(t: Translate, rule: string): string | undefined {
  const [, bare = rule, asString, optional] = /^(.*?)(, not a string)?(, or left out)?$/s.exec(rule) ?? [];
  const words = wordsOf(t, RULES, bare);
  if (words === undefined) return undefined;
  return [words, asString && t("It was sent as a string."), optional && t("Leave it out when there is none.")]
    .filter((part) => part !== undefined)
    .join(t(" "));
}

function wordsOf(t: Translate, table: Words[], said: string): string | undefined {
  for (const [pattern, words] of table) {
    const [whole, ...values] = pattern.exec(said) ?? [];
    if (whole !== undefined) return words(t, ...values);
  }
  return undefined;
}

/** The text of `x-ignored-agents` in the reader's language; undefined for another text. core/operations/describe-left-out.ts makes it. */
export function leftOutText({ t }: Pick<View, "t">, said: string): string | undefined {
  if (said === "the agents have changed meanwhile") return t("The agents have changed meanwhile.");
  const ids: Record<string, string[]> = { unknown: [], disabled: [], "already on the session": [] };
  const [, listed = "", more] = /^(.*?)(?:, and (\d+) more)?$/s.exec(said) ?? [];
  for (const agent of listed.split(", ")) {
    const [, id, why = ""] = /^(\d+) (.*)$/s.exec(agent) ?? [];
    if (id === undefined || ids[why] === undefined) return undefined;
    ids[why].push(id);
  }
  const list = (why: string) => (ids[why]?.length ? ids[why].join(t(", ")) : undefined);
  const [unknown, disabled, there] = ["unknown", "disabled", "already on the session"].map(list);
  return [
    unknown && t("Unknown on this site: {0}.", unknown),
    disabled && t("Disabled: {0}.", disabled),
    there && t("On the session already: {0}.", there),
    more && t("And {0} more agents.", more),
  ]
    .filter((part) => part !== undefined)
    .join(t(" "));
}

/** The rules and sentences that this file has words for. */
export const detailPatterns = (): RegExp[] => [...RULES, ...SENTENCES].map(([pattern]) => pattern);
