import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { fillDeliveries, setDeliveries } from "../../../support/deliveries.ts";
import { newWebhook, type TestWebhook } from "../../../support/new-webhook.ts";
import { NOW, World } from "../../../support/world.ts";

async function start() {
  const world = await World.create({ EVENTS: undefined }, "apac");
  const visitor = await ConsoleVisitor.signedIn(world);
  return { world, visitor, list: `/console/sites/${world.siteId}/webhooks` };
}

/** Changes the deliveries of some events to a webhook. */
const setSome = ({ id }: TestWebhook, assignments: string, where: string) =>
  env.HOME_APAC.prepare(`UPDATE deliveries SET ${assignments} WHERE webhook_id = ? AND ${where}`).bind(id).run();

const DELIVERED = `status = 'delivered', attempts = 1, next_attempt_at = NULL, last_status = 200, last_attempt_at = ${NOW - 120}`;
const FAILED = `status = 'failed', attempts = 8, next_attempt_at = NULL, last_status = 500, last_error = 'HTTP 500: oops', last_attempt_at = ${NOW - 60}`;
const RETRIED = `attempts = 2, next_attempt_at = ${NOW + 60}, last_error = 'no answer in 15 s', last_attempt_at = ${NOW - 30}`;

const DISABLED = { status: "disabled", disabled_at: NOW - 90 };

describe("the list of webhooks", () => {
  it("the list of webhooks has the worst first: disabled by the Worker or failing for minutes, then other failures", async () => {
    const { world, visitor, list } = await start();
    const hosts = {
      well: {},
      off: { status: "disabled", disabled_at: NOW - 9_000 },
      waits: {},
      failing: { failing_since: NOW - 299 },
      gone: { status: "disabled", disabled_reason: "gone", disabled_at: NOW - 500 },
      hangs: { failing_since: NOW - 900 },
    };
    for (const [name, row] of Object.entries(hosts)) {
      const webhook = await newWebhook(world, { url: `https://${name}.example.com/in`, ...row });
      if (name === "waits") {
        await fillDeliveries(webhook, 1);
        await setDeliveries(webhook, `created_at = ${NOW - 300}`);
      }
    }
    const { rows } = await visitor.open(list);
    expect(rows.map(([host]) => host?.split(".")[0])).toEqual(["hangs", "gone", "failing", "waits", "off", "well"]);
  });

  it("the list of webhooks shows each one's last failure, delivered share, waiting events and types", async () => {
    const { world, visitor, list } = await start();
    const webhook = await newWebhook(world, {
      url: "https://hooks.example.com/in?token=t",
      events: JSON.stringify(["session.created", "session.erased"]),
    });
    await fillDeliveries(webhook, 9);
    await setSome(webhook, DELIVERED, "seq <= 4");
    await setSome(webhook, FAILED, "seq = 5");
    await setSome(webhook, RETRIED, "seq IN (6, 7)");
    await setSome(webhook, "status = 'skipped', next_attempt_at = NULL", "seq = 8");
    const { rows } = await visitor.open(list);
    expect(rows).toEqual([
      [
        "hooks.example.com /in?token=t",
        "Enabled",
        "No answer within 15 s now",
        // Event 9 was not tried yet, and event 8 is skipped.
        "57% 4 of 7 tried",
        "3 oldest now",
        "2 of 5 session.created, session.erased",
      ],
    ]);
  });

  it("an empty list of webhooks says what a webhook is for", async () => {
    const { visitor, list } = await start();
    const page = await visitor.open(list);
    expect(page.text).toContain("No webhooks yet. A webhook tells a program of yours of each session");
    expect(page.has("Add a webhook")).toBe(true);
  });
});

