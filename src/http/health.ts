import type { Handler } from "hono";
import type { Config } from "../config.ts";
import { MAIN_HOME } from "../homes.ts";
import { type Runtime, sleep } from "../runtime.ts";
import { inItsTurn, inTurns } from "../services/ask-homes.ts";
import { probeHome } from "../store/home/sites.ts";
import { type App, configOf } from "./request-context.ts";

const CACHED_MS = 5_000;
/** Milliseconds for one answer, from its turn on, and for all answers. A home without a turn in this time is `down`. */
const TURN_MS = 2_000;
const ALL_TURNS_MS = 2 * TURN_MS;
/** A probe that takes longer was cancelled with its request. Then another request starts a new probe. */
const PROBE_MS = ALL_TURNS_MS + 500;
const POLL_MS = 20;

type State = "ok" | "down";

interface Health {
  status: "ok" | "degraded" | "down";
  directory: State;
  /** By the name of the home. `main` is the directory's own database. */
  homes: Record<string, State>;
  /** `down` also when a namespace is not bound. */
  kv: State;
}

/**
 * GET /healthz: asks every home and both KV namespaces, five at a time. An isolate asks at most every 5 s. Answers 503 only when the
 * directory is silent. One request probes; the others poll for its result, because a request may not await another request's promise.
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

/** Asks the directory first, because its answer decides the status; then KV and the other homes. */
async function probe(runtime: Runtime, { homes, nonces, credentials }: Config): Promise<Health> {
  const probes: { home?: string; call: () => Promise<void> }[] = [...homes].map(([home, db]) => ({
    home,
    call: () => probeHome(db),
  }));
  probes.splice(1, 0, { call: () => ask(nonces) }, { call: () => ask(credentials) });
  const answerBy = runtime.elapsed() + ALL_TURNS_MS;
  const states = await inTurns(probes, async ({ home, call }) => ({
    home,
    state: await stateOf(runtime, answerBy, call),
  }));
  const byHome: Record<string, State> = {};
  let kv: State = "ok";
  for (const { home, state } of states) {
    if (home !== undefined) byHome[home] = state;
    else if (state === "down") kv = "down";
  }
  const directory = byHome[MAIN_HOME] ?? "down";
  const isWhole = states.every(({ state }) => state === "ok");
  return { status: directory === "down" ? "down" : isWhole ? "ok" : "degraded", directory, homes: byHome, kv };
}

async function ask(namespace: KVNamespace | undefined): Promise<void> {
  if (namespace === undefined) throw new Error("not bound");
  await namespace.get("healthz");
}

function stateOf(runtime: Runtime, answerBy: number, call: () => Promise<unknown>): Promise<State> {
  const ok = async () => {
    await call();
    return "ok" as const;
  };
  return inItsTurn(runtime, TURN_MS, answerBy, ok, () => "down" as const).catch(() => "down" as const);
}
