import { createHmac } from "node:crypto";
import type { Chance } from "../../machine/chance.ts";
import { drawMood, type Mood, type Reply, replyOf } from "./moods.ts";
import type { Post } from "./post.ts";

/** The moods of a receiver that never gets well. */
const DEAD = ["error", "hangs", "refuses"] as const;

/** A company's server that webhooks post to. It verifies by the standard, with its own code. */
export class Receiver {
  readonly url: string;
  readonly chance: Chance;
  /** Its current secret for each webhook of its URL. */
  readonly secrets = new Map<string, string>();
  /** Its current mood. */
  mood: Mood | "well" = "well";
  /** The moods that it may have when it is unwell, with their weights. */
  readonly #moods: Partial<Record<Mood, number>>;
  #isDead = false;

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

  /** The end of the run begins. @param hopeless the share of receivers that never get well */
  end(hopeless: number): void {
    if (!this.#isDead) this.mood = this.chance.happens(hopeless) ? this.chance.one(DEAD) : "well";
  }

  /** Makes it fail for the rest of the run. */
  die(): void {
    this.mood = this.chance.one(DEAD);
    this.#isDead = true;
  }

  /** How it treats a post that has reached it. */
  meet(post: Post, now: number): Reply | "silence" | "before" | "after" {
    let { mood } = this;
    if (mood === "flaky")
      mood = this.chance.happens(0.5) ? "well" : drawMood(this.chance, { ...this.#moods, flaky: 0 });
    if (mood === "flaky") mood = "error";
    post.mood = mood;
    return replyOf(mood, this.chance, post.body, now);
  }

  /** Called when the whole post has arrived. The receiver refuses a post that it cannot verify. */
  verify(post: Post): boolean {
    const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures = "" } = post.headers;
    const signed = `${id}.${timestamp}.${post.body}`;
    const isSignedWith = (secret: string) => {
      const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
      const signature = createHmac("sha256", key).update(signed).digest("base64");
      return signatures.split(" ").includes(`v1,${signature}`);
    };
    return [...this.secrets.values()].some(isSignedWith);
  }
}
