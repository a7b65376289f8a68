import type {
  BodyVariant,
  Rewriting,
  SignatureDiagnosis,
  SignatureFault,
  SignatureMatch,
} from "../../../services/check-pasted-request.ts";
import type { View } from "../view.ts";

/** Why a timestamp is outside the tolerance, and the advice. */
export function timestampText(view: View, timestamp: number, tolerance: number): string {
  const { t, now } = view;
  if (timestamp < now) {
    return t(
      "It is {0} old; {1} s are allowed. If it was fresh when you sent it, this was not the cause then: see the other lines. Otherwise set the sender's clock and sign anew for each try.",
      span(view, now - timestamp),
      tolerance,
    );
  }
  // A larger value must be milliseconds: as seconds it is after the year 5000.
  if (timestamp > 100_000_000_000) {
    return t("It is in milliseconds. Send Unix seconds: {0}.", Math.floor(timestamp / 1000));
  }
  const ahead = timestamp - now;
  const text = t("It is {0} ahead; {1} s are allowed. Set the sender's clock.", span(view, ahead), tolerance);
  const wholeHours = ahead > 3_000 && (ahead + 300) % 3_600 <= 600;
  return wholeHours ? text + t(" Is it a local time, taken for UTC?") : text;
}

/** The findings about a signature, in sentences. */
export function signatureTexts(view: View, diagnosis: SignatureDiagnosis): string[] {
  const { t } = view;
  const { signature, match, valid, instead, notRewritten } = diagnosis;
  const texts = signature.faults.map((fault) => faultText(view, fault, signature.hexDigits ?? 0));
  if (valid) texts.push(t("Valid."));
  if (match !== undefined) return [...texts, ...matchTexts(view, match)];
  if (instead === "swapped") {
    texts.push(t("Key and message are swapped: the secret is the key of the HMAC, the body its message."));
  } else if (instead === "plain_hash") {
    texts.push(t("It is a plain SHA-256 hash. Sign with HMAC-SHA256: the secret is its key, the body its message."));
  } else if (signature.bytes !== undefined) {
    texts.push(
      t(
        "No secret of this app makes this signature of this body, nor of any usual rewriting of it. The secret is another one, or the body was changed after it was signed. Sign the very bytes you send, with the secret shown when the app was issued or last rotated.",
      ),
    );
  }
  if (notRewritten) texts.push(t("Rewritings were not tried: the body is over 64 KiB or nested over 32 levels deep."));
  return texts;
}

function faultText(view: View, fault: SignatureFault, digits: number): string {
  const { t } = view;
  const hash = { 32: "MD5", 40: "SHA-1", 96: "SHA-384", 128: "SHA-512" }[digits];
  const texts: Record<SignatureFault, string> = {
    missing: t("There is no signature: send it in the header x-chat-signature."),
    prefix: t("Send the hex digits alone, without a prefix like “sha256=”."),
    quoted: t("Send it without the quotation marks."),
    base64: t("It is base64. Send hex: 64 digits."),
    base64_of_hex: t("It is base64 of the hex digits. Send the hex digits themselves."),
    length:
      t("It has {0} hex digits; HMAC-SHA256 has 64.", digits) +
      (hash === undefined ? "" : t(" That many is {0}.", hash)),
    unreadable: t("It is neither hex nor base64 of 32 bytes."),
  };
  return texts[fault];
}

function matchTexts(view: View, { body, slot, expiresAt, key }: SignatureMatch): string[] {
  const { t } = view;
  const texts: string[] = [];
  if (slot === "previous" && expiresAt > view.now) {
    texts.push(
      t("Signed with the previous secret, which still works until {0}. Change over before then.", view.time(expiresAt)),
    );
  } else if (slot === "previous") {
    texts.push(
      t("Signed with the previous secret, which stopped working on {0}. Use the current one.", view.time(expiresAt)),
    );
  }
  if (key === "hex_decoded") {
    texts.push(t("The secret was decoded from hex before use. Its characters are the key, as they are."));
  }
  if (key === "newline_added") {
    texts.push(t("The key ends with a line feed: trim the secret when you read it from a file."));
  }
  if (body.rewritten !== undefined) {
    texts.push(
      t(
        "The signature is over another text of the same JSON: {0}. Something serialised the body anew between signing and sending. Serialise once; sign and send that very text.",
        rewritingText(view, body.rewritten),
      ),
    );
  }
  if (body.end === "newline_added") {
    texts.push(
      t(
        "What was signed ends with a line end that the pasted body does not have. Sign exactly what you send: no echo without -n, no trailing line of a file.",
      ),
    );
  }
  if (body.end === "newline_removed") {
    texts.push(
      t(
        "What was signed has no line end at its end, the pasted body does. If it is sent that way, the line end is the cause; if it came in while pasting, all is well.",
      ),
    );
  }
  const ends = lineEndsOf(body);
  if (ends !== undefined) {
    texts.push(
      t(
        "A form cannot keep line ends, so both were tried: the signature fits {0}. If the body is sent with {1}, the server refuses it.",
        ends.fits,
        ends.other,
      ),
    );
  }
  return texts;
}

/** The line ends that fit the signature. The pasted text does not show them, because a browser's form turns all into CRLF. */
export function lineEndsOf({ lineEnds, text }: BodyVariant) {
  if (lineEnds === undefined || !text.includes("\n")) return undefined;
  const [lf, crlf] = ["LF (\\n)", "CRLF (\\r\\n)"];
  return lineEnds === "lf" ? { fits: lf, other: crlf } : { fits: crlf, other: lf };
}

function rewritingText(view: View, rewritten: Rewriting[]): string {
  const { t } = view;
  const texts: Record<Rewriting, string> = {
    numbers_rounded: t("numbers as JavaScript writes them, which loses digits beyond 2^53"),
    unescaped: t("characters as they are, without \\ escapes"),
    compact: t("no spaces"),
    spaced: t("a space after each comma and colon"),
    indented: t("indented"),
    keys_sorted: t("keys sorted"),
    keys_documented: t("keys in the documentation's order"),
    unicode_escaped: t("other than ASCII written as \\uXXXX"),
    slashes_escaped: t("/ written as \\/"),
    html_escaped: t("<, > and & written as \\u003c …"),
  };
  return rewritten.map((each) => texts[each]).join(t(", "));
}

/** A time span, rounded: the request is some seconds old, so "eight hours ahead" would be a little less. */
function span({ t }: View, seconds: number): string {
  if (seconds >= 172_800) return t("{0} d", Math.round(seconds / 86_400));
  if (seconds >= 7_200) return t("{0} h", Math.round(seconds / 3_600));
  return seconds >= 120 ? t("{0} min", Math.round(seconds / 60)) : t("{0} s", seconds);
}
