const RIGHT = /^[0-9a-f]{64}$/i;
const PREFIX = /^(?:hmac[-_ ]?)?sha-?256[=: ] *|^0x/i;
/** Base64 of the 32 bytes, or of the 64 hex digits. */
const BASE64 = /^(?:[\w+/-]{43}=?|[\w+/-]{86}(?:==)?)$/;

/**
 * What is wrong with the form of a signature, for `x-error-detail`. Undefined for 64 hex digits, right or wrong. The text depends
 * only on the header and quotes nothing of it, so every caller may read it before the signature is verified.
 */
export function describeShape(signature: string | undefined): string | undefined {
  if (signature === undefined || signature === "") return "x-chat-signature: is required";
  return RIGHT.test(signature) ? undefined : `x-chat-signature: must be 64 hex digits, ${faultOf(signature)}`;
}

function faultOf(signature: string): string {
  const [prefix] = PREFIX.exec(signature) ?? [];
  if (prefix !== undefined) return `without a prefix such as ${prefix.startsWith("0") ? "0x" : "sha256="}`;
  if (/^[0-9a-f]+$/i.test(signature)) return `not ${signature.length}`;
  return BASE64.test(signature) ? "not base64" : "without other characters";
}
