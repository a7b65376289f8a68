import { createHmac } from "node:crypto";
import type { Chance } from "../../machine/chance.ts";
import { drawMood, type Mood, type Reply, replyOf } from "./moods.ts";
import type { Post } from "./post.ts";

/** What a server does that never gets well. */
const DEAD = ["error", "hangs", "refuses"] as const;

/** A company's server that webhooks post to. It verifies by the standard, with code of its own. */
export class Receiver {
  readonly url: string;
  readonly chance: Chance;
  /** The secret that it has now for each webhook of its URL. */
  readonly secrets = new Map<string, string>();
  /** What it does now. */
  mood: Mood | "well" = "well";
  /** What it may do when it is unwell. */
  readonly #moods: Partial<Record<Mood, number>>;
  #isDead = false;

  constructor(url: string, chance: Chance, moods: Partial<Record<Mood, number>>) {
    this.url = url;
    this.chance = chance;
    this.#moods = moods;
  }

  /** Something changes there. @param well the share of changes for the better */
  change(well: number): void {
    if (!this.#isDead) this.mood = this.chance.happens(well) ? "well" : drawMood(this.chance, this.#moods);
  }

  /** The end begins. @param hopeless the share of servers that never get well */
  end(hopeless: number): void {
    if (!this.#isDead) this.mood = this.chance.happens(hopeless) ? this.chance.one(DEAD) : "well";
  }

  /** It fails from now on, whatever happens. */
  die(): void {
    this.mood = this.chance.one(DEAD);
    this.#isDead = true;
  }

  /** What becomes of a post that has come as far as this. */
  meet(post: Post, now: number): Reply | "silence" | "before" | "after" {
    let { mood } = this;
    if (mood === "flaky")
      mood = this.chance.happens(0.5) ? "well" : drawMood(this.chance, { ...this.#moods, flaky: 0 });
    if (mood === "flaky") mood = "error";
    post.mood = mood;
    return replyOf(mood, this.chance, post.body, now);
  }

  /** The receiver has all of it. It refuses what it cannot verify. */
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
