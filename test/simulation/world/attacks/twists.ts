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

/** The first ones leave the signature valid, and so the request may be taken for its original. */
const LIKELY: Twist[] = [
  (wire, { chance }) => header("idempotency-key", `key-${chance.integer(1, 40)}`)(wire, undefined as never),
  header("idempotency-key", undefined),
  (wire, attacker) => header("idempotency-key", attacker.captured()?.wire.headers["idempotency-key"])(wire, attacker),
  (wire, { chance }) => ({ ...wire, path: `/openapi/chat/${chance.one(MODELS).wireName}` }),
  signature((hex) => hex.toUpperCase()),
  signature((hex) => hex.replace(/[a-f]/, (digit) => digit.toUpperCase())),
  header("content-type", "Application/JSON; charset=utf-8"),
  header("x-request-id", "made-up"),
  header("idempotency-key", "two words"),
  header("idempotency-key", "k".repeat(256)),
  // The longest, now and then of another meaning than before.
  header("idempotency-key", "k".repeat(255)),
];

const UNLIKELY: Twist[] = [
  body((text) => `${text} `),
  body((text) => text.replace(":", ": ")),
  body((text, { chance }) => {
    const at = chance.integer(1, text.length - 2);
    return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
  }),
  body((text) => text.replace(/"ranstr":"/, '"ranstr":"0')),
  body((text) => text.replace(/"timestamp":(\d+)/, (_, stamp) => `"timestamp":${Number(stamp) + 1}`)),
  body((text) => `{"appid":"another",${text.slice(1)}`),
  body((text) => `${text.slice(0, -1)},"sbs":"customer_1"}`),
  body((text) => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text) as object).reverse()))),
  body((text) => `${text}${" ".repeat(65_537)}`),
  body((text) => text + " ".repeat(Math.max(0, 65_536 - Buffer.byteLength(text)))),
  body((text) => text + " ".repeat(Math.max(0, 65_537 - Buffer.byteLength(text)))),
  body((text) => text.slice(0, -1)),
  body((text) => `[${text}]`),
  body((text) => `\ufeff${text}`),
  body((text) => text.replace(/"appid":"[^"]*",?/, "")),
  body(() => "["),
  body(() => "null"),
  body(() => ""),
  body(() => "[".repeat(30_000)),
  signature((hex) => hex.slice(0, -1)),
  signature((hex) => `0${hex}`),
  signature((hex) => hex.split("").reverse().join("")),
  signature(() => ""),
  header("x-chat-signature", undefined),
  header("content-type", "text/plain"),
  header("content-type", "application/jsonp"),
  header("content-type", undefined),
  header("content-encoding", "identity"),
  header("content-encoding", "gzip"),
];

/** A captured request with one thing changed, once in two so that its signature stays valid. */
export function twist(attacker: Attacker, { wire }: Call): Wire {
  const { chance } = attacker;
  return chance.one(chance.happens(0.5) ? LIKELY : UNLIKELY)(wire, attacker);
}
