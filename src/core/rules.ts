/** A rule in words. `{0}`, `{1}`, … stand for the values of the violation that breaks it. */
interface Rule {
  /** The English of `x-error-detail`, in ASCII. In a violation with agents, `{0}` stands for the agents. */
  detail: string;
  /** The English of the console, after the field. Absent when it is the same as `detail`. */
  words?: string;
  /** The JSON types that its value may have. A violation says when another type was sent. */
  takes?: readonly SentAs[];
}

const SENT_AS_TABLE = {
  string: { detail: "not a string", words: "It was sent as a string." },
  number: { detail: "not a number", words: "It was sent as a number." },
  boolean: { detail: "not true or false", words: "It was sent as true or false." },
  null: { detail: "not null", words: "It was sent as null." },
  array: { detail: "not an array", words: "It was sent as an array." },
  object: { detail: "not an object", words: "It was sent as an object." },
  json_text: {
    detail: "not a string of JSON: it was serialised twice",
    words: "It was sent as a string of JSON: it was serialised twice.",
  },
  compressed: { detail: "not compressed", words: "It is compressed." },
  utf16: { detail: "not UTF-16", words: "It is UTF-16." },
  joined: {
    detail: 'not with ", " (a header that is sent twice has it)',
    words: "It has a comma and a blank: a header that is sent twice has them.",
  },
  too_large: { detail: "not beyond 9007199254740991", words: "It is beyond 9007199254740991." },
  milliseconds: { detail: "not milliseconds", words: "It was sent in milliseconds." },
  microseconds: { detail: "not microseconds", words: "It was sent in microseconds." },
  ticks: { detail: "not ticks of 100 ns", words: "It was sent in ticks of 100 ns." },
  nanoseconds: { detail: "not nanoseconds", words: "It was sent in nanoseconds." },
  date_in_digits: { detail: "not a date in digits", words: "It was sent as a date in digits." },
  fraction_or_exponent: {
    detail: "not with a fraction or an exponent",
    words: "It was sent with a fraction or an exponent.",
  },
} as const;

export type SentAs = keyof typeof SENT_AS_TABLE;

/** How a value may have been sent. `detail` ends the English of `x-error-detail`; `words` is for the console. The journal stores the names. */
export const SENT_AS: Readonly<Record<SentAs, { detail: string; words: string }>> = SENT_AS_TABLE;

