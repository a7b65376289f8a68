import { type Runtime, unixSeconds, withinTime } from "../runtime.ts";
import { readRetryAfter } from "./schedule.ts";

/** How long a receiver may take to answer. */
export const POST_LIMIT_MS = 15_000;

const ERROR_BODY_BYTES = 1_024;
const ERROR_CHARACTERS = 200;

const REDIRECTS = [301, 302, 303, 307, 308];

/** The result of a post. */
export interface Answer {
  /** The HTTP status; null without an answer. */
  status: number | null;
  /** Why the attempt failed; null when it succeeded. Never log it, because it may hold text of the receiver. */
  error: string | null;
  /** The seconds of the receiver's Retry-After. */
  retryAfter?: number | undefined;
}

/**
 * Posts JSON. Reads the first kilobyte of the answer when the post failed, and nothing of it when the post succeeded. Never
 * rejects.
 */
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
    // Ends the connection, even while the answer is still arriving.
    abort.abort();
  }
}

/** The start of the receiver's answer, as plain text on one line. Stops at the timeout with the text that has arrived. */
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
    // The connection broke. The text that has arrived is enough.
  }
  const plain = text.replace(/[\p{C}\s]+/gu, " ").trim();
  return [...plain].slice(0, ERROR_CHARACTERS).join("");
}
