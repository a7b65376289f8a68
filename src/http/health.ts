import type { Handler } from "hono";
import { type Config, MAIN_HOME } from "../config.ts";
import { type Runtime, sleep, withinTime } from "../runtime.ts";
import { probeHome } from "../store/home/home-sites.ts";
import type { App } from "./request-context.ts";
import { configOf } from "./request-context.ts";

const CACHED_MS = 5_000;
const TIMEOUT_MS = 2_000;
/** A probe that takes longer was cancelled together with its request, so another request starts a new one. */
const PROBE_MS = TIMEOUT_MS + 500;
const POLL_MS = 20;

type State = "ok" | "down";

interface Health {
  status: "ok" | "degraded" | "down";
  directory: State;
  /** By name. `main` is the directory's own database. */
  homes: Record<string, State>;
  /** `down` also when a namespace is not bound. */
  kv: State;
}

/**
 * GET /healthz: asks every home and both KV namespaces, at most every 5 s in an isolate. 503 only when the directory does not answer.
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
    return c.json(last.health, last.health.status === "down" ? 503 : 200, { "cache-control": "no-store" });
  };
}

async function probe(runtime: Runtime, { homes, nonces, credentials }: Config): Promise<Health> {
  const [kv, ...states] = await Promise.all([
    answers(runtime, () => Promise.all([nonces, credentials].map((namespace) => ask(namespace)))),
    ...[...homes].map(
      async ([home, db]): Promise<[string, State]> => [home, await answers(runtime, () => probeHome(db))],
    ),
  ]);
  const byHome = Object.fromEntries(states);
  const directory = byHome[MAIN_HOME] ?? "down";
  const isWhole = kv === "ok" && states.every(([, state]) => state === "ok");
  return { status: directory === "down" ? "down" : isWhole ? "ok" : "degraded", directory, homes: byHome, kv };
}

async function ask(namespace: KVNamespace | undefined): Promise<void> {
  if (namespace === undefined) throw new Error("not bound");
  await namespace.get("healthz");
}

function answers(runtime: Runtime, call: () => Promise<unknown>): Promise<State> {
  const ok = async () => {
    await call();
    return "ok" as const;
  };
  return withinTime(runtime, TIMEOUT_MS, ok, () => "down" as const).catch(() => "down" as const);
}
