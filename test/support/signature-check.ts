import { expect } from "vitest";
import { type ConsolePage, plain } from "./console-page.ts";
import type { ConsoleVisitor } from "./console-visitor.ts";
import { type Body, hmac, type World } from "./world.ts";

/** The console's signature check: fills in its form, and reads its page. */

export type Operation = "create_gd" | "add_kf";

interface Verdict {
  /** The answer that the call got, when the page knows it, with the text below. */
  was: string | undefined;
  /** The answer that the call would get now. */
  answer: string;
  /** The text below that answer. */
  note: string;
  /** Each line of the check: its subject, its state, its text. */
  lines: Record<string, { state: string; text: string }>;
}

/** Presses "Check" with every field of the real form. */
export async function check(
  visitor: ConsoleVisitor,
  pasted: { operation?: Operation; appid?: string; body: string; signature: string },
): Promise<Verdict> {
  const page = await pressCheck(visitor, { operation: "create_gd", ...pasted });
  expect(page.status).toBe(200);
  return verdictOf(page.html);
}

/** Fills the form and presses its button. */
export async function pressCheck(
  visitor: ConsoleVisitor,
  { operation = "", appid = "", body = "", signature = "" }: { [field: string]: string },
): Promise<ConsolePage> {
  return visitor.press(await visitor.open("/console/signature-check"), "Check", {
    "Which call is it?": operation,
    appid,
    "Body, as it was sent": body,
    "Signature (x-chat-signature)": signature,
  });
}

export function verdictOf(page: string): Verdict {
  const lines = page.matchAll(
    /<li class="(?:fine|wrong)"><h2>(.*?)<span class="badge \w+">([\w ]+)<\/span><\/h2>(.*?)<\/li>/gs,
  );
  const notices = [...page.matchAll(/<section class="notice[^>]*><h2>(.*?)<\/h2>(.*?)<\/section>/gs)].reverse();
  const [now, was] = notices.map(([, title = "", text = ""]) => [plain(title), plain(text)]);
  return {
    was: was?.join(": "),
    answer: now?.[0] ?? "",
    note: now?.[1] ?? "",
    lines: Object.fromEntries(
      [...lines].map(([, about = "", state = "", text = ""]) => [plain(about), { state, text: plain(text) }]),
    ),
  };
}

export const ACCEPTS = "Sent now, the server accepts this request";
export const PARAMETERS = "Sent now, the server answers 400 参数错误";

/** Checks a signed create_gd body. */
export async function checkSigned(world: World, visitor: ConsoleVisitor, change: Body = {}): Promise<Verdict> {
  const body = JSON.stringify(world.createBody(change));
  return check(visitor, { body, signature: await hmac(world.secret, body) });
}
