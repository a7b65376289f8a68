import type { AgentSessionClient } from "../../../../src/client/client.ts";
import type { Chance } from "../../machine/chance.ts";
import { EPOCH, type ProgramImage } from "../../machine/program.ts";
import type { Call, Wire } from "../call.ts";
import { signed } from "../signed.ts";
import type { World } from "../world.ts";
import { type KnownApp, secretInUse } from "./company.ts";

type FetchInit = { method: string; headers: Record<string, string>; body: string; signal: AbortSignal };

/** The client's shortest backoff: half of the first one. */
const SHORTEST_BACKOFF_MS = 125;

const MOST_TRIES = 4;

/**
 * The largest error of a corrected clock: the clocks of two isolates differ, and an answer is on its way for some time.
 */
const MOST_OFF_SECONDS = 30;

/** All tries of a call end within this time. */
const ALL_TRIES_MS = 60_000;

/** A caller's access to the service: the project's client, with a clock of its own, and one address at one edge. */
export class CallerClient {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #app: KnownApp;
  readonly #edge: string;
  readonly #address: string;
  readonly #program: ReturnType<ProgramImage["startClient"]>;
  /** A client for each secret, because a caller makes a new client with a new secret. */
  readonly #clients = new Map<string, AgentSessionClient>();
  /** When the client may retry, by Idempotency-Key. */
  readonly #mayRetryAt = new Map<string, number>();
  /** The number of tries, by Idempotency-Key. */
  readonly #tries = new Map<string, number>();
  /** Idempotency-Keys of calls that were answered with the service's time. */
  readonly #toldTheTime = new Set<string>();
  #unavailableAt = Number.NEGATIVE_INFINITY;

  constructor(world: World, chance: Chance, app: KnownApp) {
    this.#world = world;
    this.#chance = chance;
    this.#app = app;
    this.#edge = chance.one(world.weather.edges);
    this.#address = `198.51.100.${world.company.apps.indexOf(app) * 8 + world.chance.integer(1, 7)}`;
    const skew = chance.between(-1, 1) * world.weather.callerSkew * 1000;
    const clock = { now: () => Math.floor(EPOCH + world.scheduler.now + skew) };
    this.#program = world.image.startClient(world.scheduler, clock, chance.fork());
  }

