import {
  asPasted,
  type BodyVariant,
  bodiesWithSecret,
  CR,
  CRLF,
  isTooMuchToRewrite,
  LF,
  otherBodies,
  type PastedBody,
  pastedBody,
  rewrittenBodies,
} from "./body-variants.ts";
import { type Bytes, encode, toHex } from "./encodings.ts";
import { keyVariants } from "./key-variants.ts";
import { findOther, hashHex, importHmac } from "./other-computations.ts";
import { type ReadSignature, readSignature } from "./read-signature.ts";
import type { Finding } from "./words.ts";

/** A secret that the signature may have been made with. */
export interface TriedSecret {
  slot: "current" | "previous" | "other_app";
  secret: string;
  /** Unix seconds; infinity for a secret without an end. */
  expiresAt: number;
  /** The app that it belongs to. */
  appid?: string | undefined;
}

/** A request as somebody pasted it. */
export interface PastedSignature {
  body: string;
  signature: string;
  /** The body's bytes, when they are not the text in UTF-8. */
  bytes?: Bytes;
  appid?: string;
  operation?: { path: string };
  /** Set when the body has the line ends that were sent. A form does not keep them. */
  lineEndsKept?: boolean;
}

export interface SignatureMatch {
  body: BodyVariant;
  slot: TriedSecret["slot"];
  /** The app that the secret belongs to, when it is known. */
  appid?: string | undefined;
  /** When the secret stops verifying, in Unix seconds; may be in the past. Infinity for the current secret. */
  expiresAt: number;
  /** How the caller made the key from the secret; undefined for the contract's way, the secret's UTF-8 bytes. */
  key?: Finding;
}

export interface SignatureDiagnosis {
  signature: ReadSignature;
  /** The text and the key that give this signature, when they were found. */
  match: SignatureMatch | undefined;
  /** What the caller computed instead of the HMAC, when it was found. */
  instead?: string;
  /** The body is too long or too deep for a call, so only its line ends were varied. */
  notRewritten?: true;
  /** The signature is right for the pasted text. The server accepts it as long as the secret is valid. */
  exact: boolean;
  /** Whether the server accepts the signature now. */
  valid: boolean;
  /** The whole diagnosis in words, the cause first. */
  findings: Finding[];
}

const WORDS = {
  valid: "Valid.",
  previous_valid: "Signed with the old secret, which still works until {0}. Change over before then.",
  previous_ended: "Signed with the old secret, which stopped working on {0}. Use the current one.",
  other_app:
    "Signed with the secret of the app {0}. Use the secret of the app that the body names, or name that app in the body.",
  line_ends_depend:
    "A form cannot keep line ends, so each kind was tried: the signature fits {0}. If the body is sent with {1}, the server refuses it.",
  no_match:
    "No secret of this app makes this signature of this body, nor of any usual rewriting of it. The secret is another one, or the body was changed after it was signed. Sign the very bytes you send, with the secret shown when the app was issued or last rotated.",
  received:
    "The body checked here has {0} bytes; their SHA-256 is {1}. Compare both with a file of what you signed, and with a file of what you sent: wc -c < body.json and sha256sum body.json (Windows: certutil -hashfile body.json SHA256). The place where they first differ is where the body was changed. If all are the same, the secret is another one: have it rotated.",
  received_lf:
    "The body checked here has {0} bytes; their SHA-256 is {1}. A form cannot keep line ends, so this is with LF (\\n). Compare both with a file of what you signed, and with a file of what you sent: wc -c < body.json and sha256sum body.json (Windows: certutil -hashfile body.json SHA256). The place where they first differ is where the body was changed. If all are the same, the secret is another one: have it rotated.",
  not_rewritten: "Rewritings were not tried: the body is over 64 KiB or nested over 32 levels deep.",
} as const;

export const DIAGNOSIS_TEXTS: readonly string[] = Object.values(WORDS);

const finding = (name: keyof typeof WORDS, ...values: NonNullable<Finding["values"]>): Finding => ({
  name,
  words: WORDS[name],
  values,
});

/**
 * Finds out why a signature is refused: tries the usual mistakes of callers, one at a time, until one gives this signature. Changes
 * nothing.
 *
 * @param secrets    the app's secrets, the current one first; then those of other apps
 * @param documented the names of the fields, in the order of the documentation
 * @param now        Unix seconds
 */
