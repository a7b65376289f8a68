import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { vi } from "vitest";
import type { Faults } from "./faulty-bindings.ts";
import { type Answer, hmac, type World } from "./world.ts";

/** Real milliseconds between two looks. The fake clock moves meanwhile: little while a binding works, more during a backoff. */
const LOOK_EVERY_MS = 1;
const WHILE_WORKING_MS = 5;
const IN_A_PAUSE_MS = 50;

/**
 * Waits for a request that may wait for a silent binding. Time limits of seconds pass at once. Needs fake timers (`setTimeout`,
 * `clearTimeout`, `Date`).
 */
export async function withoutWaiting<T>(work: Promise<T>, faults: Faults): Promise<T> {
  let isSettled = false;
  const onDone = () => {
    isSettled = true;
  };
  work.then(onDone, onDone);
  while (!isSettled) {
    // While all bindings are silent, nothing happens before the next timer.
    if (faults.isSilent) await vi.advanceTimersToNextTimerAsync();
    else await vi.advanceTimersByTimeAsync(faults.isWorking ? WHILE_WORKING_MS : IN_A_PAUSE_MS);
    await scheduler.wait(LOOK_EVERY_MS);
  }
  return work;
}

/** Starts a signed call. `rest` waits for its `waitUntil` work, which a silent binding delays until the faults end. */
export async function startCall(
  world: World,
  operation: "create_gd" | "add_kf",
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<{ answer: Promise<Answer>; rest: () => Promise<void> }> {
  const context = createExecutionContext();
  const text = JSON.stringify(body);
  const request = new Request(`http://worker/openapi/chat/${operation}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-chat-signature": await hmac(world.secret, text), ...headers },
    body: text,
  });
  const answer = (async () => {
    const response = await world.app.fetch(request, world.env, context);
    return { status: response.status, headers: response.headers, envelope: await response.json<Answer["envelope"]>() };
  })();
  return { answer, rest: () => waitOnExecutionContext(context) };
}
