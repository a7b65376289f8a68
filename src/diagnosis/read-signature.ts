/** What is wrong with the form of a pasted signature. The right form is 64 hex digits. */
export type SignatureFault = "missing" | "prefix" | "quoted" | "base64" | "base64_of_hex" | "length" | "unreadable";

export interface ReadSignature {
  /** Empty when the server accepts the form. */
  faults: SignatureFault[];
  /** The 32 bytes that the sender meant; undefined when they cannot be read. */
  bytes?: Uint8Array<ArrayBuffer>;
  /** The number of hex digits, when only that number is wrong. */
  hexDigits?: number;
}

/** Reads a signature as its sender may have meant it. Blanks around it are no fault, because HTTP removes them from headers. */
export function readSignature(pasted: string): ReadSignature {
  const faults: SignatureFault[] = [];
  let text = pasted.trim();
  if (text === "") return { faults: ["missing"] };
  const bare = text.replace(/^["'](.*)["']$/, "$1");
  if (bare !== text) faults.push("quoted");
  text = bare.replace(/^(hmac[-_ ]?)?sha-?256[=: ]\s*/i, "");
  if (text !== bare) faults.push("prefix");
  if (isHex(text)) return { faults, bytes: Uint8Array.fromHex(text) };
  if (/^[0-9a-f]+$/i.test(text)) return { faults: [...faults, "length"], hexDigits: text.length };
  const decoded = fromBase64(text);
  if (decoded?.length === 32) return { faults: [...faults, "base64"], bytes: decoded };
  const hex = decoded === undefined ? "" : new TextDecoder().decode(decoded);
  if (isHex(hex)) return { faults: [...faults, "base64_of_hex"], bytes: Uint8Array.fromHex(hex) };
  return { faults: [...faults, "unreadable"] };
}

const isHex = (text: string) => /^[0-9a-f]{64}$/i.test(text);

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
}
