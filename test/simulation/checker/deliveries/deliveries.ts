import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Post } from "../../world/receivers/post.ts";
import { isPostable, leftPending } from "../admin/webhook-answers.ts";
import { DISABLED } from "../admin/webhook-writes.ts";
import { keyOf } from "../events/outbox-model.ts";
import type { Model } from "../model.ts";
import type { Violate } from "../violate.ts";
import { type Attempt, clockOf, isAt, isSuccess } from "./attempt.ts";
import { Invocations } from "./invocations.ts";
import { isLease, wrongLease } from "./leases.ts";
import { Liveness } from "./liveness.ts";
import { wrongLeftover, wrongResult } from "./results.ts";
import { wrongTurn } from "./turns.ts";
import { missedHealth, wrongHealth, wrongOwnAudit } from "./webhook-health.ts";
import { wrongPost } from "./wire.ts";

type Broken = [rule: string, what: string] | undefined;

/** Follows each delivery from its lease to its post, and from the post to the recorded result. */
export class Deliveries {
  readonly liveness = new Liveness();
  readonly #model: Model;
  readonly #violate: Violate;
  /** The attempts of each run of the consumer. */
  readonly #attempts = new Map<Call, Attempt[]>();
  readonly #byPost = new Map<Post, Attempt>();
  /** The call that made each lease. */
  readonly #holders = new Map<string, Call>();
  readonly #invocations = new Invocations();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  #report(call: Call, about: string, broken: Broken): void {
    if (broken !== undefined) this.#violate(broken[0], `${call.name} ${about}: ${broken[1]}`, [call.name]);
  }

  /**
   * A run of the consumer has changed rows. The model applies them one by one. @param now Unix seconds by the right
   * clock
   */
  checkWritten(
    home: string,
    call: Call,
    changes: readonly Change[],
    apply: (change: Change) => void,
    now: number,
  ): void {
    const written: Attempt[] = [];
    const isFirst = !this.#attempts.get(call)?.some((each) => each.home === home);
    for (const change of changes) {
      const wrong = this.#wrong(home, call, change, written);
      this.#report(call, `at ${home} ${JSON.stringify(change)}`, wrong);
      const isToBeTried = change.table === "deliveries" && change.after?.status === "pending" && !isLease(change);
      if (isToBeTried) this.liveness.fails(home, call, change.after as Row, now);
      apply(change);
    }
    const unaudited = wrongOwnAudit(changes);
    if (unaudited !== undefined) {
      this.#report(call, `at ${home}`, ["each webhook that the Worker disables is in the audit log", unaudited]);
    }
    const { outbox } = this.#model.home(home);
    const leases = changes.filter((change) => change.table === "deliveries" && isLease(change));
    this.#report(call, `at ${home}`, wrongTurn(outbox, home, call, leases, isFirst));
    for (const { table, after } of changes) {
      const left = table === "webhooks" && after?.status === "disabled" ? leftPending(outbox, after) : undefined;
      if (left !== undefined)
        this.#report(call, `at ${home}`, ["a pending delivery of a disabled webhook fails", left]);
    }
    for (const [key, webhook] of outbox.webhooks) {
      const its = written.filter((each) => each.key.startsWith(`${key}/`));
      if (its.length > 0) this.#report(call, `at ${home}`, missedHealth(call, webhook, its));
    }
  }

  #wrong(home: string, call: Call, change: Change, written: Attempt[]): Broken {
    const { table, before, after } = change;
    if (call.settings.closedHomes.includes(home)) return ["a closed home is not written to", ""];
    if (table === "audit_log") return undefined;
    const own = this.#attempts.get(call) ?? [];
    if (table === "webhooks") {
      const its = own.filter((each) => each.home === home && each.key.startsWith(`${keyOf(table, after ?? {})}/`));
      return wrongHealth(call, change, its);
    }
    if (table !== "deliveries" || before === null || after === null) {
      return ["the consumer changes deliveries and their webhooks only", ""];
    }
    if (isLease(change)) return this.#lease(home, call, change);
    const key = keyOf(table, after);
    const attempts = own.filter((each) => each.home === home && each.key === key);
    const mine = attempts.findLast(({ lease }) => lease === before.claim);
    if (after.status === "failed" && after.last_error === DISABLED) {
      const wrong = wrongLeftover(change, this.#model.home(home).outbox.webhookOf(after));
      return wrong === undefined ? undefined : ["a pending delivery of a disabled webhook fails", wrong];
    }
    const heard = attempts.filter(({ post }) => post !== undefined && isSuccess(post));
    if (after.status === "delivered") for (const each of heard) each.isWritten = true;
    written.push(...(after.status === "delivered" ? heard.slice(-1) : mine === undefined ? [] : [mine]));
    // A second try of the lease reads the event again, which may have been erased since the first try.
    if (mine !== undefined && after.status === "skipped") mine.event = this.#model.home(home).outbox.eventOf(after);
    return wrongResult(change, mine, attempts);
  }

  #lease(home: string, call: Call, change: Change): Broken {
    const { outbox } = this.#model.home(home);
    const wrong =
      wrongLease(this.#model.home(home), call, change) ?? this.liveness.wrongBegin(this.#model.home(home), change);
    if (wrong !== undefined) return wrong;
    const after = change.after as Row;
    const lease = String(after.claim);
    const holder = this.#holders.get(lease) ?? call;
    if (holder !== call) return ["each attempt has a lease of its own", `${lease} is one of ${holder.name}`];
    this.#holders.set(lease, call);
    const all = this.#attempts.get(call) ?? [];
    this.#attempts.set(call, all);
    all.push({
      ...{ call, home, key: keyOf("deliveries", after), lease, number: Number(after.attempts) },
      ...{ leasedAt: Number(after.next_attempt_at) - 60, webhooks: [outbox.webhookOf(after) as Row] },
      ...{ event: outbox.eventOf(after), post: undefined, endedAt: undefined, isWritten: false },
    });
    return undefined;
  }

  /** A webhook was changed: an attempt that is not posted yet may use either state of it. */
  webhookChanges(home: string, { after }: Change): void {
    if (after === null) return;
    const key = `${after.site_id}/${after.id}/`;
    for (const [call, attempts] of this.#attempts) {
      if (!call.alive) continue;
      for (const each of attempts) {
        if (each.home === home && each.post === undefined && each.key.startsWith(key)) each.webhooks.push(after);
      }
    }
  }

  posts(post: Post): void {
    const { call, url, name } = post;
    this.#report(call, name, this.#invocations.begins(post));
    if (!isPostable(url)) this.#report(call, name, ["events are posted only where they may be", url]);
    const open = (this.#attempts.get(call) ?? []).filter((each) => each.post === undefined);
    const meant = open.filter(
      ({ event, webhooks }) => event?.id === post.headers["webhook-id"] && webhooks.some((each) => isAt(post, each)),
    );
    const attempt = meant.find((each) => wrongPost(each, post, this.#model.secrets) === undefined) ?? meant[0];
    if (attempt === undefined) {
      const id = post.headers["webhook-id"];
      this.#report(call, name, [
        "each post is one leased attempt, with its event's id, at its webhook's URL",
        `${id} at ${url}`,
      ]);
      return;
    }
    attempt.post = post;
    this.#byPost.set(post, attempt);
    this.#report(call, name, wrongPost(attempt, post, this.#model.secrets));
    if (clockOf(call) >= attempt.leasedAt + 60) {
      this.#report(call, name, ["nothing is posted after its lease", `it was leased at ${attempt.leasedAt}`]);
    }
  }

  /** The Worker knows the result of a post. */
  ends(post: Post, now: number): void {
    const attempt = this.#byPost.get(post);
    if (attempt !== undefined) attempt.endedAt ??= clockOf(post.call);
    this.#report(post.call, post.name, this.#invocations.ends(post, now));
  }

  /** The run has ended. @param now Unix seconds */
  runEnds(now: number): void {
    for (const home of this.#model.homes.values()) {
      const wrong = this.liveness.wrongEnd(home, now);
      if (wrong !== undefined) this.#violate(wrong[0], wrong[1], []);
    }
    for (const [call, attempts] of this.#attempts) {
      const forgotten =
        !call.wasEnded && call.faults.length === 0 ? attempts.find((each) => this.#isForgotten(each)) : undefined;
      const rule = "a success is recorded, whoever holds the lease";
      if (forgotten !== undefined) this.#report(call, forgotten.key, [rule, `${forgotten.post?.name} is not recorded`]);
    }
  }

  #isForgotten({ home, key, post, isWritten, endedAt }: Attempt): boolean {
    if (isWritten || endedAt === undefined || post === undefined || !isSuccess(post)) return false;
    // Another attempt may have recorded a success of the same delivery.
    const delivery = this.#model.home(home).outbox.deliveries.get(key);
    return delivery !== undefined && delivery.status !== "delivered" && Number(delivery.created_at) <= endedAt;
  }

  /** A home was restored: results that were recorded after the point are gone, which is no fault of the Worker. */
  restored(home: string): void {
    for (const each of [...this.#attempts.values()].flat()) if (each.home === home) each.isWritten = true;
  }
}
