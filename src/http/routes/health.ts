import type { Handler } from "hono";
import { settingsOf } from "../../env.ts";
import { withinTime } from "../../time-limit.ts";
import type { App } from "../context.ts";

const CACHED_MS = 5_000;
const PATIENCE_MS = 2_000;

type Health = { status: "ok" | "degraded" | "down"; d1: "ok" | "down"; kv: "ok" | "down" | "absent" };

/** GET /healthz: asks D1 and both KV namespaces, at most every 5 s in an isolate. 503 only when D1 does not answer. */
export function health(): Handler<App> {
  let last: { health: Health; at: number } | undefined;
  return async function healthz(c) {
    const { directory, nonces, credentials } = settingsOf(c.env);
    const now = c.var.isolate.now();
    if (last === undefined || now - last.at >= CACHED_MS || now < last.at) {
      const [d1, ...kv] = await Promise.all([
        answers(() => directory.prepare("SELECT 1").first()),
        ...[nonces, credentials].map(async (namespace) =>
          namespace === undefined ? "absent" : answers(() => namespace.get("healthz")),
        ),
      ]);
      const worst = kv.includes("down") ? "down" : kv.includes("absent") ? "absent" : "ok";
      last = { health: { status: d1 !== "ok" ? "down" : worst === "ok" ? "ok" : "degraded", d1, kv: worst }, at: now };
    }
    return c.json(last.health, last.health.d1 === "ok" ? 200 : 503, { "cache-control": "no-store" });
  };
}

async function answers(call: () => Promise<unknown>): Promise<"ok" | "down"> {
  const ok = async () => {
    await call();
    return "ok" as const;
  };
  return withinTime(PATIENCE_MS, ok, () => "down" as const).catch(() => "down" as const);
}
