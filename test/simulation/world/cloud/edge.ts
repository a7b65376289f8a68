import { refuseOtherProperties } from "../../not-simulated.ts";
import { SimulatedD1 } from "../../platform/d1.ts";
import { SimulatedKv } from "../../platform/kv.ts";
import { SimulatedQueue } from "../../platform/queue.ts";
import { SimulatedRateLimit } from "../../platform/rate-limit.ts";
import type { Weather } from "../../weather/weather.ts";
import type { NetworkState } from "./air.ts";
import type { Cloud } from "./cloud.ts";
import { databaseLink } from "./database-link.ts";
import { kvLink } from "./kv-link.ts";
import { limitLink } from "./limit-link.ts";
import { queueLink } from "./queue-link.ts";
import { bindingOf, LIMITS } from "./settings.ts";

/** A location of the platform: its links to D1, its KV caches and its limits. */
export class Edge {
  readonly bindings: Record<string, object> = {};
  /** Its view of CREDENTIALS; undefined when KV is not bound. */
  readonly credentials: SimulatedKv | undefined;

  constructor({ homes, nonces, credentials, events, journal, now }: Cloud, air: NetworkState, weather: Weather) {
    const { kv, kvBound, limits, queue, journal: journalWeather, journalBound } = weather;
    this.bindings.EVENTS = new SimulatedQueue(events, queueLink(air, "EVENTS", queue));
    if (journalBound) this.bindings.JOURNAL = new SimulatedQueue(journal, queueLink(air, "JOURNAL", journalWeather));
    for (const [name, home] of homes) {
      this.bindings[bindingOf(name)] = new SimulatedD1(home.database, databaseLink(air, home, weather));
    }
    if (kvBound) {
      this.credentials = new SimulatedKv(credentials, now, kvLink(air, "CREDENTIALS", kv));
      this.bindings.NONCES = new SimulatedKv(nonces, now, kvLink(air, "NONCES", kv));
      this.bindings.CREDENTIALS = this.credentials;
    }
    for (const [name, limit] of limits ? Object.entries(LIMITS) : []) {
      this.bindings[name] = new SimulatedRateLimit(limit, now, limitLink(air, name));
    }
    for (const [name, standIn] of Object.entries(this.bindings))
      this.bindings[name] = refuseOtherProperties(name, standIn);
  }
}
