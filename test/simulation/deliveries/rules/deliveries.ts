import type { Model } from "../../checker/model.ts";
import type { BrokenRule, Violate } from "../../checker/violate.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Post } from "../acts/post.ts";
import { type Attempt, clockOf, isAt, isSuccess, SKEW_SECONDS } from "./attempt.ts";
import { isLease, LEASE_SECONDS, wrongLease } from "./leases.ts";
import { Liveness } from "./liveness.ts";
import { isOutbox, keyOf } from "./outbox-model.ts";
import { wrongPlaces } from "./places.ts";
import { wrongLeftover, wrongResult } from "./results.ts";
import { PLACES, WaitingTurns, wrongOrder } from "./turns.ts";
import { DISABLED_EVENT, WebhookEvents } from "./webhook-events.ts";
import { disabledIn, missedHealth, stuckKeysIn, wrongHealth, wrongLeft, wrongOwnAudit } from "./webhook-health.ts";
import { wrongPost } from "./wire.ts";

/** Follows each delivery from its lease to its post, and from the post to the recorded result. */
export class Deliveries {
  readonly liveness = new Liveness();
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #attempts = new Map<Call, Attempt[]>();
  readonly #byPost = new Map<Post, Attempt>();
  /** The call that made each lease. */
  readonly #holders = new Map<string, Call>();
  readonly #waitingTurns = new WaitingTurns();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  arrives(call: Call, now: number): void {
    this.liveness.arrives(this.#model, call, now);
    this.#waitingTurns.arrives(this.#model, call);
  }

