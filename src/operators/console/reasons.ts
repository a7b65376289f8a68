import { OPERATIONS, REFUSAL_REASONS } from "../services/journal.ts";
import type { View } from "./view.ts";

/** A refusal's reason in words: what was wrong, and what to do. */
export interface ReasonText {
  what: string;
  cure: string;
}

/** The reasons why a signed call is refused, in words. */
function reasonTexts({ t }: View) {
  const usedRanstr = {
    what: t("The one-time text (ranstr) was used before."),
    cure: t("Every request, a retry too, needs a new one-time text (ranstr) and a new signature."),
  };
  const deployment = t("The caller did nothing wrong. The log has the fault under the request id.");
  const slower = t("Send fewer calls, and wait as long as Retry-After says.");
  return {
    app_unknown: {
      what: t("No app has this appid."),
      cure: t(
        "Compare the appid with the list of apps. Was it copied wrongly, is it another environment's, or did a restore take its app away?",
      ),
    },
    app_revoked: { what: t("The app is revoked."), cure: t("Issue another app and use its appid and secret.") },
    signature_missing: {
      what: t("There was no signature."),
      cure: t("Send it in the header x-chat-signature: 64 hex digits."),
    },
    signature_malformed: {
      what: t("The signature was not 64 hex digits."),
      cure: t("Send HMAC-SHA256 in hex, without a prefix, and not in base64."),
    },
    signature_mismatch: {
      what: t("The signature did not fit the body."),
      cure: t(
        "Another secret was used, or other bytes were signed than sent. Paste the request into the signature check.",
      ),
    },
    credentials_stale: {
      what: t("The secret stopped at that moment: it was rotated, or the app was revoked."),
      cure: t("Sign with the current secret and send it again."),
    },
    timestamp_stale: {
      what: t("The timestamp was too old."),
      cure: t("Set the sender's clock, and take the time and sign anew for each try."),
    },
    timestamp_ahead: {
      what: t("The timestamp was too far ahead."),
      cure: t("Send Unix seconds in UTC, not milliseconds, and set the sender's clock."),
    },
    ranstr_seen_here: usedRanstr,
    ranstr_seen_by_kv: usedRanstr,
    ranstr_claimed_in_d1: usedRanstr,
    fields_invalid: { what: t("A field broke a rule."), cure: t("The detail names the field and its rule.") },
    idempotency_key_malformed: {
      what: t("The Idempotency-Key has another form."),
      cure: t("Send 1 to 255 visible ASCII characters, or leave it out."),
    },
    key_reused: {
      what: t("The Idempotency-Key was used before for a call that meant something else."),
      cure: t("Repeat a call unchanged under its key, and give each new call a new key."),
    },
    agents_invalid: {
      what: t("An agent was unknown, foreign or disabled."),
      cure: t("Send only agents of this site in normal status, or add them to the site."),
    },
    session_not_found: {
      what: t("The site had no such session."),
      cure: t("Use the chat_id that create_gd answered to an app of the same site."),
    },
    not_a_ticket: {
      what: t("The session was not a ticket."),
      cure: t("Add agents only to sessions that create_gd opened."),
    },
    no_responsible_agent: {
      what: t("The session had no responsible agent."),
      cure: t("Add agents only to sessions that create_gd opened."),
    },
    no_new_agents: {
      what: t("There was nobody to add."),
      cure: t("Nothing to repeat when they are on the session already; otherwise look at the site's agents."),
    },
    content_type_not_json: {
      what: t("The Content-Type was not application/json."),
      cure: t("Send the header Content-Type: application/json. Many libraries send a form's type unless told."),
    },
    content_encoding_present: {
      what: t("The body was sent with a Content-Encoding."),
      cure: t("Send the body as it is, not compressed, and without that header."),
    },
    body_too_large: { what: t("The body is over 64 KiB."), cure: t("Send a shorter body.") },
    body_cut_off: {
      what: t("The body ended before its announced length."),
      cure: t("Look at the sender's connection and at the Content-Length that it sends, and send it again."),
    },
    body_too_slow: {
      what: t("The body took over 5 seconds to arrive."),
      cure: t("Look at the sender's connection, and send it again."),
    },
    body_not_utf8: { what: t("The body was not UTF-8."), cure: t("Write the JSON in UTF-8.") },
    body_byte_order_mark: {
      what: t("A byte order mark stood before the JSON."),
      cure: t("Write UTF-8 without BOM."),
    },
    body_not_json: {
      what: t("The body was not JSON."),
      cure: t("Let a JSON library write it, and send and sign that very text."),
    },
    body_not_an_object: {
      what: t("The body was JSON, but not an object."),
      cure: t("Send one object with all fields, not a list and not a text."),
    },
    body_appid_missing: {
      what: t("The body had no appid."),
      cure: t("Send appid in the body: a string of 1 to 64 characters."),
    },
    app_limit: { what: t("The app was over its limit of calls."), cure: slower },
    site_limit: { what: t("The apps of the site were over their limit of calls together."), cure: slower },
    malformed_limit: {
      what: t("The app had sent too many calls that break a rule."),
      cure: t("Mend what the calls before were refused for."),
    },
    client_limit: {
      what: t("Too many calls from this address had a wrong signature or an unknown appid."),
      cure: t(
        "Mend appid and signature. A right call may be sent again after the seconds of Retry-After, and goes first then.",
      ),
    },
    site_closed: { what: t("The site was closed."), cure: t("Open it in its settings. Its callers may retry then.") },
    home_closed: {
      what: t("The home was closed."),
      cure: t("Open it: npm run deploy -- --open and its name. Its callers may retry then."),
    },
    home_unbound: {
      what: t("The home of the app has no database."),
      cure: t("Bind its database in wrangler.toml and deploy."),
    },
    d1_unavailable: {
      what: t("The database did not answer."),
      cure: t("The call may be sent again under the same Idempotency-Key, with a new one-time text (ranstr)."),
    },
    d1_stalled: {
      what: t("The database had answered nobody for 6 seconds, so the call was not sent to it."),
      cure: t("The call may be sent again as it is."),
    },
    d1_answer_incomplete: {
      what: t("The database's answer was incomplete."),
      cure: t("The call may be sent again under the same Idempotency-Key, with a new one-time text (ranstr)."),
    },
    d1_not_migrated: { what: t("A database is not migrated."), cure: t("npm run deploy migrates all databases.") },
    d1_statement_refused: { what: t("The database refused a statement."), cure: deployment },
    app_unfinished: {
      what: t("The appid is kept for a site and has no app yet."),
      cure: t("Issue it again on its page, or release it there."),
    },
    master_key_wrong: {
      what: t("MASTER_KEY does not open the app's secret."),
      cure: t("Set the master key that sealed it, as MASTER_KEY or MASTER_KEY_PREVIOUS."),
    },
    configuration: { what: t("The Worker's configuration is wrong."), cure: deployment },
    unexpected: { what: t("The Worker failed."), cure: deployment },
  } satisfies Record<string, ReasonText>;
}

/**
 * Why a signed call was refused, and what to do. A rule of an operation that has no text above has its words in the operation.
 */
export function reasonText(view: View, reason: string): ReasonText {
  const { t } = view;
  const texts: Record<string, ReasonText> = reasonTexts(view);
  if (Object.hasOwn(texts, reason)) return texts[reason] as ReasonText;
  const [, rule] =
    OPERATIONS.flatMap(({ refusals }) => Object.entries(refusals)).find(([name]) => name === reason) ?? [];
  return {
    what: rule === undefined ? t("It was refused for {0}.", reason) : t(rule.past),
    cure: t("The detail names what to change."),
  };
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