describe("the health of a webhook", () => {
  let started: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    started = await start();
  });

  it("the health of a webhook counts nothing from before its URL was changed or it was enabled", async () => {
    const { page, visitor, list } = await open(
      async (webhook) => {
        await fillDeliveries(webhook, 2);
        await setSome(webhook, DELIVERED, "seq = 1");
        await setSome(webhook, FAILED, "seq = 2");
      },
      { health_since: NOW - 59, url: "https://moved.example.com/" },
    );
    expect(page.text).toContain("Enabled Nothing was delivered since its URL was changed or it was enabled.");
    expect(page.text).toContain("Delivered in 24 h – none tried");
    expect(page.text).toContain("Last success –");
    expect(page.text).not.toContain("Last failure");
    const { rows } = await visitor.open(list);
    expect(rows.find(([host]) => host?.startsWith("moved"))?.slice(1, 4)).toEqual(["Enabled", "–", "– none tried"]);
  });

  it("the health of a webhook says that the newest delivery took long, unless it fails", async () => {
    const text = "Its newest delivery took over 10 s.";
    const none = async () => {};
    expect((await open(none, { slow: 1 })).page.text).toContain(text);
    expect((await open(none, { slow: 0 })).page.text).not.toContain(text);
    expect((await open(none, { slow: 1, failing_since: NOW - 9 })).page.text).not.toContain(text);
  });

  it("the health of a webhook counts later attempts, also for older events", async () => {
    const { page } = await open(
      async (webhook) => {
        await fillDeliveries(webhook, 3);
        await setSome(webhook, DELIVERED, "seq < 3");
        await setSome(webhook, `${FAILED}, created_at = ${NOW - 500}`, "seq = 3");
      },
      { health_since: NOW - 60 },
    );
    expect(page.text).toContain("Delivered in 24 h 0% 0 of 1 tried");
  });

  it("a webhook that the Worker disabled and whose URL was changed shows that it must be enabled", async () => {
    const row = { status: "disabled", disabled_reason: "gone", disabled_at: NOW - 500, health_since: NOW - 60 };
    const { page } = await open(async () => {}, row);
    expect(page.text).toContain(
      "Disabled by the Worker Its URL was changed since: enable it to send to the new one. Delivered in 24 h",
    );
  });

  const open = async (set: (webhook: TestWebhook) => Promise<unknown>, row = {}) => {
    const { world, visitor, list } = started;
    const webhook = await newWebhook(world, row);
    await set(webhook);
    return { page: await visitor.open(`${list}/${webhook.id}`), visitor, list };
  };

  it("the page of a webhook shows its last failure with the time, the receiver's words, and what to do", async () => {
    const { page } = await open(
      async (webhook) => {
        await fillDeliveries(webhook, 3);
        await setSome(webhook, DELIVERED, "seq = 1");
        await setSome(webhook, FAILED, "seq = 2");
        // A running attempt has no result yet.
        await setSome(webhook, `${RETRIED}, claim = 'lease', last_attempt_at = ${NOW}`, "seq = 3");
      },
      { failing_since: NOW - 7_300, last_status: 500, last_cause: "status", last_failed_at: NOW - 60, last_seq: 2 },
    );
    expect(page.text).toContain(
      "Failing for 2 hours The receiver answered 500 · last tried 1 min ago It said: oops The receiver has a fault. Its own log says which.",
    );
    expect(page.text).toContain(
      "Delivered in 24 h 33% 1 of 3 tried Pending 1 oldest now Failed 1 Last success 2 min ago",
    );
  });

  it("the page of a webhook says why it fails even when no delivery shows it", async () => {
    const { page } = await open(async () => {}, {
      failing_since: NOW - 90_000,
      last_status: 526,
      last_cause: "status",
    });
    expect(page.text).toContain(
      "Failing for 1 day HTTP 526: the host&#39;s certificate is invalid".replace("&#39;", "'"),
    );
    expect(page.text).toContain("The host itself does not work. Whoever runs it must mend it.");
  });

  it.each<[string, (webhook: TestWebhook) => Promise<unknown>, string]>([
    [
      "nothing was sent yet",
      async () => {},
      "Enabled Nothing was delivered yet. A ping shows whether the receiver answers. Delivered in 24 h – none tried",
    ],
    [
      "all is delivered",
      async (webhook) => {
        await fillDeliveries(webhook, 3);
        await setDeliveries(webhook, DELIVERED);
      },
      "Enabled All is well: nothing waits. Delivered in 24 h 100% 3 of 3 tried",
    ],
    [
      "some wait for minutes",
      async (webhook) => {
        await fillDeliveries(webhook, 2);
        await setSome(webhook, DELIVERED, "seq = 2");
        await setSome(webhook, `${RETRIED}, created_at = ${NOW - 300}`, "seq = 1");
      },
      "Enabled Some events wait for their next attempt. Last failure: No answer within 15 s · now",
    ],
    [
      "one of many failed, which is not rounded up",
      async (webhook) => {
        await fillDeliveries(webhook, 300);
        await setDeliveries(webhook, DELIVERED);
        await setSome(webhook, FAILED, "seq = 1");
      },
      "Delivered in 24 h 99% 299 of 300 tried",
    ],
    [
      "more than 1,000 in the time",
      async (webhook) => {
        await fillDeliveries(webhook, 1_200);
        await setDeliveries(webhook, DELIVERED);
        await setSome(webhook, FAILED, "seq <= 250");
      },
      "Delivered in 24 h 95% 950 of 1,000 tried, of the last 1,000",
    ],
    [
      "older ones are not of the time",
      async (webhook) => {
        await fillDeliveries(webhook, 20);
        await setDeliveries(webhook, DELIVERED);
        await setSome(webhook, `${FAILED}, created_at = ${NOW - 86_401}`, "seq <= 15");
        await setSome(webhook, `created_at = ${NOW - 86_400}`, "seq = 16");
      },
      "Delivered in 24 h 100% 5 of 5 tried",
    ],
  ])("the page of a webhook describes its health when %s", async (_, set, text) => {
    expect((await open(set)).page.text).toContain(text);
  });

  const OF_ENABLED = ["Send again…", "Send a ping", "Drill the receiver"];
  it.each<[string, Record<string, unknown>, string[]]>([
    ["works", {}, OF_ENABLED],
    ["fails for its path", { last_status: 404 }, ["Change URL…", ...OF_ENABLED]],
    ["is redirected", { last_status: 308 }, ["Change URL…", ...OF_ENABLED]],
    ["fails for its certificate", { last_status: 526 }, ["Change URL…", ...OF_ENABLED]],
    ["cannot be connected", { last_cause: "no_connection" }, ["Change URL…", ...OF_ENABLED]],
    ["has a fault", { last_status: 503 }, OF_ENABLED],
    ["is too slow", { last_cause: "no_answer" }, OF_ENABLED],
    ["was disabled for 410", { last_status: 410, ...DISABLED, disabled_reason: "gone" }, ["Change URL…", "Enable"]],
    ["failed for days with 500", { last_status: 500, ...DISABLED, disabled_reason: "failing" }, ["Enable"]],
    ["was disabled by an operator", DISABLED, ["Enable"]],
    ["was moved since", { ...DISABLED, disabled_reason: "gone", health_since: NOW }, ["Enable"]],
  ])("the buttons of a webhook begin with the one that cures when it %s", async (_, row, buttons) => {
    const cause = "last_status" in row ? { last_cause: "status" } : {};
    const failing = "last_status" in row || "last_cause" in row ? { failing_since: NOW - 90 } : {};
    const { page } = await open(async () => {}, { ...cause, ...failing, ...row });
    const [card = ""] = /<div class="buttons actions".*?<details/s.exec(page.html) ?? [];
    const found = [
      ...card.matchAll(/<(?:a|button type="submit")( class="[^"]*"| [^>]*)?[^>]*>([^<]+)<\/(?:a|button)>/g),
    ];
    expect(found.map(([, , text]) => text)).toEqual(buttons);
    // Only the first looks like the main one.
    expect(found.map(([, attributes = ""]) => attributes.includes("plain"))).toEqual(buttons.map((_, i) => i > 0));
  });
});
