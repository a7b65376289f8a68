import { Internet } from "../../deliveries/acts/internet.ts";
import { EPOCH, type ProgramImage } from "../../machine/program.ts";
import { KvTruth, type SimulatedKv } from "../../platform/kv.ts";
import type { QueueTruth } from "../../platform/queue.ts";
import type { Weather } from "../../weather/weather.ts";
import type { Answer, Call } from "../call.ts";
import { callNow, type NetworkState } from "./air.ts";
import { Edge } from "./edge.ts";
import { Home } from "./home.ts";
import { Isolate } from "./isolate.ts";
import { Lives } from "./lives.ts";
import { overNetwork } from "./network.ts";
import { eventsQueue, journalQueue } from "./queues.ts";
import { requestOf } from "./request.ts";
import { type Settings, varsOf } from "./settings.ts";

/** The platform: homes, KV, limits, edges and the isolates that run there. */
export class Cloud {
  readonly homes: ReadonlyMap<string, Home>;
  readonly nonces = new KvTruth();
  readonly credentials = new KvTruth();
  readonly internet: Internet;
  readonly events: QueueTruth;
  readonly journal: QueueTruth;
  /** While false, no fault happens. */
  isRough = false;
  settings: Settings;
  isolates: Isolate[] = [];
  readonly #image: ProgramImage;
  readonly #weather: Weather;
  readonly #air: NetworkState;
  readonly #edges = new Map<string, Edge>();
  readonly #lives: Lives;
  #isolateCount = 0;

  constructor(image: ProgramImage, weather: Weather, settings: Settings, air: Omit<NetworkState, "isRough">) {
    this.#image = image;
    this.#weather = weather;
    this.settings = settings;
    this.homes = new Map(weather.homes.map((name) => [name, new Home(name, air.scheduler, air.witness)]));
    this.#air = { ...air, isRough: () => this.isRough };
    this.internet = new Internet(this.#air, weather);
    this.#lives = new Lives(this.#air, weather.cutOff, this.internet);
    this.events = eventsQueue(this, this.#air, weather.queue);
    this.journal = journalQueue(this, this.#air, weather.journal);
    for (const edge of weather.edges) this.#edges.set(edge, new Edge(this, this.#air, weather));
  }

  get edgeNames(): readonly string[] {
    return [...this.#edges.keys()];
  }

  /** Milliseconds since the epoch, by the platform's own clock. */
  now = (): number => EPOCH + this.#air.scheduler.now;

  home(name: string): Home {
    const home = this.homes.get(name);
    if (home === undefined) throw new Error(`there is no home ${name}`);
    return home;
  }

  /** Sends a request over the network. @throws NetworkError when the caller gets no answer */
  send(call: Call): Promise<Answer> {
    return overNetwork(this.#air, this.#weather.network, call, () => this.#serve(call));
  }

  /** Runs the cron trigger. Resolves when the run has ended, even by a failure. */
  cron(call: Call): Promise<void> {
    const scheduledTime = Math.floor(this.now());
    const controller = { cron: call.wire.path, scheduledTime };
    return this.run(call, ({ worker, env }) => worker.scheduled(controller as never, env as never));
  }

  /** Runs an invocation that the platform starts itself. Resolves when its handler has ended, even by a failure. */
  async run(call: Call, handler: (isolate: Isolate, context: object) => Promise<void>): Promise<void> {
    const { scheduler, witness } = this.#air;
    const isolate = this.#accept(call);
    if (call.role === "cron") call.clock = Math.floor(this.now() / 1000);
    witness.arrives(call);
    this.#lives.maybeCutOff(call);
    await this.#lives.during(call, async () => {
      try {
        await handler(isolate, this.#lives.contextOf(call));
      } catch (error) {
        witness.fails(call, error);
      }
      call.answeredAt = scheduler.now;
    });
    this.#lives.noteAnswer(call);
  }

  /** New isolates get the changed settings. Isolates of the previous deployment serve for some more seconds. */
  deploy(change: Partial<Settings>): void {
    const { scheduler, chance, witness } = this.#air;
    this.settings = { ...this.settings, ...change };
    const settings = { ...this.settings, masterKey: undefined, masterKeyPrevious: undefined };
    witness.note(undefined, `deployed: ${JSON.stringify(settings)}`, "deployment");
    for (const isolate of this.isolates) {
      scheduler.after(chance.between(0, 20_000), () => {
        isolate.isRetired = true;
      });
    }
  }

  get credentialCaches(): SimulatedKv[] {
    return [...this.#edges.values()].flatMap(({ credentials }) => credentials ?? []);
  }

  /** Ends one call with all of its work, as the platform cuts off a request. */
  cutOff(call: Call): void {
    this.#lives.cutOff(call);
  }

  kill(isolate: Isolate): void {
    this.isolates = this.isolates.filter((each) => each !== isolate);
    const calls = isolate.kill();
    const waiting = calls.filter(({ answer }) => answer === undefined).length;
    this.#air.witness.note(undefined, `isolate ${isolate.name} dies with ${waiting} calls`, "isolate dies");
    for (const call of calls) this.#lives.end(call);
  }

  /** @returns undefined when the call was ended */
  async #serve(call: Call): Promise<Answer | undefined> {
    const { scheduler, chance, witness } = this.#air;
    const { worker, env } = this.#accept(call);
    witness.arrives(call);
    this.#lives.maybeCutOff(call);
    const request = requestOf(call.wire, chance);
    await this.#lives.during(call, async () => {
      const response = await worker.fetch(request, env as never, this.#lives.contextOf(call) as never);
      const { status } = response;
      call.answer = { status, headers: response.headers, body: await response.text() };
      call.answeredAt = scheduler.now;
      witness.answers(call);
      this.#lives.noteAnswer(call);
    });
    return call.answer;
  }

  /** Chooses the isolate for a call: a cold one when there is none, or at random. */
  #accept(call: Call): Isolate {
    const { scheduler, chance } = this.#air;
    const isolates = this.isolates.filter(({ edge, isRetired }) => edge === call.edge && !isRetired);
    const cold = isolates.length === 0 || (isolates.length < this.#weather.isolates && chance.happens(0.2));
    const isolate = cold ? this.#startIsolate(call.edge) : chance.one(isolates);
    isolate.calls.add(call);
    call.isolate = isolate;
    call.arrivedAt = scheduler.now;
    call.clock = isolate.clock;
    return isolate;
  }

  #startIsolate(edge: string): Isolate {
    const { scheduler, witness } = this.#air;
    const chance = this.#air.chance.fork();
    const skew = chance.between(-1, 1) * this.#weather.isolateSkew;
    const name = `${edge}${++this.#isolateCount}`;
    const log = (record: object) => witness.logs(name, callNow(), record);
    const { settings } = this;
    const env = { ...this.#edges.get(edge)?.bindings, ...varsOf(settings) };
    const { fetch } = this.internet;
    const isolate = new Isolate(this.#image, scheduler, chance, { name, edge, settings, env, skew, log, fetch });
    this.isolates.push(isolate);
    return isolate;
  }
}
