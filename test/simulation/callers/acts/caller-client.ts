import type { AgentSessionClient } from "../../../../src/client/client.ts";
import type { Chance } from "../../machine/chance.ts";
import { EPOCH, type ProgramImage } from "../../machine/program.ts";
import type { Call, WireRequest } from "../../world/call.ts";
import { type KnownApp, secretInUse } from "../../world/company.ts";
import type { World } from "../../world/world.ts";

type FetchInit = { method: string; headers: Record<string, string>; body: string; signal: AbortSignal };

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

  /** Whether an error is the client's own. Any other error is a mistake of the simulation or of the client. */
  isGiveUp(error: unknown): error is { code: string; message: string } {
    return error instanceof this.#program.AgentSessionError;
  }

  #fetch(url: string, { method, headers, body, signal }: FetchInit): Promise<Response> {
    const world = this.#world;
    const wire: WireRequest = {
      method,
      path: new URL(url).pathname,
      headers: { ...headers, "cf-connecting-ip": this.#address },
      body,
    };
    const call = world.newCall("honest", wire, this.#edge);
    world.capture(call);
    if (world.cloud.isRough && this.#chance.happens(world.weather.doubled)) this.#double(call);
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      world.cloud.send(call).then(({ status, headers: answerHeaders, body: text }) => {
        resolve(new Response(text, { status, headers: answerHeaders }));
      }, reject);
    });
  }

  /** Lets the network deliver a request a second time. */
  #double(call: Call): void {
    this.#world.count("network: request doubled");
    this.#world.start(async () => {
      await this.#world.sleep(this.#chance.between(0, 300));
      await this.#world.send(this.#world.newCall("attacker", call.wire, call.edge));
    });
  }
}
