import { type Runtime, unixSeconds, withinTime } from "../runtime.ts";
import { readRetryAfter } from "./schedule.ts";

/** A receiver has so long to answer. */
export const POST_LIMIT_MS = 15_000;

const ERROR_BODY_BYTES = 1_024;
const ERROR_CHARACTERS = 200;

const REDIRECTS = [301, 302, 303, 307, 308];

/** What an attempt met with. */
export interface Answer {
  /** The HTTP status; null without an answer. */
  status: number | null;
  /** Why the attempt failed; null when it succeeded. May hold what the receiver wrote: never log it. */
  error: string | null;
  /** Seconds that the receiver asks to be left alone. */
  retryAfter?: number | undefined;
}

/** Posts JSON. Of the answer to a failure the first kilobyte is read, of one to a success nothing. Never rejects. */
export async function post(
  runtime: Runtime,
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<Answer> {
  const abort = new AbortController();
  const began = runtime.elapsed();
  const left = () => Math.max(0, POST_LIMIT_MS - (runtime.elapsed() - began));
  const none = (): Answer => ({ status: null, error: `no answer in ${POST_LIMIT_MS / 1000} s` });
  const all = { "content-type": "application/json", "user-agent": "agent-session-webhooks/1", ...headers };
  const request = { method: "POST", headers: all, body, redirect: "manual", signal: abort.signal } as const;
  try {
    const response = await withinTime(runtime, left(), () => fetch(url, request), none);
    if ("error" in response) return response;
    const { status } = response;
    if (response.ok) return { status, error: null };
    const retryAfter = readRetryAfter(response.headers.get("retry-after"), unixSeconds(runtime));
    if (REDIRECTS.includes(status)) return { status, error: "redirects are not followed", retryAfter };
    const said = await startOf(runtime, response, left);
    return { status, error: `HTTP ${status}${said === "" ? "" : `: ${said}`}`, retryAfter };
  } catch {
    return { status: null, error: "no connection" };
  } finally {
    // Ends the connection, however much of the answer is still to come.
    abort.abort();
  }
}

/** The start of what a receiver wrote, as plain text on one line: as much as came in time. */
async function startOf(runtime: Runtime, { body }: Response, left: () => number): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  let text = "";
  let bytes = 0;
  try {
    while (reader !== undefined && bytes < ERROR_BODY_BYTES) {
      const chunk = await withinTime(
        runtime,
        left(),
        () => reader.read(),
        () => undefined,
      );
      if (chunk?.value === undefined) break;
      text += decoder.decode(chunk.value.subarray(0, ERROR_BODY_BYTES - bytes), { stream: true });
      bytes += chunk.value.length;
    }
  } catch {
    // The connection broke: what came is enough.
  }
  const plain = text.replace(/[\p{C}\s]+/gu, " ").trim();
  return [...plain].slice(0, ERROR_CHARACTERS).join("");
}
