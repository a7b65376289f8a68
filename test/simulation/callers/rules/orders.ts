import type { App } from "../../checker/home-model.ts";
import type { Model } from "../../checker/model.ts";
import type { Violate } from "../../checker/violate.ts";
import { KEY_SECONDS } from "../../erasure/rules/periods.ts";
import type { RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";

/** The largest difference between the clocks of two isolates. */
const SKEW_SECONDS = 20;

/** Each order of a caller opens one session. */
export class Orders {
  readonly #model: Model;
  readonly #violate: Violate;
  /** The session of each order, by the order's text. */
  readonly #sessions = new Map<string, { call: string; sessionId: number; forgottenAt: number }>();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  /**
   * Checks a session that a call has opened. An honest caller's order is in the first message. The caller gives an
   * order to the client once, or again under the same key.
   */
  opens(home: string, { siteId }: App, call: Call, sessionId: number, changes: readonly RowChange[]): void {
    const id = `${home}/${siteId}/${sessionId}`;
    if (this.#model.givenIds.has(id)) {
      this.#violate("no chat id is given twice", `${call.name} opened ${id} again`, [call.name, id]);
    }
    this.#model.givenIds.add(id);
    const order = String(changes.find(({ table }) => table === "messages")?.after?.content);
    if (call.role !== "honest" || !order.startsWith("Order ")) return;
    const first = this.#sessions.get(order);
    const isHeld = first !== undefined && this.#model.home(home).sessions.has(`${siteId}/${first.sessionId}`);
    if (isHeld && call.clock < first.forgottenAt) {
      const rule = "a call of the client opens one session, and a key opens one in a day";
      this.#violate(rule, `${call.name} opened ${id} for the order of ${first.call}`, [call.name, first.call]);
    }
    this.#sessions.set(order, { call: call.name, sessionId, forgottenAt: call.clock + KEY_SECONDS - SKEW_SECONDS });
  }
}
