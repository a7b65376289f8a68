import { MODELS } from "../../operations/index.ts";
import type { Call, Wire } from "../call.ts";
import type { Attacker } from "./attacker.ts";

type Twist = (wire: Wire, attacker: Attacker) => Wire;

const without = (headers: Record<string, string>, name: string) =>
  Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name));
const header = (name: string, value: string | undefined): Twist => {
  return (wire) => ({
    ...wire,
    headers: { ...without(wire.headers, name), ...(value !== undefined && { [name]: value }) },
  });
};
const body = (change: (text: string, attacker: Attacker) => string): Twist => {
  return (wire, attacker) => ({ ...wire, body: change(wire.body, attacker) });
};
const signature = (change: (hex: string) => string): Twist => {
  return (wire) => ({
    ...wire,
    headers: { ...wire.headers, "x-chat-signature": change(wire.headers["x-chat-signature"] ?? "") },
  });
};

/** The first ones leave the signature valid, so the request may be accepted as its original. */
const LIKELY: Record<string, Twist> = {
  "key of an order": (wire, { chance }) =>
    header("idempotency-key", `key-${chance.integer(1, 40)}`)(wire, undefined as never),
  "no key": header("idempotency-key", undefined),
  "key of another": (wire, attacker) =>
    header("idempotency-key", attacker.captured()?.wire.headers["idempotency-key"])(wire, attacker),
  "path of any operation": (wire, { chance }) => ({ ...wire, path: `/openapi/chat/${chance.one(MODELS).wireName}` }),
  "signature in capitals": signature((hex) => hex.toUpperCase()),
  "signature with one capital": signature((hex) => hex.replace(/[a-f]/, (digit) => digit.toUpperCase())),
  "content type in other words": header("content-type", "Application/JSON; charset=utf-8"),
  "x-request-id": header("x-request-id", "made-up"),
  "key of two words": header("idempotency-key", "two words"),
  "key too long": header("idempotency-key", "k".repeat(256)),
  // The longest Idempotency-Key. It may have been used for another request before.
  "longest key": header("idempotency-key", "k".repeat(255)),
};

const UNLIKELY: Record<string, Twist> = {
  "space at the end": body((text) => `${text} `),
  "space inside": body((text) => text.replace(":", ": ")),
  "one bit": body((text, { chance }) => {
    const at = chance.integer(1, text.length - 2);
    return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
  }),
  "another ranstr": body((text) => text.replace(/"ranstr":"/, '"ranstr":"0')),
  "another timestamp": body((text) =>
    text.replace(/"timestamp":(\d+)/, (_, seconds) => `"timestamp":${Number(seconds) + 1}`),
  ),
  "two appids": body((text) => `{"appid":"another",${text.slice(1)}`),
  "two customers": body((text) => `${text.slice(0, -1)},"sbs":"customer_1"}`),
  "fields turned round": body((text) =>
    JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text) as object).reverse())),
  ),
  "far too long": body((text) => `${text}${" ".repeat(65_537)}`),
  "as long as allowed": body((text) => text + " ".repeat(Math.max(0, 65_536 - Buffer.byteLength(text)))),
  "one byte too long": body((text) => text + " ".repeat(Math.max(0, 65_537 - Buffer.byteLength(text)))),
  "last byte missing": body((text) => text.slice(0, -1)),
  "in a list": body((text) => `[${text}]`),
  "byte order mark": body((text) => `\ufeff${text}`),
  "no appid": body((text) => text.replace(/"appid":"[^"]*",?/, "")),
  "open bracket": body(() => "["),
  null: body(() => "null"),
  "no body": body(() => ""),
  deep: body(() => "[".repeat(30_000)),
  "signature too short": signature((hex) => hex.slice(0, -1)),
  "signature too long": signature((hex) => `0${hex}`),
  "signature turned round": signature((hex) => hex.split("").reverse().join("")),
  "empty signature": signature(() => ""),
  "no signature": header("x-chat-signature", undefined),
  text: header("content-type", "text/plain"),
  jsonp: header("content-type", "application/jsonp"),
  "no content type": header("content-type", undefined),
  "encoding identity": header("content-encoding", "identity"),
  "encoding gzip": header("content-encoding", "gzip"),
};

export const TWISTS = { ...LIKELY, ...UNLIKELY };

/** A captured request with one change. In half of the cases its signature stays valid. */
export function twist(attacker: Attacker, { wire }: Call): Wire {
  const { chance, world } = attacker;
  const name = chance.one(Object.keys(chance.happens(0.5) ? LIKELY : UNLIKELY));
  world.count(`twist: ${name}`);
  return (TWISTS[name] as Twist)(wire, attacker);
}
