import { runAs, type Scheduler } from "../../machine/scheduler.ts";
import type { Call } from "../call.ts";
import type { Reply } from "./moods.ts";

const NULL_BODY = [101, 204, 205, 304];

/**
 * The response of the Worker's fetch: status, headers, and a body that arrives chunk by chunk while it is read, until
 * it is cancelled or the signal aborts.
 */
export function responseOf(
  { status, headers, body }: Reply,
  scheduler: Scheduler,
  call: Call,
  signal: AbortSignal | undefined,
): Response {
  if (NULL_BODY.includes(status)) return new Response(null, { status, headers });
  const encoder = new TextEncoder();
  let next = 0;
  let isOver = false;
  const pieces = new ReadableStream({
    type: "bytes",
    start(controller) {
      const abort = () => {
        if (!isOver) controller.error(signal?.reason);
        isOver = true;
      };
      signal?.addEventListener("abort", abort, { once: true });
    },
    cancel() {
      isOver = true;
    },
    pull(controller) {
      const give = () => {
        const piece = body.isEndless ? body.pieces[next++ % body.pieces.length] : body.pieces[next++];
        if (piece === undefined) {
          isOver = true;
          controller.close();
          controller.byobRequest?.respond(0);
        } else controller.enqueue(encoder.encode(piece));
      };
      if (body.everyMs === 0) return give();
      return new Promise<void>((resolve) => {
        scheduler.after(body.everyMs, () => {
          if (!call.alive || isOver) return;
          runAs(call, () => {
            give();
            resolve();
          });
        });
      });
    },
  });
  return new Response(pieces, { status, headers });
}
