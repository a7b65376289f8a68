import { type Runtime, unixSeconds, withinTime } from "../core/runtime.ts";
import type { FailureCause } from "../core/store/event-schema.ts";
import { failureText } from "./failure-text.ts";
import { readRetryAfter } from "./schedule.ts";

/** How long a receiver may take to answer. */
export const POST_LIMIT_MS = 15_000;

const ERROR_BODY_BYTES = 1_024;
const ERROR_CHARACTERS = 200;

/** How many bytes of a success's body are read, and for how long, before the connection ends. */
const DRAIN_BYTES = 4_096;
const DRAIN_LIMIT_MS = 1_000;

const REDIRECTS = [301, 302, 303, 307, 308];

export interface Answer {
  /** The HTTP status; null without an answer. */
  status: number | null;
  /** Why the attempt failed; null when it succeeded. Never log it, because it may hold text of the receiver. */
  error: string | null;
  /** The cause in words of the service. Null also when nothing was posted. */
  cause: FailureCause | null;
  /** Whole milliseconds from the start of the post to the headers of its answer, or to its failure; null when nothing was posted. */
  durationMs: number | null;
  /** The seconds of the receiver's Retry-After. */
  retryAfter?: number | undefined;
}

/** A failed post, only in words of the service. @param status of the answer; null without one */
export function causeText(cause: FailureCause, status: number | null): string {
  if (cause === "no_answer") return `no answer in ${POST_LIMIT_MS / 1000} s`;
  if (cause === "no_connection" || status === null) return "no connection";
  return REDIRECTS.includes(status) ? "redirects are not followed" : failureText(status, "");
}

/**
 * Posts JSON. When the post failed, it reads the first kilobyte of the answer. When the post succeeded, it reads up to 4 KB for up to a
 * second, because a receiver that is cut off while it answers may stop its work. Never rejects.
 */
export async function post(
  runtime: Runtime,
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<Answer> {
  const abort = new AbortController();
  const began = runtime.elapsed();
  const elapsed = () => runtime.elapsed() - began;
  const msLeft = () => Math.max(0, POST_LIMIT_MS - elapsed());
  const noAnswer = (cause: FailureCause) => {
    return { status: null, error: causeText(cause, null), cause, durationMs: Math.round(elapsed()) };
  };
  const allHeaders = { "content-type": "application/json", "user-agent": "agent-session-webhooks/1", ...headers };
  const request = { method: "POST", headers: allHeaders, body, redirect: "manual", signal: abort.signal } as const;
  try {
    const response = await withinTime(
      runtime,
      msLeft(),
      () => fetch(url, request),
      () => undefined,
    );
    if (response === undefined) return noAnswer("no_answer");
    const durationMs = Math.round(elapsed());
    const { status } = response;
    if (response.ok) {
      const until = Math.min(elapsed() + DRAIN_LIMIT_MS, POST_LIMIT_MS);
      await readStart(runtime, response, DRAIN_BYTES, () => Math.max(0, until - elapsed()));
      return { status, error: null, cause: null, durationMs };
    }
    const retryAfter = readRetryAfter(response.headers.get("retry-after"), unixSeconds(runtime));
    const failed = { status, cause: "status" as const, durationMs, retryAfter };
    if (REDIRECTS.includes(status)) return { ...failed, error: causeText("status", status) };
    const bodyText = onOneLine(withoutPath(await readStart(runtime, response, ERROR_BODY_BYTES, msLeft), url));
    return { ...failed, error: failureText(status, bodyText) };
  } catch {
    return noAnswer("no_connection");
  } finally {
    // Ends the connection, even while the answer is still arriving.
    abort.abort();
  }
}

/**
 * The first bytes of an answer's body as text. Reading ends when they are complete, when `msLeft` has passed, or when the connection
 * breaks.
 *
 * @param msLeft the milliseconds that are left
 */
async function readStart(runtime: Runtime, { body }: Response, most: number, msLeft: () => number): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  let text = "";
  let bytes = 0;
  try {
    while (reader !== undefined && bytes < most) {
      const chunk = await withinTime(
        runtime,
        msLeft(),
        () => reader.read(),
        () => undefined,
      );
      if (chunk?.value === undefined) break;
      text += decoder.decode(chunk.value.subarray(0, most - bytes), { stream: true });
      bytes += chunk.value.length;
    }
  } catch {
    // The connection broke. The text that has arrived is enough.
  }
  return text;
}

/**
 * A receiver's text without the path and the query of its URL. Many receivers quote them in a 404 ("Cannot POST /in/…"). They may hold a
 * token that not every reader of deliveries may see.
 */
function withoutPath(bodyText: string, url: string): string {
  const { pathname, search } = new URL(url);
  const quoted = [
    `${pathname}${search}`,
    `${pathname}${search.replaceAll("&", "&amp;")}`,
    pathname,
    decodedPath(pathname),
    search,
  ];
  return quoted.filter((each) => each.length > 1).reduce((text, each) => text.replaceAll(each, "…"), bodyText);
}

function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Plain text on one line. */
const onOneLine = (text: string): string =>
  [...text.replace(/[\p{C}\s]+/gu, " ").trim()].slice(0, ERROR_CHARACTERS).join("");