export async function diagnoseSignature(
  pasted: PastedSignature,
  secrets: readonly TriedSecret[],
  documented: readonly string[],
  now: number,
): Promise<SignatureDiagnosis> {
  const signature = readSignature(pasted.signature);
  const ownSecrets = secrets.filter(({ slot }) => slot !== "other_app");
  const body = pastedBody(pasted.body, pasted);
  const match = signature.bytes && (await findMatch(body, pasted.appid, signature.bytes, secrets, documented));
  const exact = signature.mistakes.length === 0 && match !== undefined && isAsSent(match);
  const valid = exact && match.expiresAt > now;
  const diagnosis = { signature, match, exact, valid };
  if (match !== undefined) return { ...diagnosis, findings: matchFindings(signature, match, valid, now) };
  const digits = signature.digits ?? (signature.bytes && toHex(signature.bytes));
  if (digits === undefined) return { ...diagnosis, findings: signature.findings };
  const instead = await findOther(digits, pasted.body, ownSecrets);
  const notRewritten = isTooMuchToRewrite(pasted.body);
  // The last finding says that the number of digits is wrong. `instead` says more than that.
  const form = instead && signature.digits ? signature.findings.slice(0, -1) : signature.findings;
  const findings = [
    ...form,
    ...(instead ? [instead] : signature.bytes ? [finding("no_match"), await receivedOf(body)] : []),
  ];
  if (notRewritten) findings.push(finding("not_rewritten"));
  return { ...diagnosis, findings, ...(instead && { instead: instead.name }), ...(notRewritten && { notRewritten }) };
}

/** What the caller can compare when no cause was found. */
async function receivedOf(body: PastedBody): Promise<Finding> {
  const [{ text, bytes = encode(text), lineEnds }] = asPasted(body);
  return finding(lineEnds ? "received_lf" : "received", bytes.length, await hashHex("SHA-256", bytes));
}

const isAsSent = ({ body, key, slot }: SignatureMatch) =>
  body.finding === undefined && key === undefined && slot !== "other_app";

async function findMatch(
  body: PastedBody,
  appid: string | undefined,
  signature: Bytes,
  secrets: readonly TriedSecret[],
  documented: readonly string[],
): Promise<SignatureMatch | undefined> {
  const keys: (TriedSecret & { hmac: CryptoKey })[] = [];
  for (const each of secrets) keys.push({ ...each, hmac: await importHmac(encode(each.secret)) });
  const ownKeys = keys.filter(({ slot }) => slot !== "other_app");
  const fits = (hmac: CryptoKey, { text, bytes }: BodyVariant) =>
    crypto.subtle.verify("HMAC", hmac, signature, bytes ?? encode(text));
  const firstMatch = async (bodies: Iterable<BodyVariant>, tried: typeof keys): Promise<SignatureMatch | undefined> => {
    for (const variant of bodies) {
      for (const { hmac, slot, appid, expiresAt } of tried) {
        if (await fits(hmac, variant)) return { body: variant, slot, appid, expiresAt };
      }
    }
    return undefined;
  };
  const pastedBodies = asPasted(body);
  const sentAppid = appid ?? appidOf(body);
  const ownMatch = (await firstMatch(pastedBodies, keys)) ?? (await firstMatch(otherBodies(body), ownKeys));
  if (ownMatch !== undefined) return ownMatch;
  for (const { secret, slot, appid, expiresAt } of ownKeys) {
    for (const { bytes, finding: key } of keyVariants(secret, sentAppid)) {
      const hmac = await importHmac(bytes);
      for (const variant of pastedBodies) {
        if (await fits(hmac, variant)) return { body: variant, slot, appid, expiresAt, key };
      }
    }
  }
  for (const key of ownKeys) {
    const withSecret = await firstMatch(bodiesWithSecret(body, key.secret), [key]);
    if (withSecret !== undefined) return withSecret;
  }
  return firstMatch(rewrittenBodies(body, documented), ownKeys);
}

function appidOf({ tree }: PastedBody): string {
  const value = tree?.members.findLast(({ key }) => key.value === "appid")?.value;
  return value?.kind === "string" ? value.value : "";
}

/** The findings of a match: the form of the signature, the secret, the key, the body. */
function matchFindings(signature: ReadSignature, match: SignatureMatch, valid: boolean, now: number): Finding[] {
  const { body, slot, appid, expiresAt, key } = match;
  const findings = [...signature.findings];
  if (valid) findings.push(finding("valid"));
  if (slot === "other_app") findings.push(finding("other_app", appid ?? ""));
  if (slot === "previous")
    findings.push(finding(expiresAt > now ? "previous_valid" : "previous_ended", { at: expiresAt }));
  if (key !== undefined) findings.push(key);
  if (body.finding !== undefined) findings.push(body.finding);
  const ends = lineEndsOf(body);
  if (ends !== undefined) findings.push(finding("line_ends_depend", ends.fits, ends.other));
  return findings;
}

/** The line ends that fit the signature. The pasted text does not show them, because a browser's form turns all into CRLF. */
export function lineEndsOf({ lineEnds, text }: BodyVariant) {
  if (lineEnds === undefined || !/[\r\n]/.test(text)) return undefined;
  if (lineEnds === "cr") return { fits: CR, other: LF };
  return lineEnds === "lf" ? { fits: LF, other: CRLF } : { fits: CRLF, other: LF };
}
