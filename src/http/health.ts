import type { Handler } from "hono";
import type { Config } from "../config.ts";
import { type Runtime, sleep, withinTime } from "../runtime.ts";
import type { App } from "./request-context.ts";
import { configOf } from "./request-context.ts";

const CACHED_MS = 5_000;
const TIMEOUT_MS = 2_000;
/** A probe that takes longer was cancelled together with its request, so another request starts a new one. */
const PROBE_MS = TIMEOUT_MS + 500;
const POLL_MS = 20;

type Health = { status: "ok" | "degraded" | "down"; d1: "ok" | "down"; kv: "ok" | "down" | "absent" };

/**
 * GET /healthz: asks D1 and both KV namespaces, at most every 5 s in an isolate. 503 only when D1 does not answer.
 * One request probes. The others check with timers for its result, because a request may not await another request's promise.
 */
export function health(): Handler<App> {
  let last: { health: Health; at: number } | undefined;
  let probingSince: number | undefined;
  return async function healthz(c) {
    const config = configOf(c);
    const { runtime } = c.var.isolate;
    for (;;) {
      const now = runtime.now();
      if (last !== undefined && now >= last.at && now < last.at + CACHED_MS) break;
      if (probingSince === undefined || runtime.elapsed() >= probingSince + PROBE_MS) {
        const since = runtime.elapsed();
        probingSince = since;
        last = { health: await probe(runtime, config), at: now };
        if (probingSince === since) probingSince = undefined;
        break;
      }
      await sleep(runtime, POLL_MS);
    }
    return c.json(last.health, last.health.d1 === "ok" ? 200 : 503, { "cache-control": "no-store" });
  };
}

async function probe(runtime: Runtime, { directory, nonces, credentials }: Config): Promise<Health> {
  const [d1, ...kv] = await Promise.all([
    answers(runtime, () => directory.prepare("SELECT 1").first()),
    ...[nonces, credentials].map(async (namespace) =>
      namespace === undefined ? "absent" : answers(runtime, () => namespace.get("healthz")),
    ),
  ]);
  const worst = kv.includes("down") ? "down" : kv.includes("absent") ? "absent" : "ok";
  return { status: d1 !== "ok" ? "down" : worst === "ok" ? "ok" : "degraded", d1, kv: worst };
}

async function answers(runtime: Runtime, call: () => Promise<unknown>): Promise<"ok" | "down"> {
  const ok = async () => {
    await call();
    return "ok" as const;
  };
  return withinTime(runtime, TIMEOUT_MS, ok, () => "down" as const).catch(() => "down" as const);
}
