import type { App } from "../../checker/home-model.ts";
import type { Model } from "../../checker/model.ts";
import type { Violate } from "../../checker/violate.ts";
import { KEY_SECONDS } from "../../erasure/rules/periods.ts";
import type { Call } from "../../world/call.ts";
import type { WatchedCall } from "./watched-call.ts";

/** The largest difference between the clocks of two isolates. */
const SKEW_SECONDS = 20;

/** Each order of a caller opens one session. */
export class Orders {
  readonly #model: Model;
  readonly #violate: Violate;
  /** The session of each order, by the order's text. */
  readonly #opened = new Map<string, { call: string; sessionId: number; forgottenAt: number }>();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  /** A call has opened a session. */
  opens(home: string, { siteId }: App, { call }: WatchedCall, sessionId: number, order: string): void {
    const id = `${home}/${siteId}/${sessionId}`;
    if (this.#model.givenIds.has(id)) {
      this.#violate("no chat id is given twice", `${call.name} opened ${id} again`, [call.name, id]);
    }
    this.#model.givenIds.add(id);
    if (call.role === "honest") this.#checkOrder(home, siteId, call, sessionId, order);
  }

  /**
   * The text of an honest caller's order, which is in the first message. A caller gives an order to the client once, or
   * again under the same key.
   */
  #checkOrder(home: string, siteId: number, call: Call, sessionId: number, order: string): void {
    if (!order.startsWith("Order ")) return;
    const first = this.#opened.get(order);
    const isHeld = first !== undefined && this.#model.home(home).sessions.has(`${siteId}/${first.sessionId}`);
    if (isHeld && call.clock < first.forgottenAt) {
      const rule = "a call of the client opens one session, and a key opens one in a day";
      const what = `${call.name} opened ${home}/${siteId}/${sessionId} for the order of ${first.call}`;
      this.#violate(rule, what, [call.name, first.call]);
    }
    this.#opened.set(order, { call: call.name, sessionId, forgottenAt: call.clock + KEY_SECONDS - SKEW_SECONDS });
  }
}