  /** The client with the secret that the caller uses now. */
  now(): AgentSessionClient {
    const { appid } = this.#app;
    const secret = secretInUse(this.#app, this.#chance);
    let client = this.#clients.get(secret);
    if (client === undefined) {
      const fetch = ((url: string, init: FetchInit) => this.#fetch(url, init)) as never;
      client = new this.#program.AgentSessionClient({ baseUrl: "https://sessions.example", appid, secret, fetch });
      this.#clients.set(secret, client);
    }
    return client;
  }

  /** Whether answers of 503 may have used up the tries of a call that ends now. */
  get wasUnavailable(): boolean {
    return this.#world.scheduler.now - this.#unavailableAt < ALL_TRIES_MS;
  }

  /** Whether an error is the client's own. Any other error is a mistake of the simulation or of the client. */
  gaveUp(error: unknown): error is { code: string; message: string } {
    return error instanceof this.#program.AgentSessionError;
  }

  /** Sends a call without the client, because its fields may contain numbers that JavaScript cannot hold. */
  async sendExactly(operation: string, fields: object): Promise<void> {
    const { appid } = this.#app;
    const all = { appid, timestamp: this.#world.clock, ...fields };
    const { headers, ...wire } = signed(operation, all, secretInUse(this.#app, this.#chance));
    const call = { ...wire, headers: { ...headers, "cf-connecting-ip": this.#address } };
    await this.#world.send(this.#world.newCall("honest", call, this.#edge));
  }

  /** Sends a call without the client. */
  async sendBare(method: string, path: string): Promise<void> {
    const wire = { method, path, headers: { "cf-connecting-ip": this.#address }, body: "" };
    await this.#world.send(this.#world.newCall("honest", wire, this.#edge));
  }

  #fetch(url: string, { method, headers, body, signal }: FetchInit): Promise<Response> {
    const world = this.#world;
    // Some back ends send an id of their own with each call.
    const own = this.#chance.happens(0.05) && { "x-request-id": this.#chance.uuid() };
    const wire: Wire = {
      method,
      path: new URL(url).pathname,
      headers: { ...headers, ...own, "cf-connecting-ip": this.#address },
      body,
    };
    const call = world.newCall("honest", wire, this.#edge);
    this.#checkBackoff(call);
    this.#checkClock(call);
    this.#checkTries(call);
    if (own) world.count("call under an id of the caller");
    world.capture(call);
    if (world.cloud.rough && this.#chance.happens(world.weather.doubled)) this.#double(call);
    return new Promise((resolve, reject) => {
      const gaveUp = () => {
        this.#mayNotTryBefore(call, SHORTEST_BACKOFF_MS);
        reject(signal.reason);
      };
      signal.addEventListener("abort", gaveUp, { once: true });
      world.cloud.send(call).then(
        ({ status, headers: answered, body: text }) => {
          if (status === 503) this.#unavailableAt = world.scheduler.now;
          this.#noteAnswer(call, answered, text);
          resolve(new Response(text, { status, headers: answered }));
        },
        (error: unknown) => {
          this.#mayNotTryBefore(call, SHORTEST_BACKOFF_MS);
          reject(error);
        },
      );
    });
  }

  #noteAnswer(call: Call, headers: Headers, body: string): void {
    const asked = Number(headers.get("retry-after") ?? 0) * 1000;
    if (asked > 0) this.#mayNotTryBefore(call, asked + SHORTEST_BACKOFF_MS);
    const detail = headers.get("x-error-detail");
    // After a refused signature the client trusts its machine's clock again, for all of its calls.
    if (detail === null && body.includes("token验证失败!")) this.#toldTheTime.clear();
    if (detail?.startsWith("timestamp: must be within") !== true) return;
    this.#toldTheTime.add(call.wire.headers["idempotency-key"] ?? "");
  }

  /** Notes when the client may retry a failed call. Keys of orders are excluded: several calls use one at once. */
  #mayNotTryBefore({ wire }: Call, milliseconds: number): void {
    const key = wire.headers["idempotency-key"];
    if (key === undefined || key.startsWith("order-")) return;
    this.#mayRetryAt.set(key, this.#world.scheduler.now + milliseconds);
  }

  /** docs/retrying.md: the client waits between two tries, at least as long as the service asks for. */
  #checkBackoff({ name, wire }: Call): void {
    const key = wire.headers["idempotency-key"] ?? "";
    const early = (this.#mayRetryAt.get(key) ?? 0) - this.#world.scheduler.now;
    if (early <= 1) return;
    const what = `${name} was sent ${Math.round(early)} ms too early`;
    this.#world.checker.violate("the client waits before it tries again", what, [name, key]);
  }

  /** A try after an answer with the service's time must have that time, as far as the isolates' clocks agree. */
  #checkClock({ name, wire }: Call): void {
    const key = wire.headers["idempotency-key"] ?? "";
    if (key === "" || key.startsWith("order-") || !this.#toldTheTime.has(key)) return;
    const timestamp = Number(/"timestamp":(\d+)/.exec(wire.body)?.[1]);
    if (Math.abs(timestamp - this.#world.clock) <= MOST_OFF_SECONDS) return;
    this.#world.checker.violate("the client corrects its clock", `${name} is sent with ${timestamp}`, [name, key]);
  }

  /** src/client/README.md: a call is tried at most four times. */
  #checkTries({ name, wire }: Call): void {
    const key = wire.headers["idempotency-key"] ?? "";
    if (key === "" || key.startsWith("order-")) return;
    const tries = (this.#tries.get(key) ?? 0) + 1;
    this.#tries.set(key, tries);
    if (tries <= MOST_TRIES) return;
    this.#world.checker.violate("the client tries a call four times at most", `${name} is try ${tries}`, [name, key]);
  }

  /** The network delivers a request a second time. */
  #double(call: Call): void {
    this.#world.count("network: request doubled");
    this.#world.start(async () => {
      await this.#world.sleep(this.#chance.between(0, 300));
      await this.#world.send(this.#world.newCall("attacker", call.wire, call.edge));
    });
  }
}
