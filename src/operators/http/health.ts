import type { Handler } from "hono";
import { version } from "../../../package.json";
import { readConfig } from "../../config.ts";
import { ConfigurationError, homeUnbound } from "../../core/config.ts";
import { describeViolations } from "../../core/describe-violations.ts";
import type { App, RequestContext } from "../../core/http/request-context.ts";
import { sleep } from "../../core/runtime.ts";
import type { Health, PartState } from "../services/health.ts";

const CACHED_MS = 5_000;
/** The time for all answers of a probe. */
const ALL_TURNS_MS = 4_000;
/** A probe that takes longer was cancelled with its request. Then another request starts a new probe. */
const PROBE_MS = ALL_TURNS_MS + 500;
const POLL_MS = 20;

/**
 * GET /healthz: asks every home and part, five at a time. An isolate asks at most every 5 s. Answers 503 only when the directory is silent
 * or the configuration is wrong. One request makes the probe. Other requests poll for its result, because a request may not await another
 * request's promise.
 */
export function health(): Handler<App> {
  let lastProbe: { health: Health; at: number } | undefined;
  let probingSince: number | undefined;
  return async function healthz(c) {
    const config = configOrFault(c);
    if (config instanceof ConfigurationError) {
      const { setting, message } = config;
      return answerHealth(c, { status: "down", version, setting, fault: message });
    }
    const { runtime, credentials } = c.var.isolate;
    for (;;) {
      const now = runtime.now();
      if (lastProbe !== undefined && now >= lastProbe.at && now < lastProbe.at + CACHED_MS) break;
      if (probingSince === undefined || runtime.elapsed() >= probingSince + PROBE_MS) {
        const since = runtime.elapsed();
        probingSince = since;
        // Imported late, because many isolates serve signed calls only.
        const { readHealth } = await import("../services/health.ts");
        lastProbe = { health: await readHealth({ runtime, config, credentials }, ALL_TURNS_MS), at: now };
        if (probingSince === since) probingSince = undefined;
        break;
      }
      await sleep(runtime, POLL_MS);
    }
    const { status, directory, parts } = lastProbe.health;
    const kv = worstOf(parts.nonces, parts.credentials);
    const queues = worstOf(parts.events, parts.journal);
    const states = Object.entries(lastProbe.health.homes);
    const homes = Object.fromEntries(
      states.map(([home, state]) => [home, state === "ok" || state === "closed" ? state : "down"]),
    );
    const fault = faultsOf(lastProbe.health).join(" ");
    const { master_key } = parts;
    return answerHealth(c, {
      status,
      version,
      directory,
      homes,
      kv,
      queues,
      master_key,
      ...(fault !== "" && { fault }),
    });
  };
}

const worstOf = (...states: PartState[]) =>
  (["down", "off"] as const).find((state) => states.includes(state)) ?? ("ok" as const);

const answerHealth = (c: RequestContext, body: { status: Health["status"] } & Record<string, unknown>) =>
  c.json(body, body.status === "down" ? 503 : 200, { "cache-control": "no-store" });

function configOrFault(c: RequestContext) {
  try {
    const { stalls, telemetry } = c.var.isolate;
    return stalls.guardDatabases(readConfig(c.env, telemetry));
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
}

/** What an operator can repair, in sentences. They name settings and homes, and nothing else. */
const faultsOf = ({ isKeyWrong, homes, parts: { master_key: _, ...bindings } }: Health): string[] => [
  ...(isKeyWrong
    ? ["MASTER_KEY does not open what is sealed here: set the key that sealed it, or that one as MASTER_KEY_PREVIOUS."]
    : []),
  ...Object.entries(bindings).flatMap(([name, state]) =>
    state === "down" ? [`${name.toUpperCase()} does not answer.`] : [],
  ),
  ...Object.entries(homes).flatMap(([home, state]) => {
    if (state === "unbound") return [describeViolations([homeUnbound(home)])];
    return state === "not_migrated" ? [`The home ${home} is not migrated: npm run deploy migrates all databases.`] : [];
  }),
];
