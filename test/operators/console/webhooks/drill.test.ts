import { afterEach, describe, expect, it, vi } from "vitest";
import { DRILL_CASE_NAMES } from "../../../../src/operators/services/drill-webhook.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import { start } from "../../../support/console-visitor.ts";
import { setWebhook } from "../../../support/deliveries.ts";
import { FAULTY_RECEIVERS, receive } from "../../../support/drilled-receivers.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { eventStore } from "../../../support/webhook-store.ts";
import { NOW } from "../../../support/world.ts";

afterEach(() => void vi.unstubAllGlobals());

const BUTTON = "Drill the receiver";

/** A site with a webhook, its receiver, and an operator before its page. */
async function begin(fault = {}) {
  const { world, visitor, site } = await start("main");
  const webhook = await newWebhook(world);
  const { posts } = receive({ secret: webhook.secret, now: () => world.clock.now }, fault);
  const path = `${site}/webhooks/${webhook.id}`;
  return { world, visitor, webhook, path, posts, page: await visitor.open(path) };
}

/** The sentences of the notice of a drill. */
const sentences = ({ html }: ConsolePage): string[] => {
  const [, notice = ""] = /<section class="notice (?:good|bad)"[^>]*><h2>[^<]*<\/h2>(.*?)<\/section>/s.exec(html) ?? [];
  return [...notice.matchAll(/<p>(.*?)<\/p>/gs)].map(([, text = ""]) => text);
};

const OWN_LOG = "The first two posts had the same webhook-id. Only its own log tells whether it acted on them once.";

describe("a drill on the page of a webhook", () => {
  it("a receiver that does everything right is told so, with what it answered to each case", async () => {
    const { world, visitor, webhook, posts, page } = await begin();
    const before = await eventStore(world);
    const drilled = await visitor.press(page, BUTTON);
    expect([drilled.status, drilled.notices, sentences(drilled)]).toEqual([
      200,
      ["Your receiver passed the drill."],
      [OWN_LOG],
    ]);
    expect(drilled.rows).toEqual([
      ["A good event", "2xx", "204", "Right"],
      ["The same event again", "2xx", "204", "Right"],
      ["A forged event", "4xx", "400", "Right"],
      ["An event that is 10 minutes old", "4xx", "400", "Right"],
      ["A body that was changed after it was signed", "4xx", "400", "Right"],
      ["An event whose second signature is right", "2xx", "204", "Right"],
    ]);
    expect(posts).toHaveLength(6);
    const row = { action: "webhook.drilled", actor: "console", at: NOW, subject: webhook.id, details: {} };
    expect(await eventStore(world)).toEqual({ ...before, audit: [...before.audit, row] });
  });

  it.each(Object.entries(FAULTY_RECEIVERS))(
    "a receiver that %s fails exactly the cases that show it, and its fault is named in a sentence",
    async (_, { parts, fails, says }) => {
      const { visitor, page, posts } = await begin(parts);
      const drilled = await visitor.press(page, BUTTON);
      expect(drilled.notices).toEqual(["Your receiver did not pass the drill."]);
      expect(DRILL_CASE_NAMES.filter((_name, i) => drilled.rows[i]?.at(-1) === "Wrong")).toEqual(fails);
      expect(posts).toHaveLength(6);
      expect(sentences(drilled)).toEqual([...says.map((each) => expect.stringMatching(each)), OWN_LOG]);
    },
  );

  it("the result of a drill is shown to its own console session, for two hours, and to nobody with another's address", async () => {
    const { world, visitor, path, page } = await begin();
    const shown = await visitor.press(page, BUTTON);
    const stranger = await visitorWithRole(world, "operator");
    const forged = `${path}?drilled=204,204,400,400,400,204.${NOW + 600}.${"A".repeat(43)}`;
    for (const other of [await stranger.open(shown.path), await visitor.open(forged)])
      expect([other.status, other.notices]).toEqual([200, []]);
    world.clock.now += 7_199;
    expect((await visitor.open(shown.path)).notices).toEqual(["Your receiver passed the drill."]);
    world.clock.now += 1;
    expect((await visitor.open(shown.path)).notices).toEqual([]);
  });

  it("the same press again posts nothing and shows the same result, and another drill within a minute is told to wait", async () => {
    const { world, visitor, path, page, posts } = await begin();
    const first = await visitor.press(page, BUTTON);
    expect((await visitor.press(page, BUTTON)).path).toBe(first.path);
    world.clock.now += 59;
    const early = await visitor.press(await visitor.open(path), BUTTON);
    expect([early.status, early.notices]).toEqual([
      200,
      ["Nothing was posted: it was drilled less than a minute ago. Wait a minute, and drill it again."],
    ]);
    expect(posts).toHaveLength(6);
    world.clock.now += 1;
    expect((await visitor.press(await visitor.open(path), BUTTON)).notices).toEqual([
      "Your receiver passed the drill.",
    ]);
    expect(posts).toHaveLength(12);
  });

  it("a drill of a webhook that was disabled meanwhile leads to its page, which says so, and posts nothing", async () => {
    const { visitor, webhook, path, page, posts } = await begin();
    await setWebhook(webhook, "status = 'disabled', disabled_at = 1");
    const refused = await visitor.press(page, BUTTON);
    expect([refused.path, refused.text.includes("Disabled by an operator."), refused.has(BUTTON)]).toEqual([
      path,
      true,
      false,
    ]);
    expect(posts).toEqual([]);
  });

  it("a drill of a webhook whose stored URL no webhook may have says what to change, and posts nothing", async () => {
    const { world, visitor, webhook, page, posts } = await begin();
    await setWebhook(webhook, "url = 'https://10.0.0.1/'");
    const refused = await visitor.press(page, BUTTON);
    expect([refused.status, refused.notices]).toEqual([
      200,
      ["Nothing was posted: events cannot be posted to this URL. Change it first."],
    ]);
    expect(posts).toEqual([]);
    expect((await eventStore(world)).audit).toEqual([]);
  });

  it("a viewer sees no button for a drill, and the result of a drill is in Chinese for who reads Chinese", async () => {
    const { world, visitor, path, page } = await begin({ refused: 204 });
    expect((await (await visitorWithRole(world, "viewer")).open(path)).has(BUTTON)).toBe(false);
    const drilled = await visitor.press(page, BUTTON);
    const chinese = await visitor.press(drilled, "中文");
    expect(chinese.notices).toEqual(["接收方没有通过演练。"]);
    expect(sentences(chinese)).toContain("接收方接受了伪造的事件：没有验证签名，或没有验证整个签名。");
  });
});
