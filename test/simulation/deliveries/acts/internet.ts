import type { Chance } from "../../machine/chance.ts";
import { notSimulated } from "../../not-simulated.ts";
import type { Weather } from "../../weather/weather.ts";
import type { Call } from "../../world/call.ts";
import { callNow, faultStrikes, type NetworkState, setOut } from "../../world/cloud/air.ts";
import type { Reply } from "./moods.ts";
import { type MISSES, Post, type PostInit } from "./post.ts";
import { Receiver } from "./receiver.ts";

/** The network that the isolates' global fetch reaches. */
export class Internet {
  readonly receivers = new Map<string, Receiver>();
  readonly #air: NetworkState;
  readonly #weather: Weather;
  readonly #inFlight = new Set<Post>();
  #posts = 0;

  constructor(air: NetworkState, weather: Weather) {
    this.#air = air;
    this.#weather = weather;
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
    if (call === undefined) throw notSimulated("a fetch of nobody");
    if (input instanceof Request) throw notSimulated("a fetch of a Request");
    const trip = setOut(this.#air, call, "fetch");
    try {
      init.signal?.throwIfAborted();
      const post = new Post(`post#${++this.#posts}`, new URL(input).href, init, call, this.#air.scheduler.now);
      this.#inFlight.add(post);
      this.#air.witness.posts(post);
      return await this.#send(post, init.signal);
    } finally {
      trip.isOpen = false;
    }
  };

  /** Ends a call: its posts get no more answers. */
  end(call: Call): void {
    for (const post of this.#inFlight) if (post.call === call) this.#miss(post, "ended");
  }

  #miss(post: Post, why: (typeof MISSES)[number]): boolean {
    if (!post.isOpen) return false;
    post.miss = why;
    this.#inFlight.delete(post);
    this.#air.witness.misses(post);
    return true;
  }

  /**
   * Brings a post to its receiver and the answer back. The promise rejects without an answer, and never settles when
   * the call was ended.
   */
  #send(post: Post, signal: PostInit["signal"]): Promise<Response> {
    const { scheduler, chance, witness } = this.#air;
    const travel = () => chance.between(1, 40);
    const isLost = faultStrikes(this.#air, this.#weather.network);
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
        const answer = receiver.meet(post);
        if (typeof answer === "object") post.status = answer.status;
        if (answer !== "before") witness.takes(post);
        if (isLost || answer === "before" || answer === "after") scheduler.after(travel(), lose);
        if (isLost || typeof answer !== "object") return;
        const receiveHead = () => {
          if (!post.isOpen) return;
          this.#inFlight.delete(post);
          post.heardAt = scheduler.now;
          witness.hears(post);
          resolve(responseOf(answer));
        };
        const milliseconds = answer.after + travel();
        if (answer.until === undefined) scheduler.after(milliseconds, receiveHead);
        else void answer.until.then(() => scheduler.after(milliseconds, receiveHead));
      });
    });
  }
}

/** A response with status 204 must have no body. */
const responseOf = ({ status, body }: Reply): Response => new Response(status === 204 ? null : body, { status });
