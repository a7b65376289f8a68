import type { Answer, Call } from "../world/call.ts";
import type { Home } from "../world/cloud/home.ts";
import type { Violate } from "./violate.ts";

/**
 * The largest age of what /healthz says: an isolate keeps its probe for 5 s, and a probe of a silent database takes up
 * to 4.5 s.
 */
const OLD_MS = 10_000;
const CACHED_MS = 5_500;
/** The longest call: it may wait for another call's probe, and then make its own. */
const LIMIT_MS = 9_500;

interface Health {
  status: string;
  directory: string;
  homes: Record<string, string>;
  kv: string;
  queues: string;
  master_key: string;
}

/** Checks GET /healthz against the real states: docs/operating.md, "Admin API". */
export class HealthRules {
  /** Homes by name; empty until the world has made them. */
  homes: ReadonlyMap<string, Home> = new Map();
  /** Whether KV never fails in this run. */
  isKvSound = false;
  readonly #violate: Violate;

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  checkAnswer(call: Call): void {
    const wrong = this.#wrong(call, call.answer as Answer);
    if (wrong !== undefined)
      this.#violate("/healthz says what is up and what is down", `${call.name}: ${wrong}`, [call.name]);
  }

  #wrong(call: Call, { status, body }: Answer): string | undefined {
    const now = call.answeredAt as number;
    const took = now - (call.arrivedAt as number);
    if (took > LIMIT_MS) return `took ${Math.round(took)} ms`;
    const health = JSON.parse(body) as Health;
    const { directory, homes, kv, queues, master_key } = health;
    if (status !== (directory === "down" ? 503 : 200)) return `answered ${status} ${body}`;
    const isWhole = Object.values(homes).every((state) => state === "ok") && ![kv, queues, master_key].includes("down");
    const whole = directory === "down" ? "down" : isWhole ? "ok" : "degraded";
    const { closedHomes } = call.settings;
    if (health.status !== whole || (homes.main !== directory && homes.main !== "closed")) return `says ${body}`;
    const wronglyShut = Object.entries(homes).find(
      ([home, state]) => (state === "closed") !== closedHomes.includes(home),
    );
    if (wronglyShut !== undefined) return `says that ${wronglyShut.join(" is ")}`;
    if (Object.keys(homes).toSorted().join() !== [...this.homes.keys()].toSorted().join())
      return `names ${Object.keys(homes)}`;
    for (const [name, { state, stateSince }] of this.homes) {
      const old = state === "refusing" ? CACHED_MS : OLD_MS;
      if (state !== "up" && state !== "slow" && stateSince < now - old && homes[name] === "ok")
        return `says that ${name} is ok, it is ${state}`;
    }
    // An older version cannot open what a newer one has sealed again with its own key.
    const isCalm = [...this.homes.values()].every(
      ({ state, stateSince }) => state === "up" && (stateSince === 0 || stateSince < now - OLD_MS),
    );
    if (
      isCalm &&
      this.isKvSound &&
      closedHomes.length === 0 &&
      health.status !== "ok" &&
      !hasFaults(call, now) &&
      master_key !== "down"
    )
      return `says ${body}, nothing is down`;
    return undefined;
  }
}

/** Whether a fault met a probe that the answer may come from. */
const hasFaults = ({ isolate }: Call, now: number): boolean =>
  [...(isolate?.calls ?? [])].some(
    ({ role, faults, answeredAt = now }) => role === "monitor" && faults.length > 0 && answeredAt > now - OLD_MS,
  );
