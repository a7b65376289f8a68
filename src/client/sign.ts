import type { OwnNames } from "./field-names.ts";

/** Signs requests. It needs only WebCrypto, so it runs on Node 20 and later, Deno, Bun and Workers. */

const encoder = new TextEncoder();

/**
 * The value of `x-chat-signature`: HMAC-SHA256 over exactly these bytes, as 64 lower-case hex digits. Text is encoded as UTF-8.
 *
 * @throws TypeError when the secret is empty or the text holds a lone surrogate, which UTF-8 cannot carry
 */
export async function sign(secret: string, body: string | Uint8Array): Promise<string> {
  if (typeof secret !== "string" || secret === "") throw new TypeError("secret: must be a string that is not empty");
  if (typeof body === "string" && !body.isWellFormed()) throw new TypeError("body: is not well-formed Unicode");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const bytes = typeof body === "string" ? encoder.encode(body) : new Uint8Array(body);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes));
  return Array.from(signature, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Serialises fields once and signs those bytes. Send `body` as it is, as UTF-8, with `signature` in `x-chat-signature`.
 * `appid`, `timestamp` (Unix seconds) and `ranstr` are added when they are missing. A field that is given as undefined is left out, even
 * one of these three. A bigint becomes a JSON integer with all its digits.
 *
 * @throws TypeError for a number that is not finite or is an integer beyond 2^53 − 1 (its digits are already lost: use a bigint), and for
 *   a value without a form in JSON
 */
export function prepare(
  app: { appid: string; secret: string },
  fields: Record<string, unknown>,
): Promise<{ body: string; signature: string }> {
  return prepareAt(Math.floor(Date.now() / 1000), app, fields, {});
}

/** {@link prepare} at a given time, in Unix seconds, with errors that name fields by `names`. */
export async function prepareAt(
  now: number,
  app: { appid: string; secret: string },
  fields: Record<string, unknown>,
  names: OwnNames,
): Promise<{ body: string; signature: string }> {
  const ownFields = { appid: app.appid, timestamp: now, ranstr: crypto.randomUUID() };
  const body = toJson({ ...ownFields, ...fields }, "", names);
  return { body, signature: await sign(app.secret, body) };
}

/** JSON.stringify() with two differences: a bigint becomes an integer, and a number that has lost digits is refused. */
function toJson(value: unknown, path: string, names: OwnNames): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError(`${path}: is not a finite number`);
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      throw new TypeError(
        `${path}: is beyond 2^53 - 1, so its digits are not certain; give it as a bigint or a string`,
      );
    }
  }
  if (Array.isArray(value)) {
    // value.map() would skip a hole and leave it empty, which is no JSON. Array.from() turns it into undefined.
    return `[${Array.from(value, (item, index) => toJson(item, `${path}[${index}]`, names)).join(",")}]`;
  }
  if (typeof value === "object" && value !== null && !("toJSON" in value)) {
    const present = Object.entries(value).filter(([, item]) => item !== undefined);
    const inside = (name: string) => (path === "" ? (names[name] ?? name) : `${path}.${name}`);
    return `{${present.map(([name, item]) => `${JSON.stringify(name)}:${toJson(item, inside(name), names)}`).join(",")}}`;
  }
  const json: string | undefined = JSON.stringify(value);
  if (json === undefined) throw new TypeError(`${path}: JSON has no form for ${typeof value}`);
  return json;
}
