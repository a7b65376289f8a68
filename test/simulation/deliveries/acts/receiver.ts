import type { Chance } from "../../machine/chance.ts";
import { drawMood, type Mood, OUTCOMES, type Outcome } from "./moods.ts";
import type { Post } from "./post.ts";

/** The moods of a receiver that never gets well. */
const DEAD = ["error", "hangs", "refuses"] as const;

/** A company's server that webhooks post to. */
export class Receiver {
  readonly url: string;
  readonly chance: Chance;
  mood: Mood | "well" = "well";
  /** The moods that it may have when it is unwell, with their weights. */
  readonly #moods: Partial<Record<Mood, number>>;
  #isDead = false;
  /** The outcomes of posts for which an actor has made plans. */
  readonly plans = new WeakMap<Post, Outcome>();

  constructor(url: string, chance: Chance, moods: Partial<Record<Mood, number>>) {
    this.url = url;
    this.chance = chance;
    this.#moods = moods;
  }

  /** Draws a new mood. @param well the share of changes for the better */
  change(well: number): void {
    if (!this.#isDead) this.mood = this.chance.happens(well) ? "well" : drawMood(this.chance, this.#moods);
  }

  /** Stops answering, until its next change. */
  hang(): void {
    if (!this.#isDead) this.mood = "hangs";
  }

  /** Makes it well or dead for the end of the run. @param hopeless the share of receivers that never get well */
  end(hopeless: number): void {
    if (!this.#isDead) this.mood = this.chance.happens(hopeless) ? this.chance.one(DEAD) : "well";
  }

  /** Makes it fail for the rest of the run. */
  die(): void {
    this.mood = this.chance.one(DEAD);
    this.#isDead = true;
  }

  /** How it treats a post that has reached it. */
  meet(post: Post): Outcome {
    const plan = this.plans.get(post);
    post.mood = plan === undefined ? this.mood : "planned";
    return plan ?? OUTCOMES[this.mood](this.chance, post.body);
  }
}