  #report(call: Call, about: string, wrong: BrokenRule): void {
    if (wrong !== undefined) this.#violate(wrong[0], `${call.name} ${about}: ${wrong[1]}`, [call.name]);
  }

  /**
   * Checks the rows that a run of the consumer has changed. The model applies them one by one.
   *
   * @param now Unix seconds by the platform's clock
   */
  checkWritten(
    home: string,
    call: Call,
    changes: readonly RowChange[],
    apply: (change: RowChange) => void,
    now: number,
  ): void {
    const results: Attempt[] = [];
    const model = this.#model.home(home);
    const { outbox } = model;
    const ownEvents = new WebhookEvents(model);
    // An isolate whose clock is slow may not see that a delivery has been due for a day.
    const stuckKeys = stuckKeysIn(outbox, clockOf(call) - SKEW_SECONDS);
    for (const change of changes) {
      const wrong = this.#wrong(home, call, change, { results, ownEvents, now });
      this.#report(call, `at ${home} ${JSON.stringify(change)}`, wrong);
      const isToBeTried = change.table === "deliveries" && change.after?.status === "pending" && !isLease(change);
      if (isToBeTried && change.before !== null) {
        this.liveness.fails(model, call, change.after as Row, now);
      }
      apply(change);
      for (const webhook of disabledIn([change])) ownEvents.mustWrite(DISABLED_EVENT, webhook);
    }
    const report = (wrong: BrokenRule) => this.#report(call, `at ${home}`, wrong);
    report(ownEvents.missed());
    report(wrongOwnAudit(changes));
    const leases = changes.filter((change) => change.table === "deliveries" && isLease(change));
    report(wrongOrder(outbox, leases));
    const earlier = (this.#attempts.get(call) ?? []).filter((each) => each.home === home);
    const begun = earlier.splice(earlier.length - leases.length);
    report(wrongPlaces(outbox, home, call, { earlier, begun, due: this.#waitingTurns.of(call, home) }));
    for (const { after } of leases) this.#waitingTurns.begins(outbox, home, after as Row);
    report(wrongLeft(outbox, changes));
    for (const [key, webhook] of outbox.webhooks) {
      const ofWebhook = results.filter((each) => each.key.startsWith(`${key}/`));
      report(missedHealth(call, outbox, webhook, { attempts: ofWebhook, stuckKeys }));
    }
  }

  #wrong(
    home: string,
    call: Call,
    change: RowChange,
    { results, ownEvents, now }: { results: Attempt[]; ownEvents: WebhookEvents; now: number },
  ): BrokenRule {
    const { table, before, after } = change;
    const { outbox } = this.#model.home(home);
    if (call.settings.closedHomes.includes(home)) return ["a closed home is not written to", ""];
    if (table === "audit_log") return undefined;
    const all = this.#attempts.get(call) ?? [];
    if (table === "webhooks") {
      const attempts = all.filter((each) => each.home === home && each.key.startsWith(`${keyOf(table, after ?? {})}/`));
      return wrongHealth(call, outbox, change, attempts);
    }
    if (before === null && isOutbox(table)) return ownEvents.wrong(change, { from: call.clock, to: clockOf(call) });
    if (table !== "deliveries" || before === null || after === null) {
      return ["the consumer changes deliveries and their webhooks only", ""];
    }
    if (isLease(change)) return this.#lease(home, call, change, now);
    const key = keyOf(table, after);
    const attempts = all.filter((each) => each.home === home && each.key === key);
    const holder = attempts.findLast(({ lease }) => lease === before.claim);
    const webhook = outbox.webhookOf(after);
    if (webhook?.status === "disabled" && after.status === "failed") {
      const wrong = wrongLeftover(change, webhook);
      if (wrong === undefined) return undefined;
      // A result may be recorded before the sweep ends the delivery.
      if (holder === undefined) return ["a pending delivery of a disabled webhook fails", wrong];
    }
    const successes = attempts.filter(isSuccess);
    if (after.status === "delivered") for (const each of successes) each.isWritten = true;
    results.push(...(after.status === "delivered" ? successes.slice(-1) : holder === undefined ? [] : [holder]));
    // A second try of the lease reads the event again. It may have been erased since the first try.
    if (holder !== undefined && after.status === "skipped") holder.event = outbox.eventOf(after);
    const { data = null } = outbox.eventOf(after) ?? {};
    return wrongResult(change, holder, attempts, data !== null);
  }

  #lease(home: string, call: Call, change: RowChange, now: number): BrokenRule {
    const model = this.#model.home(home);
    const { outbox } = model;
    const wrong = wrongLease(model, call, change) ?? this.liveness.wrongBegin(model, change, now);
    if (wrong !== undefined) return wrong;
    const after = change.after as Row;
    if (this.#model.isEndAnswered(home, Number(after.site_id))) {
      return ["no attempt begins for a site that ended", `site ${after.site_id}`];
    }
    const lease = String(after.claim);
    const holder = this.#holders.get(lease) ?? call;
    if (holder !== call) return ["each attempt has a lease of its own", `${lease} is one of ${holder.name}`];
    this.#holders.set(lease, call);
    const all = this.#attempts.get(call) ?? [];
    this.#attempts.set(call, all);
    all.push({
      call,
      home,
      key: keyOf("deliveries", after),
      lease,
      number: Number(after.attempts),
      leasedAt: Number(after.next_attempt_at) - LEASE_SECONDS,
      webhooks: [outbox.webhookOf(after) as Row],
      event: outbox.eventOf(after),
      post: undefined,
      endedAt: undefined,
      endedMs: undefined,
      isWritten: false,
    });
    return undefined;
  }

  /** Notes a change of a webhook: an attempt that is not posted yet may use the old or the new state. */
  webhookChanges(home: string, { after }: RowChange): void {
    if (after === null) return;
    this.liveness.webhookChanges(home, after);
    const key = `${after.site_id}/${after.id}/`;
    this.#waitingTurns.leaves(`${home}/${after.site_id}/${after.id}`);
    for (const [call, attempts] of this.#attempts) {
      if (!call.alive) continue;
      for (const each of attempts) {
        if (each.home === home && each.post === undefined && each.key.startsWith(key)) each.webhooks.push(after);
      }
    }
  }

  posts(post: Post): void {
    const { call, url, name } = post;
    const all = this.#attempts.get(call) ?? [];
    const matches = all.filter(
      ({ post: earlier, event, webhooks }) =>
        earlier === undefined && event?.id === post.headers["webhook-id"] && webhooks.some((each) => isAt(post, each)),
    );
    const attempt = matches.find((each) => wrongPost(each, post, this.#model.secrets) === undefined) ?? matches[0];
    if (attempt === undefined) {
      const rule = "each post is one leased attempt, with its event's id, at its webhook's URL";
      this.#report(call, name, [rule, `${post.headers["webhook-id"]} at ${url}`]);
      return;
    }
    const open = all.filter((each) => each.post?.isOpen === true).length;
    if (open >= PLACES) this.#report(call, name, ["a run has at most six posts in flight", `it has ${open}`]);
    attempt.post = post;
    this.#byPost.set(post, attempt);
    this.#report(call, name, wrongPost(attempt, post, this.#model.secrets));
    if (clockOf(call) >= attempt.leasedAt + LEASE_SECONDS) {
      this.#report(call, name, [
        "nothing is posted after the end of its lease",
        `it was leased at ${attempt.leasedAt}`,
      ]);
    }
  }

  /** Notes that the Worker knows the result of a post. @param now milliseconds of virtual time */
  ends(post: Post, now: number): void {
    const attempt = this.#byPost.get(post);
    if (attempt === undefined) return;
    attempt.endedAt ??= clockOf(post.call);
    attempt.endedMs ??= now;
  }

  /** Checks a run of the consumer that has ended. @param now Unix seconds */
  runEnds(now: number): void {
    for (const home of this.#model.homes.values()) {
      const wrong = this.liveness.wrongEnd(home, now);
      if (wrong !== undefined) this.#violate(wrong[0], wrong[1], []);
    }
    const rule = "a success is recorded, whoever holds the lease";
    for (const [call, attempts] of this.#attempts) {
      if (call.wasEnded || call.faults.length > 0) continue;
      const attempt = attempts.find((each) => this.#isForgotten(each));
      if (attempt !== undefined) this.#report(call, attempt.key, [rule, `${attempt.post?.name} is not recorded`]);
    }
  }

  #isForgotten(attempt: Attempt): boolean {
    const { home, key, isWritten, endedAt } = attempt;
    if (isWritten || endedAt === undefined || !isSuccess(attempt)) return false;
    // Another attempt may have recorded a success of the same delivery.
    const delivery = this.#model.home(home).outbox.deliveries.get(key);
    return delivery !== undefined && delivery.status !== "delivered" && Number(delivery.created_at) <= endedAt;
  }

  /** Forgets the results of a restored home: the restore has undone those that were recorded after its point. */
  restored(home: string): void {
    for (const each of [...this.#attempts.values()].flat()) if (each.home === home) each.isWritten = true;
  }
}
