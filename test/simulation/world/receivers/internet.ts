import type { Chance } from "../../machine/chance.ts";
import type { Call } from "../call.ts";
import { type Air, callNow, setOut, strikes } from "../cloud/air.ts";
import type { Weather } from "../weather.ts";
import type { Reply } from "./moods.ts";
import { type MISSES, Post, type PostInit } from "./post.ts";
import { Receiver } from "./receiver.ts";
import { responseOf } from "./response.ts";

/** The most connections of one invocation that wait for an answer. Further ones wait for their turn. */
const MOST_OPEN = 6;
const MOST_REDIRECTS = 20;

/** The network that the isolates' global fetch reaches. */
export class Internet {
  readonly receivers = new Map<string, Receiver>();
  readonly #air: Air;
  readonly #weather: Weather;
  /** Milliseconds since the epoch. */
  readonly #now: () => number;
  readonly #open = new Map<Call, { posts: number; waiting: (() => void)[] }>();
  readonly #inFlight = new Set<Post>();
  #posts = 0;

  constructor(air: Air, weather: Weather, now: () => number) {
    this.#air = air;
    this.#weather = weather;
    this.#now = now;
  }

  /** Starts a receiver at a URL, unless there is one. */
  makeReceiver(url: string, chance: Chance): void {
    if (this.receivers.has(url)) return;
    const { moods, well, dead } = this.#weather.receivers;
    const receiver = new Receiver(url, chance, moods);
    receiver.change(well);
    if (dead > 0 && chance.happens(dead)) receiver.die();
    this.receivers.set(url, receiver);
  }

  fetch = async (input: string | URL | Request, init: PostInit = {}): Promise<Response> => {
    const call = callNow();
    if (call === undefined) throw new Error("not simulated: a fetch of nobody");
    if (input instanceof Request) throw new Error("not simulated: a fetch of a Request");
    const trip = setOut(this.#air, call, "fetch");
    try {
      return await this.#follow(call, new URL(input).href, init, 0);
    } finally {
      trip.isOpen = false;
    }
  };

  /** Ends a call: its posts get no more answers. */
  end(call: Call): void {
    for (const post of this.#inFlight) if (post.call === call) this.#miss(post, "ended");
    this.#open.delete(call);
  }

  #miss(post: Post, why: (typeof MISSES)[number]): boolean {
    if (!post.isOpen) return false;
    post.missed = why;
    this.#inFlight.delete(post);
    this.#air.witness.misses(post);
    return true;
  }

  async #follow(call: Call, url: string, init: PostInit, redirects: number): Promise<Response> {
    if (redirects > MOST_REDIRECTS) throw new TypeError("Too many redirects.");
    await this.#turnOf(call, init.signal);
    const post = new Post(`post#${++this.#posts}`, url, init, call, this.#air.scheduler.now);
    this.#inFlight.add(post);
    this.#air.witness.posts(post);
    let answer: { reply: Reply; response: Response };
    try {
      answer = await this.#send(post, init.signal ?? undefined);
    } finally {
      this.#done(call);
    }
    const { reply, response } = answer;
    const { location } = reply.headers;
    if (location === undefined || post.redirect === "manual") return response;
    if (post.redirect === "error") throw new TypeError("unexpected redirect");
    const next = new URL(location, url).href;
    const keeps = reply.status === 307 || reply.status === 308;
    const { body: _, ...bare } = init;
    return this.#follow(call, next, keeps ? init : { ...bare, method: "GET" }, redirects + 1);
  }

  async #turnOf(call: Call, signal: AbortSignal | null | undefined): Promise<void> {
    signal?.throwIfAborted();
    const open = this.#open.get(call) ?? { posts: 0, waiting: [] };
    this.#open.set(call, open);
    if (open.posts++ < MOST_OPEN) return;
    await new Promise<void>((resolve, reject) => {
      open.waiting.push(resolve);
      signal?.addEventListener("abort", () => {
        const place = open.waiting.indexOf(resolve);
        if (place < 0) return;
        open.waiting.splice(place, 1);
        open.posts--;
        reject(signal.reason);
      });
    });
  }

  #done(call: Call): void {
    const open = this.#open.get(call);
    if (open === undefined) return;
    open.posts--;
    open.waiting.shift()?.();
    if (open.posts === 0) this.#open.delete(call);
  }

  /**
   * Takes a post to its receiver and the answer back. Rejects when there is no answer; never settles when its call was
   * ended.
   */
  #send(post: Post, signal: AbortSignal | undefined): Promise<{ reply: Reply; response: Response }> {
    const { scheduler, chance, witness } = this.#air;
    const { call } = post;
    const travel = () => chance.between(1, 40);
    const isLost = strikes(this.#air, this.#weather.network);
    return new Promise((resolve, reject) => {
      const miss = (why: (typeof MISSES)[number], error: unknown) => {
        if (this.#miss(post, why)) reject(error);
      };
      signal?.addEventListener("abort", () => miss("aborted", signal.reason), { once: true });
      const lose = () => miss("no connection", new Error("Network connection lost."));
      const receiver = this.receivers.get(post.url);
      if (receiver === undefined || (isLost && chance.happens(0.5))) {
        scheduler.after(chance.between(10, 5_000), lose);
        return;
      }
      scheduler.after(travel(), () => {
        const reply = receiver.meet(post, this.#now());
        if (reply === "before") {
          scheduler.after(travel(), lose);
          return;
        }
        post.verified = receiver.verify(post);
        const answer = !post.verified && typeof reply === "object" ? refusalOf(reply) : reply;
        if (typeof answer === "object") {
          post.status = answer.status;
          post.retryAfter = answer.headers["retry-after"];
        }
        witness.takes(post);
        if (isLost || answer === "after") {
          scheduler.after(travel(), lose);
          return;
        }
        if (answer === "silence") return;
        scheduler.after(answer.after + travel(), () => {
          if (!post.isOpen) return;
          this.#inFlight.delete(post);
          post.heardAt = scheduler.now;
          witness.hears(post);
          resolve({ reply: answer, response: responseOf(answer, scheduler, call, signal) });
        });
      });
    });
  }
}

/** The answer of a receiver that cannot verify a post. */
const refusalOf = ({ after: delay }: Reply): Reply => ({
  after: delay,
  status: 401,
  headers: {},
  body: { pieces: ["wrong signature"], everyMs: 0, isEndless: false },
});
