import { expect, it } from "vitest";
import { Chance } from "../../machine/chance.ts";
import { EPOCH } from "../../machine/program.ts";
import { runAs, Scheduler } from "../../machine/scheduler.ts";
import { Call } from "../call.ts";
import type { Air } from "../cloud/air.ts";
import { drawWeather } from "../weather.ts";
import { Internet } from "./internet.ts";
import type { Mood } from "./moods.ts";
import type { Post } from "./post.ts";

const URL_OF_HOOK = "https://hooks-1.example.com/in";

/** One receiver that treats every post alike, and a call that posts. */
function posting(mood: Mood | "well") {
  const scheduler = new Scheduler();
  const chance = new Chance(7);
  const told: { what: string; post: Post }[] = [];
  const tell = (what: string) => (post: Post) => void told.push({ what, post });
  const witness = { posts: tell("posts"), takes: tell("takes"), hears: tell("hears"), misses: tell("misses") };
  const air = { scheduler, chance, witness, isRough: () => false } as unknown as Air;
  const internet = new Internet(air, drawWeather(chance), () => EPOCH + scheduler.now);
  internet.makeReceiver(URL_OF_HOOK, chance);
  const receiver = internet.receivers.get(URL_OF_HOOK);
  if (receiver === undefined) throw new Error("there is no receiver");
  receiver.mood = mood;
  receiver.verify = () => true;
  const call = new Call("queue#1", "queue", { method: "", path: "", headers: {}, body: "" }, "ams");
  const post = (init: RequestInit = {}) =>
    runAs(call, () =>
      internet.fetch(URL_OF_HOOK, { method: "POST", body: "{}", redirect: "manual", ...init } as never),
    );
  /** Runs all turns to come, or those of some virtual milliseconds. */
  const settle = async (milliseconds = Number.POSITIVE_INFINITY) => {
    await new Promise(setImmediate);
    while (scheduler.nextAt !== undefined && scheduler.nextAt <= milliseconds) await scheduler.step();
  };
  return { call, internet, receiver, post, settle, told };
}

it("gives the answer of a server, and tells when it had the post and when it was heard", async () => {
  const { post, settle, told } = posting("well");
  const answer = post({ headers: { "Webhook-Id": "evt_1" } });
  await settle();
  expect((await answer).status).toBeLessThan(300);
  expect(told.map(({ what }) => what)).toEqual(["posts", "takes", "hears"]);
  expect(told[0]?.post).toMatchObject({ method: "POST", body: "{}", headers: { "webhook-id": "evt_1" } });
});

it("ends a post when its signal aborts, with the signal's reason", async () => {
  const { post, settle, told } = posting("hangs");
  const controller = new AbortController();
  const answer = post({ signal: controller.signal });
  await settle();
  controller.abort(new Error("enough"));
  await expect(answer).rejects.toThrow("enough");
  expect(told.at(-1)).toMatchObject({ what: "misses", post: { missed: "aborted" } });
});

it("lets six posts of an invocation wait for an answer, and no more", async () => {
  const { post, settle, told } = posting("hangs");
  const controllers = Array.from({ length: 8 }, () => new AbortController());
  const answers = controllers.map(({ signal }) => post({ signal }).catch(() => "aborted"));
  await settle();
  expect(told.filter(({ what }) => what === "takes")).toHaveLength(6);
  controllers[0]?.abort();
  await settle();
  expect(told.filter(({ what }) => what === "takes")).toHaveLength(7);
  for (const controller of controllers) controller.abort();
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 8 }, () => "aborted"));
});

it("reads a body without end until it is cancelled", async () => {
  const { post, settle } = posting("endless");
  const answer = post();
  await settle();
  const reader = (await answer).body?.getReader();
  const first = reader?.read();
  await settle();
  expect((await first)?.value?.length).toBe(300);
  await reader?.cancel();
  await settle();
});

it("follows a redirect unless it is told not to", async () => {
  const { post, settle, told } = posting("redirects");
  const answers = [post(), post({ redirect: "follow" }).catch(() => "lost")];
  await settle();
  await Promise.all(answers);
  const urls = told.filter(({ what }) => what === "posts").map(({ post: each }) => each.url);
  expect(urls.slice(0, 2)).toEqual([URL_OF_HOOK, URL_OF_HOOK]);
  expect(urls.length).toBeGreaterThan(2);
});

it("tells nothing to an invocation that was ended", async () => {
  const { call, internet, post, settle, told } = posting("slow");
  let isHeard = false;
  void post().finally(() => {
    isHeard = true;
  });
  await settle(100);
  call.alive = false;
  internet.end(call);
  await settle();
  expect(isHeard).toBe(false);
  expect(told.at(-1)).toMatchObject({ what: "misses", post: { missed: "ended" } });
});
