import { expect } from "vitest";
import { type ConsolePage, plain } from "./console-page.ts";
import type { ConsoleVisitor } from "./console-visitor.ts";
import { type Body, hmac, type World } from "./world.ts";

/** Helpers for the console's signature check: they fill in its form and read its page. */

export type Operation = "create_gd" | "add_kf";

interface Pasted {
  operation?: string;
  appid?: string;
  body?: string;
  signature?: string;
  contentType?: string;
  contentEncoding?: string;
  idempotencyKey?: string;
}

interface Verdict {
  /** The answer that the call got, and the text below it. Undefined when the page does not know it. */
  pastAnswer: string | undefined;
  /** The answer that the call would get now. */
  answer: string;
  /** The text below that answer, without the cause. */
  note: string;
  /** Each line of the check: its subject, its state, its text. */
  lines: Record<string, { state: string; text: string }>;
}

/** Presses "Check" with every field of the real form. */
export async function checkSignature(
  visitor: ConsoleVisitor,
  pasted: Pasted & { operation?: Operation; body: string; signature: string },
): Promise<Verdict> {
  const page = await pressCheck(visitor, { operation: "create_gd", ...pasted });
  expect(page.status).toBe(200);
  return verdictOf(page.html);
}

/** The empty form of each visitor. It is opened only once, because a check changes nothing in it. */
const forms = new WeakMap<ConsoleVisitor, ConsolePage>();

export async function pressCheck(
  visitor: ConsoleVisitor,
  { operation = "", appid = "", body = "", signature = "", contentType, contentEncoding, idempotencyKey }: Pasted,
): Promise<ConsolePage> {
  const form = forms.get(visitor) ?? (await visitor.open("/console/signature-check"));
  forms.set(visitor, form);
  return visitor.press(form, "Check", {
    "Which call is it?": operation,
    appid,
    "Body, as it was sent": body,
    "Signature (x-chat-signature)": signature,
    ...(contentType !== undefined && { "Content-Type": contentType }),
    ...(contentEncoding !== undefined && { "Content-Encoding": contentEncoding }),
    ...(idempotencyKey !== undefined && { "Idempotency-Key": idempotencyKey }),
  });
}

export function verdictOf(page: string): Verdict {
  const steps = page.matchAll(
    /<li class="(?:fine|wrong)"><h2>(.*?)<span class="badge \w+">([\w ]+)<\/span><\/h2>(.*?)<\/li>/gs,
  );
  const lines = [...steps].map(([, about = "", state = "", text = ""]) => [plain(about), { state, text: plain(text) }]);
  const causes = page.matchAll(/<div class="cause"><h3>(.*?)<\/h3>(.*?)<\/div>/gs);
  const cause = [...causes].map(([, about = "", text = ""]) => [plain(about), { state: "Cause", text: plain(text) }]);
  const notices = [...page.matchAll(/<section class="notice[^>]*><h2>(.*?)<\/h2>(.*?)<\/section>/gs)].reverse();
  const [now, past] = notices.map(([, title = "", text = ""]) => [plain(title), text] as const);
  return {
    pastAnswer: past === undefined ? undefined : `${past[0]}: ${plain(past[1])}`,
    answer: now?.[0] ?? "",
    note: plain(now?.[1].replace(/<div class="cause">.*?<\/div>/s, "") ?? ""),
    lines: Object.fromEntries([...lines, ...cause]),
  };
}

export const ACCEPTS = "Sent now, the server accepts this request";
export const PARAMETERS = "Sent now, the server answers 400 参数错误";

export async function checkSigned(world: World, visitor: ConsoleVisitor, change: Body = {}): Promise<Verdict> {
  const body = JSON.stringify(world.createBody(change));
  return checkSignature(visitor, { body, signature: await hmac(world.secret, body) });
}
