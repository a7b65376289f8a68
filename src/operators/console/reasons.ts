import { OPERATIONS, REFUSAL_REASONS } from "../services/journal.ts";
import type { View } from "./view.ts";

/** A refusal's reason in words: what was wrong, and what to do. */
export interface ReasonText {
  what: string;
  cure: string;
}

type Words = readonly [what: string, cure: string];

const USED_RANSTR: Words = [
  "The one-time text (ranstr) was used before.",
  "Every request, a retry too, needs a new one-time text (ranstr) and a new signature.",
];
const DEPLOYMENT = "The caller did nothing wrong. The log has the fault under the request id.";
const SAME_KEY = "The call may be sent again under the same Idempotency-Key, with a new one-time text (ranstr).";
const SLOWER = "Send fewer calls, and wait as long as Retry-After says.";

/** The reasons why a signed call is refused, in English. zh.json has them in Chinese. */
export const REASONS: Readonly<Record<string, Words>> = {
  app_unknown: [
    "No app has this appid.",
    "Compare the appid with the list of apps. Was it copied wrongly, is it another environment's, or did a restore take its app away?",
  ],
  app_revoked: ["The app is revoked.", "Issue another app and use its appid and secret."],
  signature_missing: ["There was no signature.", "Send it in the header x-chat-signature: 64 hex digits."],
  signature_malformed: ["The signature was not 64 hex digits.", "Send HMAC-SHA256 in hex, no base64 and no prefix."],
  signature_mismatch: [
    "The signature did not fit the body.",
    "Another secret was used, or other bytes were signed than sent. Paste the request into the signature check.",
  ],
  credentials_stale: [
    "The secret stopped at that moment: it was rotated, or the app was revoked.",
    "Sign with the current secret and send it again.",
  ],
  timestamp_stale: ["The timestamp was too old.", "Set the sender's clock. Take the time and sign anew for each try."],
  timestamp_ahead: ["The timestamp was too far ahead.", "Send Unix seconds, not milliseconds, and set the clock."],
  ranstr_seen_here: USED_RANSTR,
  ranstr_seen_by_kv: USED_RANSTR,
  ranstr_claimed_in_d1: USED_RANSTR,
  fields_invalid: ["A field broke a rule.", "The detail names the field and its rule."],
  idempotency_key_malformed: [
    "The Idempotency-Key has another form.",
    "Send 1 to 255 visible ASCII characters, or none.",
  ],
  drill_unknown: [
    "The call asked for a drill that there is not, or drills are switched off.",
    "The detail names the drills, or says that they are off. Calls without x-drill are never drilled.",
  ],
  drill_busy: [
    "The caller drilled a busy service, so nothing was done.",
    "Nothing: its program should send the call again after a second.",
  ],
  key_reused: [
    "The Idempotency-Key was used before for a call that meant something else.",
    "Repeat a call unchanged under its key, and give each new call a new key.",
  ],
  agents_invalid: [
    "An agent was unknown, foreign or disabled.",
    "Send enabled agents of this site, or add them to it.",
  ],
  session_not_found: ["The site had no such session.", "Use a chat_id that create_gd answered to an app of the site."],
  not_a_ticket: ["The session was not a ticket.", "Add agents only to sessions that create_gd opened."],
  no_responsible_agent: ["The session had no responsible agent.", "Add agents only to sessions that create_gd opened."],
  no_new_agents: ["There was nobody to add.", "Repeat nothing if they are on the session; else see the site's agents."],
  content_type_not_json: [
    "The Content-Type was not application/json.",
    "Send the header Content-Type: application/json. Many libraries send a form's type unless told.",
  ],
  content_encoding_present: [
    "The body was sent with a Content-Encoding.",
    "Send the body as it is, not compressed, and without that header.",
  ],
  body_too_large: ["The body is over 64 KiB.", "Send a shorter body."],
  body_cut_off: [
    "The body ended before its announced length.",
    "Look at the sender's connection and at the Content-Length that it sends, and send it again.",
  ],
  body_too_slow: ["The body took over 5 seconds to arrive.", "Look at the sender's connection, and send it again."],
  body_not_utf8: ["The body was not UTF-8.", "Write the JSON in UTF-8."],
  body_byte_order_mark: ["A byte order mark stood before the JSON.", "Write UTF-8 without BOM."],
  body_not_json: ["The body was not JSON.", "Let a JSON library write it, and send and sign that very text."],
  body_not_an_object: ["The body was JSON, but not an object.", "Send one object with all fields, no list, no text."],
  body_appid_missing: ["The body had no appid.", "Send appid in the body: a string of 1 to 64 characters."],
  app_limit: ["The app was over its limit of calls.", SLOWER],
  site_limit: ["The apps of the site were over their limit of calls together.", SLOWER],
  malformed_limit: ["The app had sent too many calls that break a rule.", "Mend what those calls were refused for."],
  client_limit: [
    "Too many calls from this address had a wrong signature or an unknown appid.",
    "Mend appid and signature. A right call may be sent again after the seconds of Retry-After, and goes first then.",
  ],
  site_closed: ["The site was closed.", "Open it in its settings. Its callers may retry then."],
  home_closed: ["The home was closed.", "Open it: npm run deploy -- --open and its name. Its callers may retry then."],
  home_unbound: ["The home of the app has no database.", "Bind its database in wrangler.toml and deploy."],
  d1_unavailable: ["The database did not answer.", SAME_KEY],
  d1_stalled: [
    "The database had answered nobody for 6 seconds, so the call was not sent to it.",
    "The call may be sent again as it is.",
  ],
  d1_answer_incomplete: ["The database's answer was incomplete.", SAME_KEY],
  d1_not_migrated: ["A database is not migrated.", "npm run deploy migrates all databases."],
  d1_statement_refused: ["The database refused a statement.", DEPLOYMENT],
  app_unfinished: ["The appid is kept for a site and has no app yet.", "Issue it again on its page, or release it."],
  master_key_wrong: [
    "MASTER_KEY does not open the app's secret.",
    "Set the master key that sealed it, as MASTER_KEY or MASTER_KEY_PREVIOUS.",
  ],
  configuration: ["The Worker's configuration is wrong.", DEPLOYMENT],
  unexpected: ["The Worker failed.", DEPLOYMENT],
};

/** Why a signed call was refused, and what to do. A rule of an operation that has no text above has its words in the operation. */
export function reasonText({ t }: View, reason: string): ReasonText {
  const words = Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined;
  if (words !== undefined) return { what: t(words[0]), cure: t(words[1]) };
  const rules = OPERATIONS.flatMap(({ refusals }) => Object.entries(refusals));
  const rule = rules.find(([name]) => name === reason)?.[1];
  const what = rule === undefined ? t("It was refused for {0}.", reason) : t(rule.past);
  return { what, cure: t("The detail names what to change.") };
}

/** The labels of all reasons. Where several reasons have the same text, such as three for a used ranstr, the label adds the reason. */
export function reasonLabels(view: View): Map<string, string> {
  const whats = REFUSAL_REASONS.map((reason) => reasonText(view, reason).what);
  return new Map(
    REFUSAL_REASONS.map((reason, i) => {
      const what = whats[i] ?? reason;
      return [reason, whats.indexOf(what) === whats.lastIndexOf(what) ? what : `${what} (${reason})`];
    }),
  );
}
