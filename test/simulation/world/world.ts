import { Checker } from "../checker/checker.ts";
import { Chance } from "../machine/chance.ts";
import { EPOCH, type ProgramImage } from "../machine/program.ts";
import { Scheduler } from "../machine/scheduler.ts";
import type { RowChange } from "../platform/database.ts";
import { drawWeather, type Weather } from "../weather/weather.ts";
import { type Answer, Call, type Role, type WireRequest } from "./call.ts";
import { Cloud } from "./cloud/cloud.ts";
import { NetworkError } from "./cloud/network.ts";
import { firstSettings } from "./cloud/settings.ts";
import type { CloudWitness } from "./cloud/witness.ts";
import { Company } from "./company.ts";
import { Moments } from "./moments.ts";

/** Everything in one run: time, chance, the platform, the people, and the checker. */
export class World {
  readonly scheduler = new Scheduler();
  readonly chance: Chance;
  readonly weather: Weather;
  readonly image: ProgramImage;
  readonly checker: Checker;
  readonly cloud: Cloud;
  readonly company = new Company();
  /** The moments that actors wait for, and the calls that they hold. */
  readonly moments = new Moments(this.scheduler);
  /** The requests of honest callers, as an eavesdropper on the wire sees them; the newest last. */
  readonly captures: Call[] = [];
  /** Called with each captured call before the call reaches the Worker. */
  readonly eavesdroppers: ((call: Call) => void)[] = [];
  /** How often each kind of thing has happened. */
  readonly seen: Record<string, number> = {};
  /** When true, no actor begins anything new. */
  closing = false;
  readonly #trace: ((line: string) => void) | undefined;
  #calls = 0;

  constructor(image: ProgramImage, seed: number, trace: ((line: string) => void) | undefined) {
    this.image = image;
    this.#trace = trace;
    this.chance = new Chance(seed);
    this.weather = drawWeather(this.chance.fork());
    this.checker = new Checker(this.scheduler, (what) => this.count(what));
    const settings = firstSettings(this.chance);
    const { scheduler, moments } = this;
    const air = { scheduler, moments, chance: this.chance.fork(), witness: this.#witness() };
    this.cloud = new Cloud(image, this.weather, settings, air);
    this.say(() => [undefined, `weather ${JSON.stringify(this.weather)}`]);
  }

  /** Counts and traces what happens, and passes it to the checker. */
  #witness(): CloudWitness {
    const { checker, moments } = this;
    return {
      arrives: (call) => {
        this.say(() => [call.name, `reaches ${call.isolate?.name}`]);
        checker.arrives(call);
        moments.tell({ kind: "arrives", call });
      },
      commits: (home, call, changes) => {
        this.say(() => [call?.name, `${home.name} commits ${describe(changes)}`]);
        checker.commits(home, call, changes);
        moments.tell({ kind: "commits", call, home, changes });
      },
      answers: (call) => {
        this.count(`${call.role} ${call.answer?.status}`);
        this.say(() => [call.name, `is answered ${call.answer?.status} ${call.answer?.body}`]);
        checker.answers(call);
        moments.tell({ kind: "answers", call });
      },
      ends: (call) => {
        this.count(`${call.role} cut off`);
        checker.ends(call);
        moments.tell({ kind: "ends", call });
      },
      isOver: (call) => checker.isOver(call),
      goesOn: (call, trip) => checker.afterAnswer.goesOn(call, trip),
      asks: (call, home) => checker.stalledHomes.asks(call, home, this.scheduler.now),
      getsAnswer: (call, home) => checker.stalledHomes.hears(call, home, this.scheduler.now),
      fails: (call, error) => {
        this.say(() => [call.name, `fails: ${String(error)}`]);
        checker.fails(call, error);
      },
      posts: (post) => {
        this.say(() => [
          post.call.name,
          `${post.name} ${post.method} ${post.url} ${JSON.stringify(post.headers)} ${post.body}`,
        ]);
        checker.deliveries.posts(post);
        moments.tell({ kind: "posts", post });
      },
      takes: (post) => {
        this.count(`receiver: ${post.mood}`);
        const { name, mood, status } = post;
        this.say(() => [post.call.name, `${name} is taken: ${mood}, ${status}`]);
      },
      hears: (post) => {
        this.count(`post ${post.status}`);
        this.say(() => [post.call.name, `${post.name} is answered ${post.status}`]);
        checker.deliveries.ends(post, this.scheduler.now);
        moments.tell({ kind: "hears", post });
      },
      misses: (post) => {
        this.count(`post: ${post.miss}`);
        this.say(() => [post.call.name, `${post.name} gets no answer: ${post.miss}`]);
        checker.deliveries.ends(post, this.scheduler.now);
        moments.tell({ kind: "misses", post });
      },
      note: (call, what, kind) => {
        if (kind !== undefined) this.count(kind);
        this.say(() => [call?.name, what]);
      },
      logs: (isolate, call, record) => {
        const line = `${isolate} logs ${JSON.stringify(record)}`;
        this.say(() => [call?.name, line]);
        checker.secrecy.checkLog(call, line, record);
      },
    };
  }

  /** Unix seconds by the platform's clock. */
  get clock(): number {
    return Math.floor(this.cloud.now() / 1000);
  }

  sleep(milliseconds: number): Promise<void> {
    return this.scheduler.sleep(milliseconds);
  }

  /** Captures an honest call that is sent, so that attackers may use it. */
  capture(call: Call): void {
    this.captures.push(call);
    for (const listen of this.eavesdroppers) listen(call);
  }

  /** Writes a line of the trace: its subject, and what happens. */
  say(line: () => [about: string | undefined, what: string]): void {
    if (this.#trace === undefined) return;
    const [about, what] = line();
    const at = new Date(EPOCH + this.scheduler.now).toISOString().slice(8, 23);
    this.#trace(`${String(this.scheduler.steps).padStart(6)} ${at} ${about === undefined ? "" : `${about}: `}${what}`);
  }

  count(what: string): void {
    this.seen[what] = (this.seen[what] ?? 0) + 1;
  }

  newCall(role: Role, wire: WireRequest, edge: string): Call {
    const call = new Call(`${role}#${++this.#calls}`, role, wire, edge);
    this.say(() => [
      call.name,
      `sends ${wire.method} ${wire.path} to ${edge} ${JSON.stringify(wire.headers)} ${wire.body}`,
    ]);
    return call;
  }

  /** Sends a call whose answer may be lost. @returns undefined when it was */
  async send(call: Call): Promise<Answer | undefined> {
    try {
      return await this.cloud.send(call);
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      return undefined;
    }
  }

  /** Runs an actor; an error of an actor is a mistake of the simulation. */
  start(actor: () => Promise<void>): void {
    actor().catch((error: unknown) => {
      const what = error instanceof Error ? String(error.stack) : String(error);
      this.checker.violate("the simulation itself works", what, []);
    });
  }
}

const describe = (changes: RowChange[]): string =>
  changes
    .map(({ table, before, after }) => {
      const verb = before === null ? "+" : after === null ? "-" : "~";
      return `${verb}${table} ${JSON.stringify(after ?? before)}`;
    })
    .join(" ");
