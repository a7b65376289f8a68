import { Webhook } from "standardwebhooks";
import { vi } from "vitest";
import { DRILL_CASE_NAMES, type DrillCaseName } from "../../src/operators/services/drill-webhook.ts";

/** A post as its receiver gets it. */
export interface DrillPost {
  url: string;
  headers: Headers;
  body: string;
}

/** The parts of a receiver that can be wrong. The statuses are those that it answers; null gives no answer. */
interface Parts {
  /** Seconds that a timestamp may be away from its clock. */
  window: number;
  /** Whether the signatures of the header are those that it expects. */
  verifies: (signatures: string[], expected: string) => boolean;
  /** The body that it verifies. */
  verified: (body: string) => string;
  secret: (own: string) => string;
  taken: number | null;
  repeated: number | null;
  refused: number | null;
}

const RIGHT: Parts = {
  window: 300,
  verifies: (signatures, expected) => signatures.includes(expected),
  verified: (body) => body,
  secret: (own) => own,
  taken: 204,
  repeated: 204,
  refused: 400,
};

const [TAKEN, REFUSED]: [DrillCaseName[], DrillCaseName[]] = [
  ["good", "twice", "previous_secret"],
  ["forged", "stale", "altered"],
];

/** Receivers with one fault each, the cases that each must fail, and what the console says of it. */
export const FAULTY_RECEIVERS: Record<string, { parts: Partial<Parts>; fails: DrillCaseName[]; says: RegExp[] }> = {
  "answers 2xx to everything": {
    parts: { refused: 204 },
    fails: REFUSED,
    says: [/It accepted a forged event/, /It accepted an event that is 10 minutes old/, /It accepted a body/],
  },
  "verifies no signature": {
    parts: { verifies: () => true },
    fails: ["forged", "altered"],
    says: [/It accepted a forged event: it does not verify/, /It accepted a body that was changed/],
  },
  "looks only whether a signature is there": {
    parts: { verifies: (signatures) => signatures.every((each) => each.startsWith("v1,")) },
    fails: ["forged", "altered"],
    says: [/It accepted a forged event/, /It accepted a body/],
  },
  "has no window for timestamps": {
    parts: { window: Number.POSITIVE_INFINITY },
    fails: ["stale"],
    says: [/It accepted an event that is 10 minutes old: it does not compare webhook-timestamp/],
  },
  "has a window of an hour": {
    parts: { window: 3_600 },
    fails: ["stale"],
    says: [/It accepted an event that is 10 minutes old/],
  },
  "verifies a body that it has written anew": {
    parts: { verified: (body) => JSON.stringify(JSON.parse(body)) },
    fails: ["altered"],
    says: [/It accepted a body that was changed after it was signed: it verifies not the raw body/],
  },
  "verifies the body without its blanks": {
    parts: { verified: (body) => body.replaceAll(" ", "") },
    fails: ["altered"],
    says: [/It accepted a body/],
  },
  "verifies the body without the blanks around it": {
    parts: { verified: (body) => body.trim() },
    fails: ["altered"],
    says: [/It accepted a body that was changed after it was signed/],
  },
  "compares only the first half of a signature": {
    parts: { verifies: (signatures, expected) => signatures.some((each) => each.startsWith(expected.slice(0, 25))) },
    fails: ["forged"],
    says: [/It accepted a forged event/],
  },
  "reads the first signature alone": {
    parts: { verifies: ([first], expected) => first === expected },
    fails: ["previous_secret"],
    says: [/It refused an event whose second signature is right: it reads only one of them/],
  },
  "reads the last signature alone": {
    parts: { verifies: (signatures, expected) => signatures.at(-1) === expected },
    fails: ["previous_secret"],
    says: [/It refused an event whose second signature is right: it reads only one of them/],
  },
  "compares signatures in any case": {
    parts: {
      verifies: (signatures, expected) => signatures.some((each) => each.toUpperCase() === expected.toUpperCase()),
    },
    fails: ["forged"],
    says: [/It accepted a forged event/],
  },
  "takes the header for one signature": {
    parts: { verifies: (signatures, expected) => signatures.join(" ") === expected },
    fails: ["previous_secret"],
    says: [/It refused an event whose second signature is right/],
  },
  "answers 500 to a repeated event": {
    parts: { repeated: 500 },
    fails: ["twice"],
    says: [/It did not take an event that came twice: it must answer it with a 2xx again/],
  },
  "answers 409 to a repeated event": {
    parts: { repeated: 409 },
    fails: ["twice"],
    says: [/It did not take an event that came twice/],
  },
  "answers 500 to what it must refuse": {
    parts: { refused: 500 },
    fails: REFUSED,
    says: [/It answered 500 to what it must refuse: only a 4xx/],
  },
  "redirects what it must refuse": {
    parts: { refused: 302 },
    fails: REFUSED,
    says: [/It answered 302 to what it must refuse/],
  },
  "redirects everything": {
    parts: { taken: 301, repeated: 301, refused: 301 },
    fails: DRILL_CASE_NAMES,
    says: [/It did not take a good event/, /It answered 301 to what it must refuse/],
  },
  "has another secret": {
    parts: { secret: () => `whsec_${btoa("another secret of 32 characters!")}` },
    fails: TAKEN,
    says: [/It did not take a good event: it has another secret/],
  },
  "compares the signature without its prefix": {
    parts: { verifies: (signatures, expected) => signatures.includes(expected.replace("v1,", "")) },
    fails: TAKEN,
    says: [/It did not take a good event/],
  },
  "takes the timestamp for milliseconds": {
    parts: { window: -1 },
    fails: TAKEN,
    says: [/It did not take a good event/],
  },
  "is not at the path": {
    parts: { taken: 404, repeated: 404, refused: 404 },
    fails: TAKEN,
    says: [/It did not take a good event/],
  },
  "gives no answer": {
    parts: { taken: null, repeated: null, refused: null },
    fails: DRILL_CASE_NAMES,
    says: [/It gave no answer, or none within 15 s/],
  },
};

/** Puts a receiver in place of the network. @returns what it gets, and how often it acted on an event */
export function receive(
  { secret: own, now }: { secret: string; now: () => number },
  fault: Partial<Parts> = {},
): { posts: DrillPost[]; acted: string[] } {
  const parts = { ...RIGHT, ...fault };
  const posts: DrillPost[] = [];
  const acted: string[] = [];
  const statusFor = ({ headers, body }: DrillPost) => {
    const [id, timestamp, signature] = ["id", "timestamp", "signature"].map((each) => headers.get(`webhook-${each}`));
    const at = Number(timestamp);
    const expected = new Webhook(parts.secret(own)).sign(id ?? "", new Date(at * 1000), parts.verified(body));
    const isFresh = Math.abs(now() - at) <= parts.window;
    if (!isFresh || !parts.verifies(signature?.split(" ") ?? [], expected)) return parts.refused;
    if (acted.includes(id ?? "")) return parts.repeated;
    acted.push(id ?? "");
    return parts.taken;
  };
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const post = { url, headers: new Headers(init.headers), body: String(init.body) };
    posts.push(post);
    const status = statusFor(post);
    if (status === null) throw new TypeError("Network connection lost.");
    return new Response(null, { status });
  });
  return { posts, acted };
}
