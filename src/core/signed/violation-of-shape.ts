import type { BrokenRule } from "../fields.ts";
import type { Violation } from "../rules.ts";
import { sentAs } from "../sent-as.ts";

const SIGNATURE_SHAPE = /^[0-9a-f]{64}$/i;
const PREFIX = /^(?:hmac[-_ ]?)?sha-?256[=: ] *|^0x/i;
/** Base64 of the 32 bytes, or of the 64 hex digits. */
const BASE64 = /^(?:[\w+/-]{43}=?|[\w+/-]{86}(?:==)?)$/;

/**
 * What is wrong with the form of a signature. Undefined for 64 hex digits, right or wrong. The violation depends only on the header and
 * quotes nothing of it, so every caller may read it before the signature is verified.
 */
export function violationOfShape(signature: string | undefined): Violation | undefined {
  if (signature !== undefined && SIGNATURE_SHAPE.test(signature)) return undefined;
  return { field: "x-chat-signature", ...brokenBy(signature) };
}

function brokenBy(signature: string | undefined): BrokenRule {
  if (signature === undefined || signature === "") return { rule: "required" };
  if (/^[0-9a-f]+$/i.test(signature)) return { rule: "signature_length", values: [signature.length] };
  // Before the prefixes, because base64 may begin with 0x.
  if (BASE64.test(signature)) return { rule: "signature_base64" };
  const [prefix] = PREFIX.exec(signature) ?? [];
  if (prefix !== undefined) return { rule: "signature_prefix", values: [prefix.startsWith("0") ? "0x" : "sha256="] };
  return { rule: "signature_characters", ...sentAs("signature_characters", signature) };
}
