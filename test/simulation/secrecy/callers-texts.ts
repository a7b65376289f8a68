import type { WireRequest } from "../world/call.ts";

/** A shorter text may occur in a log or an answer by chance. */
const SHORTEST = 4;

/** Headers with texts of the caller. */
const HEADERS = ["idempotency-key", "x-chat-signature", "x-request-id"];

/** The texts that a caller has put into a call, without the appid. Numbers are left out, even in quotes. */
export function callersTexts({ headers, body }: WireRequest): Set<string> {
  const texts = new Set<string>(HEADERS.map((name) => headers[name] ?? ""));
  const add = (value: unknown, isField: boolean) => {
    if (typeof value === "string") texts.add(value);
    if (typeof value !== "object" || value === null) return;
    for (const [name, each] of Object.entries(value)) {
      if (isField && name === "appid") continue;
      // The names of the body's own fields come from the contract.
      if (!isField && !Array.isArray(value)) texts.add(name);
      add(each, false);
    }
  };
  try {
    const fields: unknown = JSON.parse(body);
    for (const each of Array.isArray(fields) ? (fields as unknown[]) : [fields]) add(each, true);
  } catch {
    // A body that is not JSON has no fields.
  }
  for (const text of texts) if (text.length < SHORTEST || /^[\d\s,.-]*$/.test(text)) texts.delete(text);
  return texts;
}
