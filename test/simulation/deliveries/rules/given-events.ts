import type { Model } from "../../checker/model.ts";
import type { Violate } from "../../checker/violate.ts";
import type { RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";

const EVENT_ID = /^evt_[0-9a-f]{32}$/;

/** An event gets its id and its seq once, and neither ever changes: docs/receiving.md. */
export class GivenEvents {
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #ids = new Map<string, { call: Call | undefined; key: string }>();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  /** Checks a changed row of `events`. Other rules say which call may write it. */
  changes(home: string, call: Call | undefined, { before, after }: RowChange): void {
    const author = call?.name ?? "a hand";
    const { site_id, seq, id } = after ?? before ?? {};
    const key = `${site_id}/${seq}`;
    const place = `${home}/${key}`;
    const report = (rule: string, what: string) =>
      this.#violate(rule, `${author}: ${place}: ${what}`, [author, String(id)]);
    if (after === null) return;
    if (before !== null) {
      // An event may be erased with SQL, or when an operator erases its customer.
      const isErased = (call === undefined || call.role === "operator") && after.data === null;
      if (!isErased) report("an event never changes", JSON.stringify({ before, after }));
      return;
    }
    const earlier = this.#ids.get(String(id));
    // A restore may undo an event between two tries of a call. Then the second try makes it again.
    const isThere = earlier?.key !== key && this.#model.home(home).outbox.events.get(String(earlier?.key))?.id === id;
    const isUndone = earlier?.call === call && !isThere;
    if (!EVENT_ID.test(String(id)) || (earlier !== undefined && !isUndone)) {
      report("each event has an id of its own, which nobody can guess", `its id is ${id}`);
    }
    this.#ids.set(String(id), { call, key });
    if (this.#model.givenSeqs.has(place)) report("no seq is given twice", "it was given before");
    this.#model.givenSeqs.add(place);
  }
}