const TABLE = {
  // Fields.
  required: { detail: "is required", words: "is missing." },
  integer: { detail: "must be an integer", words: "must be a whole number.", takes: ["number"] },
  integer_within: {
    detail: "must be an integer from {0} to {1}",
    words: "must be a whole number from {0} to {1}.",
    takes: ["number"],
  },
  text_within: {
    detail: "must be a string of {0} to {1} characters",
    words: "must be a string of {0} to {1} characters.",
    takes: ["string"],
  },
  well_formed: {
    detail: "is not well-formed Unicode: half of a surrogate pair stands alone",
    words: "is not well-formed Unicode: half of a surrogate pair stands alone.",
  },
  text_or_digits: {
    detail: "must be a string of {0} to {1} characters, or an integer of {0} to {1} digits",
    words: "must be a string of {0} to {1} characters, or a whole number of {0} to {1} digits.",
    takes: ["string", "number"],
  },
  one_of: { detail: "must be one of {0}", words: "must be one of {0}." },
  ip_address: {
    detail: "must be one IPv4 or IPv6 address, without port, brackets or blanks",
    words: "must be one IPv4 or IPv6 address, without port, brackets or blanks.",
    takes: ["string"],
  },
  sender: { detail: "must be the integer 1, 2 or 3", words: "must be the number 1, 2 or 3.", takes: ["number"] },
  agent_ids: {
    detail: "must be an array of {0} to {1} agent ids (one named twice counts once)",
    words: "must be an array of {0} to {1} agent ids.",
    takes: ["array"],
  },
  listed_ids: {
    detail:
      "must be {0} to {1} agent ids (one named twice counts once), as positive integers between commas or as an array",
    words: "must be {0} to {1} agent ids, separated by commas or as an array.",
    takes: ["string", "array"],
  },
  listed_id: {
    detail:
      "must be a positive integer in digits 0 to 9, without leading zeros, quotes, brackets or blanks other than ASCII spaces",
    words:
      "must be a whole number above 0 in digits 0 to 9, without leading zeros, quotes, brackets or blanks other than ASCII spaces.",
  },
  full_width_comma: {
    detail: 'has a full-width comma: write ","',
    words: "has a full-width comma: write “,”.",
  },
  comma_between: {
    detail: 'must be one id: write "," between ids',
    words: "must be one id: write “,” between ids.",
  },
  empty: { detail: "is empty", words: "is empty." },
  empty_at_end: {
    detail: "is empty: end the list without a comma",
    words: "is empty: end the list without a comma.",
  },
  pairs: {
    detail:
      "must be an object of up to {0} strings of up to {1} characters, under names of {2} to {3} characters of {4}",
    words:
      "must be an object of up to {0} strings of up to {1} characters, under names of {2} to {3} of the characters {4} and no others.",
    takes: ["object"],
  },
  most_keys: { detail: "must have at most {0} keys", words: "must have at most {0} keys." },
  value_of_key: {
    detail: "must have a string of up to {0} characters",
    words: "must have a string of up to {0} characters.",
    takes: ["string"],
  },
  name_of_key: {
    detail: "must be a name of {0} to {1} characters of {2}",
    words: "must be a name of {0} to {1} of the characters {2} and no others.",
  },

  // timestamp, ranstr, Idempotency-Key and x-drill.
  unix_seconds: {
    detail: "must be an integer, Unix seconds",
    words: "must be a whole number: Unix seconds.",
    takes: ["number"],
  },
  near_now: {
    detail: "must be within {0} s of {1}, Unix seconds",
    words: "may be at most {0} s before or after the service's clock, which stood at {1}. Send Unix seconds.",
  },
  used_once: { detail: "was already used", words: "was used before. Each try needs a new one." },
  visible_ascii: {
    detail: "must be {0} to {1} visible ASCII characters, without spaces",
    words: "must be {0} to {1} visible ASCII characters, without spaces.",
  },
  key_of_one_request: {
    detail: "was used for a request that meant something else",
    words: "was used before for a call that meant something else.",
  },
  drills_on: {
    detail: "must be absent: this service has drills switched off",
    words: "must not be sent: drills are switched off here.",
  },
  drill_busy: {
    detail: "busy was asked for, so nothing was done",
    words: "asked for a busy service, so nothing was done.",
  },

  // Method, headers and body.
  method: {
    detail: "must be {0} (a redirect, as from http to https, may have changed it)",
    words: "must be {0}. A redirect, as from http to https, may have changed it.",
  },
  signature_prefix: {
    detail: "must be 64 hex digits, without a prefix such as {0}",
    words: "must be 64 hex digits, without “{0}” before them.",
  },
  signature_length: { detail: "must be 64 hex digits, not {0}", words: "must be 64 hex digits; it has {0}." },
  signature_base64: { detail: "must be 64 hex digits, not base64", words: "must be 64 hex digits; it is base64." },
  signature_characters: {
    detail: "must be 64 hex digits, without other characters",
    words: "must be 64 hex digits, and it has other characters.",
  },
  json_type: {
    detail: "must be application/json, and is {0}",
    words: "must be application/json, alone or with parameters. It is {0}.",
  },
  json_type_missing: {
    detail: "must be application/json, and is missing",
    words: "is missing. It must be application/json.",
  },
  json_type_unreadable: {
    detail: "must be application/json, and is not readable: longer than 80 characters, or not visible ASCII",
    words: "must be application/json. It is not readable: longer than 80 characters, or not visible ASCII.",
  },
  absent: { detail: "must be absent", words: "must not be sent." },
  bytes_at_most: { detail: "must be at most {0} bytes", words: "is too long: at most {0} bytes." },
  within_seconds: { detail: "must arrive within {0} s", words: "did not arrive within {0} s." },
  whole: { detail: "ended before its time", words: "ended before its announced length." },
  utf8: { detail: "must be UTF-8", words: "is not UTF-8." },
  no_byte_order_mark: {
    detail: "must have no byte order mark",
    words: "begins with a byte order mark: send UTF-8 without BOM.",
  },
  json: {
    detail: "must be JSON as a library writes it: double quotes, no comma at the end, no line break in a string",
    words: "is not JSON as a library writes it: double quotes, no comma at the end, no line break in a string.",
  },
  ends_with_bracket: {
    detail: 'must end with "}": Content-Length counts bytes, not characters',
    words: "must end with “}”: Content-Length counts bytes, not characters.",
  },
  json_object: {
    detail: "must be a JSON object",
    words: "is JSON, but not an object: it must begin with “{” and end with “}”.",
    takes: ["object"],
  },

  // Agents and sessions. A violation of the first two has agents, and its words stand before them.
  agents_fit: { detail: "{0}", words: "" },
  agent_to_add: { detail: "nobody to add: {0}", words: "There is nobody to add." },
  session_known: { detail: "no such session on this site", words: "is unknown to this site." },
  ticket: {
    detail: "is not a ticket session",
    words: "is not a ticket, and agents can be added to tickets only.",
  },
  responsible_agent: {
    detail: "the session has no responsible agent",
    words: "is a session without a responsible agent.",
  },

  // The violations of these rules name no field. Their texts are whole sentences.
  site_open: { detail: "the site is closed for now", words: "The site is closed." },
  home_open: { detail: "The home {0} is closed." },
  home_bound: { detail: "The home {0} has no database: bind it as {1}." },
  known_path: { detail: "the calls are {0}", words: "There is no such path. The calls are {0}." },
} as const satisfies Record<string, Rule>;

export type RuleName = keyof typeof TABLE;

/**
 * Every rule that a signed call can break, in all its words: `x-error-detail`, the console and the glossary of docs/integrating.md are
 * made from this table. Neither a name nor its values may change their meaning, because the journal stores them.
 */
export const RULES: Readonly<Record<RuleName, Rule>> = TABLE;

/** The English of a rule in the console. Also the key of its Chinese in zh.json. */
export const wordsOf = (rule: RuleName): string => RULES[rule].words ?? RULES[rule].detail;

/** Why an agent is left out. What the caller can correct comes first. */
export const LEFT_OUT_BECAUSE = ["unknown", "disabled", "already on the session"] as const;

/** A requested agent that is left out of an accepted request, or is the reason why a request is refused. */
export interface LeftOutAgent {
  id: number;
  why: (typeof LEFT_OUT_BECAUSE)[number];
}

/** Which field broke which rule. Holds no value that the caller sent, except ids of agents and a Content-Type. */
export interface Violation {
  rule: RuleName;
  /** The field or header, or `body`. Absent when the rule is a sentence. */
  field?: string;
  /** The item of the list in the field, from 1. */
  item?: number;
  /** The key of the object in the field, from 1; "one" when its place would mislead. */
  key?: number | "one";
  /** The values of the rule's words. "and" joins a list. */
  values?: readonly (string | number | readonly string[])[];
  /** How the value was sent, when this explains the violation. */
  sentAs?: SentAs;
  /** A string was sent. Only older rows of the journal have it, in place of `sentAs`. */
  asString?: true;
  /** The field may be left out, and was sent empty. */
  mayBeLeftOut?: true;
  agents?: readonly LeftOutAgent[];
}
