import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { EVENT_TYPES } from "../../../../src/operators/services/webhooks.ts";
import { accessWorld, visitorWithRole } from "../../../support/access-world.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import { type ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { fillDeliveries, setDeliveries, setWebhook } from "../../../support/deliveries.ts";
import { newWebhook, type TestWebhook } from "../../../support/new-webhook.ts";
import { NOW, World } from "../../../support/world.ts";

const URL_OF = "https://hooks.example.com/agent-session";
const ALL = [...EVENT_TYPES];
/** All types except the first, which the forms below leave unticked. */
const [FIRST = "", ...OTHERS] = ALL;
const WITHOUT_FIRST = { [FIRST]: "" };

/** Nothing is posted, because no queue hands deliveries over. */
const begin = () => start("main", { EVENTS: undefined });

/** The stored webhooks of the site, whether its events are on, and the actions in its audit log. */
async function storedOf({ siteId }: World) {
  const rows = async (sql: string) => (await env.DB.prepare(sql).bind(siteId).all<Record<string, unknown>>()).results;
  const webhooks = await rows(
    "SELECT url, events, status, disabled_reason FROM webhooks WHERE site_id = ? ORDER BY id",
  );
  const audit = await rows("SELECT action, details FROM audit_log WHERE site_id = ? ORDER BY id");
  return {
    webhooks: webhooks.map((each) => ({ ...each, events: JSON.parse(String(each.events)) })),
    events: (await rows("SELECT events FROM home_sites WHERE site_id = ?"))[0]?.events,
    audit: audit.map(({ action }) => action).filter((action) => /webhook|events/.test(String(action))),
  };
}

describe("a webhook", () => {
  it("a new webhook turns the site's events on, and its secret is shown only on its own page", async () => {
    const { world, visitor, site } = await begin();
    const list = await visitor.open((await visitor.open(site)).link("Webhooks"));
    expect(list.text).toContain("No webhooks yet.");
    expect(ALL.map((type) => list.value(type))).toEqual(ALL.map(() => "on"));
    const page = await visitor.press(list, "Add a webhook", { URL: URL_OF });
    expect([page.status, page.heading]).toEqual([200, "The webhook was added"]);
    expect(page.code("secret")).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(page.link("How a receiver verifies")).toBe("/docs/receiving/#verify");
    expect(page.headers.get("refresh")).toBe("600");
    // The same form again adds no second webhook.
    expect((await visitor.press(list, "Add a webhook", { URL: URL_OF })).path).toBe(page.path);
    expect(await storedOf(world)).toEqual({
      webhooks: [{ url: URL_OF, events: ALL, status: "enabled", disabled_reason: null }],
      events: 1,
      audit: ["webhook.added", "site.events_on"],
    });
    const own = await visitor.open(page.link("I have saved it"));
    expect([own.heading, own.text.includes(URL_OF)]).toEqual(["hooks.example.com", true]);
    const all = await visitor.open(`${site}/webhooks`);
    const types = `All ${ALL.join(", ")}`;
    expect(all.rows).toEqual([["hooks.example.com /agent-session", "Enabled", "–", "– none tried", "0", types]]);
    const log = await visitor.open(`${site}/audit`);
    expect(log.text).toContain("Webhook added");
    expect(log.text).not.toContain("/agent-session");
    for (const { html } of [own, all, log]) expect(html).not.toContain(page.code("secret"));
    world.clock.now += 601;
    const late = await visitor.open(page.path);
    expect([late.status, late.heading]).toEqual([410, "This secret is no longer shown"]);
  });

  it("the form for a webhook keeps its fields after a wrong URL, and adds the webhook once the URL is right", async () => {
    const { world, visitor, site } = await begin();
    const form = await visitor.open(`${site}/webhooks`);
    const valuesOf = (page: ConsolePage) => [page.value("URL"), ...ALL.map((type) => page.value(type))];
    const values = ["http://hooks.example.com/", "", ...OTHERS.map(() => "on")];
    const page = await visitor.press(form, "Add a webhook", { URL: "http://hooks.example.com/", ...WITHOUT_FIRST });
    expect([page.status, page.notices]).toEqual([400, ["Nothing was changed."]]);
    // test/events/url.test.ts tests which URLs break which rule.
    expect(page.error("URL")).toBe("Must be an absolute https URL");
    expect(valuesOf(page)).toEqual(values);
    expect(await storedOf(world)).toEqual({ webhooks: [], events: 0, audit: [] });
    const chinese = await visitor.press(page, "中文");
    expect(valuesOf(chinese)).toEqual(values);
    expect(chinese.text).not.toContain("Must be an absolute https URL");
    await visitor.submit(page, "Add a webhook", { URL: URL_OF });
    expect((await storedOf(world)).webhooks).toMatchObject([{ events: OTHERS }]);
  });

  it("the form for a webhook needs at least one type of event", async () => {
    const { world, visitor, site } = await begin();
    const none = { URL: URL_OF, ...Object.fromEntries(ALL.map((type) => [type, ""])) };
    const page = await visitor.press(await visitor.open(`${site}/webhooks`), "Add a webhook", none);
    expect([page.status, page.error("Events"), page.value("URL")]).toEqual([
      400,
      "Must be a list of 1 to 100 types of events",
      URL_OF,
    ]);
    expect((await storedOf(world)).webhooks).toEqual([]);
  });

  it("a webhook is changed on its page, and the audit log names only the origin of the URL", async () => {
    const { world, visitor, site } = await begin();
    const { id, url } = await newWebhook(world, { events: JSON.stringify(ALL) });
    const form = await visitor.open((await visitor.open(`${site}/webhooks/${id}`)).link("Change URL and events…"));
    expect([form.value("URL"), ...ALL.map((type) => form.value(type))]).toEqual([url, ...ALL.map(() => "on")]);
    const change = { URL: "https://new.example.com/token-in-path", ...WITHOUT_FIRST };
    const page = await visitor.press(form, "Save", change);
    expect([page.notices, page.heading]).toEqual([["Saved."], "new.example.com"]);
    expect(await storedOf(world)).toMatchObject({
      webhooks: [{ url: change.URL, events: OTHERS }],
      audit: ["webhook.changed"],
    });
    const log = await visitor.open(`${site}/audit`);
    expect(log.text).toContain("Webhook changed");
    expect(log.text).toContain("origin https://hooks.example.com → https://new.example.com");
    expect(log.text).not.toContain("token-in-path");
    const bad = await visitor.press(await visitor.open(`${site}/webhooks/${id}/settings`), "Save", {
      URL: "https://10.0.0.1/",
    });
    expect([bad.status, bad.link("URL"), bad.value("URL")]).toEqual([400, "#url", "https://10.0.0.1/"]);
    expect((await storedOf(world)).webhooks).toMatchObject([{ url: change.URL }]);
  });

  it("the console shows the real URL of a webhook, without control characters and look-alike letters", async () => {
    const { world, visitor, site } = await begin();
    const { id } = await newWebhook(world, { url: "https://ex\u0430mple.com/\u202egpj.exe" });
    const [row] = (await visitor.open(`${site}/webhooks`)).rows;
    expect(row?.[0]).toBe("xn--exmple-4nf.com /%E2%80%AEgpj.exe");
    const askPage = await visitor.open(`${site}/webhooks/${id}/delete`);
    expect(askPage.text).toContain("https://xn--exmple-4nf.com/%E2%80%AEgpj.exe");
  });

  it("webhooks of one host differ by their paths for operators and by numbers for viewers, in the list and in titles", async () => {
    const world = await accessWorld();
    const list = `/console/sites/${world.siteId}/webhooks`;
    const urls = ["/old", "/in?token=t", "/in?token=u"].map((end) => `https://hooks.example.com${end}`);
    const webhooks: TestWebhook[] = [];
    for (const [i, url] of [...urls, "https://alone.example.com/in"].entries())
      webhooks.push(await newWebhook(world, { url, created_at: NOW - 9 + i }));
    const operator = await visitorWithRole(world, "operator");
    const viewer = await visitorWithRole(world, "viewer");
    const titleOf = ({ html }: ConsolePage) => /<title>([^<]*) · Site/.exec(html)?.[1];
    const seen = async (visitor: ConsoleVisitor) => {
      const names = (await visitor.open(list)).rows.map(([name]) => name);
      const pages = await Promise.all(webhooks.map(({ id }) => visitor.open(`${list}/${id}`)));
      return { names, headings: pages.map(({ heading }) => heading), titles: pages.map(titleOf) };
    };
    const host = "hooks.example.com";
    const numbered = [`${host} (1)`, `${host} (2)`, `${host} (3)`];
    const paths = [`${host}/old`, `${host}/in (1)`, `${host}/in (2)`];
    expect(await seen(operator)).toEqual({
      names: [...paths.map((name) => name.replace("/", " /")), "alone.example.com /in"],
      headings: [...paths, "alone.example.com"],
      // Browsers keep titles in their history, and a path may hold a token.
      titles: [...numbered, "alone.example.com"],
    });
    const all = [...numbered, "alone.example.com"];
    expect(await seen(viewer)).toEqual({ names: all, headings: all, titles: all });
    const settings = await operator.open(`${list}/${webhooks[1]?.id}/settings`);
    expect(settings.link(`${host}/in (1)`)).toBe(`${list}/${webhooks[1]?.id}`);
  });

  it("the console disables a webhook after a page about its pending deliveries, and enables it again", async () => {
    const { world, visitor, site } = await begin();
    const { id } = await newWebhook(world);
    const path = `${site}/webhooks/${id}`;
    await world.chatId();
    const askPage = await visitor.open((await visitor.open(path)).link("Disable…"));
    expect(askPage.heading).toBe("Disable this webhook?");
    expect(askPage.text).toContain("What was pending fails, and can be sent again once it is enabled.");
    expect(askPage.link("Cancel")).toBe(path);
    const page = await visitor.press(askPage, "Disable");
    expect([page.path.split("?")[0], page.notices]).toEqual([
      path,
      ["Saved.", "Disabled by an operator. On 15 Jan 2027, 08:00."],
    ]);
    expect(page.rows).toEqual([["session.created 1", "Failed", "The webhook is disabled", "Session 1", "now"]]);
    for (const button of ["Send a ping", "Send all failed again (1)"])
      expect([button, page.has(button)]).toEqual([button, false]);
    expect(() => page.link("Send again…")).toThrow("no link");
    expect((await visitor.open(`${site}/webhooks`)).rows[0]?.[1]).toBe("Disabled");
    // A disabled webhook needs no confirmation.
    expect((await visitor.open(`${path}/disable`)).path).toBe(path);
    const enabled = await visitor.press(page, "Enable");
    const since = "The webhook is enabled. It got nothing since 15 Jan 2027, 08:00.";
    expect([enabled.notices, enabled.has("Send all failed again (1)")]).toEqual([[since], true]);
    expect(enabled.text).not.toContain("Disabled by an operator.");
    expect((await storedOf(world)).audit).toEqual(["webhook.disabled", "webhook.enabled"]);
  });

  it.each([
    ["gone", "Disabled by the Worker: the receiver answered 410.", "已由 Worker 停用：接收方返回了 410。"],
    [
      "failing",
      "Disabled by the Worker: nothing but failures for 5 days.",
      "已由 Worker 停用：连续 5 天全部投递失败。",
    ],
  ])("the console says that the Worker disabled a webhook, and why: %s", async (reason, english, chinese) => {
    const { world, visitor, site } = await begin();
    const state = {
      status: "disabled",
      disabled_reason: reason,
      disabled_at: NOW - 3_600,
      failing_since: NOW - 500_000,
    };
    const failure = { last_status: 410, last_cause: "status", last_failed_at: NOW - 3_600, last_seq: 1 };
    const webhook = await newWebhook(world, { ...state, ...failure });
    const { id } = webhook;
    await fillDeliveries(webhook, 1);
    const words = "HTTP 410: <b>gone</b> \u202e";
    await setDeliveries(webhook, `status = 'failed', last_status = 410, last_error = '${words}'`);
    const page = await visitor.open(`${site}/webhooks/${id}`);
    expect(page.notices).toEqual([`${english} On 15 Jan 2027, 07:00.`]);
    const text = "Disabled by the Worker The receiver answered 410 · last tried 1 hr ago";
    expect(page.text).toContain(`${text} It said: <b>gone</b>`);
    expect(page.html).toContain('<q class="long">&lt;b&gt;gone&lt;/b&gt; \u202e</q>');
    expect((await visitor.open(`${site}/webhooks`)).rows[0]?.[1]).toBe("Disabled by the Worker");
    await env.DB.prepare("DELETE FROM deliveries WHERE webhook_id = ?").bind(id).run();
    expect((await visitor.open(`${site}/webhooks/${id}`)).text).toContain(text);
    expect((await visitor.press(page, "中文")).notices).toEqual([`${chinese} 时间：2027年1月15日 07:00。`]);
  });

  it("the console says since when a webhook fails and with which answer, in red after five minutes", async () => {
    const { world, visitor, site } = await begin();
    const { id } = await newWebhook(world, { failing_since: NOW - 300, last_cause: "no_answer" });
    const text = "Failing for 5 minutes";
    const list = await visitor.open(`${site}/webhooks`);
    expect(list.rows[0]?.slice(1, 3)).toEqual([text, "No answer within 15 s"]);
    expect(list.html).toContain('<span title="15 Jan 2027, 07:55:00"><span class="badge bad">');
    const page = await visitor.open(`${site}/webhooks/${id}`);
    expect(page.text).toContain(`${text} No answer within 15 s It answers too late.`);
    await env.DB.prepare("UPDATE webhooks SET failing_since = failing_since + 1 WHERE id = ?").bind(id).run();
    expect((await visitor.open(`${site}/webhooks`)).html).not.toContain('class="badge bad"');
  });

  it("the page of a webhook shows how much is pending since when, and how much failed, up to 10,000", async () => {
    const { world, visitor, site } = await begin();
    const webhook = await newWebhook(world);
    await fillDeliveries(webhook, 10_001);
    const path = `${site}/webhooks/${webhook.id}`;
    const pendingPage = await visitor.open(path);
    expect(pendingPage.text).toContain("Pending 10,000 or more oldest now Failed 0");
    await setDeliveries(webhook, "status = 'failed', next_attempt_at = NULL");
    const failedPage = await visitor.open(path);
    expect(failedPage.text).toContain("Pending 0 Failed 10,000 or more");
    expect(failedPage.has("Send all failed again (10,000 or more)")).toBe(true);
  });

  it("a webhook is not enabled while its pending deliveries are being ended, and the page says why", async () => {
    const { world, visitor, site } = await begin();
    const webhook = await newWebhook(world);
    await world.chatId();
    const path = `${site}/webhooks/${webhook.id}`;
    const before = await visitor.open(path);
    expect(before.text).not.toContain("It can be enabled in a few minutes.");
    // The state of a webhook with more pending deliveries than one statement ends.
    await setWebhook(webhook, "status = 'disabled'");
    const page = await visitor.open(path);
    expect(page.text).toContain("It can be enabled in a few minutes.");
    const refusal = await visitor.press(page, "Enable");
    expect([refusal.path.split("?")[0], refusal.notices]).toEqual([
      path,
      [
        "What was pending when it was disabled is still being ended. Try again in a few minutes.",
        "Disabled by an operator.",
      ],
    ]);
    expect(await storedOf(world)).toMatchObject({ webhooks: [{ status: "disabled" }], audit: [] });
    await setDeliveries(webhook, "status = 'failed', next_attempt_at = NULL");
    const enabled = await visitor.press(await visitor.open(path), "Enable");
    expect([enabled.notices, (await storedOf(world)).audit]).toEqual([["Saved."], ["webhook.enabled"]]);
  });

  it("the types of events about other webhooks have a hint beside them", async () => {
    const { world, visitor, site } = await begin();
    const { id } = await newWebhook(world);
    const others = ALL.filter((type) => type.startsWith("webhook."));
    for (const path of [`${site}/webhooks`, `${site}/webhooks/${id}/settings`]) {
      const { text } = await visitor.open(path);
      const hint = `${others.join(", ")} tell about the site's other webhooks.`;
      expect(text.includes(hint)).toBe(others.length > 0);
    }
  });

  it("a webhook is deleted after a confirmation, and the same form again leads to the same place", async () => {
    const { world, visitor, site } = await begin();
    const { id } = await newWebhook(world);
    await world.chatId();
    const path = `${site}/webhooks/${id}`;
    const askPage = await visitor.open((await visitor.open(path)).link("Delete…"));
    expect(askPage.heading).toBe("Delete this webhook?");
    expect((await storedOf(world)).webhooks).toHaveLength(1);
    for (const _ of [1, 2]) {
      const page = await visitor.press(askPage, "Delete");
      expect([page.path.split("?")[0], page.notices]).toEqual([`${site}/webhooks`, ["Deleted."]]);
    }
    expect(await storedOf(world)).toMatchObject({ webhooks: [], audit: ["webhook.deleted"] });
    expect((await visitor.open(path)).status).toBe(404);
  });

  it("the pages of a webhook of another site are 404", async () => {
    const { world, visitor, site } = await begin();
    const other = await World.create();
    const { id } = await newWebhook(other);
    const pages = ["", "/delete", "/disable", "/secret", "/rotate?overlap_seconds=0", "/settings", "/send-again"];
    for (const end of [...pages, "/deliveries/1", "?event=1"]) {
      expect((await visitor.open(`${site}/webhooks/${id}${end}`)).status).toBe(404);
    }
    const askPage = await visitor.open(`/console/sites/${other.siteId}/webhooks/${id}/delete`);
    const { body } = askPage.submission("Delete");
    const fields = Object.fromEntries(new URLSearchParams(body));
    for (const action of ["delete", "disable", "enable", "ping", "redeliver", "send-again"]) {
      expect((await visitor.post(`${site}/webhooks/${id}/${action}`, fields)).status).toBe(404);
    }
    expect((await storedOf(other)).webhooks).toMatchObject([{ status: "enabled" }]);
    expect((await storedOf(world)).audit).toEqual([]);
  });
});

describe("the secret of a webhook", () => {
  it("a webhook's secret is rotated once with an overlap, and the new secret is shown only on its own page", async () => {
    const { world, visitor, site } = await begin();
    const { id, secret } = await newWebhook(world);
    const path = `${site}/webhooks/${id}`;
    const settings = await visitor.open(`${path}/settings`);
    const page = await visitor.press(settings, "Rotate", { Overlap: "3600" });
    expect(page.heading).toBe("The secret was rotated");
    expect(page.code("secret")).toMatch(/^whsec_/);
    expect(page.code("secret")).not.toBe(secret);
    expect(page.text).toContain("The old one works until 15 Jan 2027, 09:00");
    expect((await visitor.open(path)).html).not.toContain(page.code("secret"));
    expect((await visitor.open(`${site}/audit`)).text).toContain("Webhook secret rotated");
    // The old form is about a secret that has been replaced since.
    const late = await visitor.press(settings, "Rotate", { Overlap: "86400" });
    expect(late.notices).toEqual(["The secret was rotated since this form was shown. Nothing was changed now."]);
    expect((await storedOf(world)).audit).toEqual(["webhook.rotated"]);
  });

  it("a webhook's previous secret ends early only after a confirmation", async () => {
    const { world, visitor, site } = await begin();
    const { id } = await newWebhook(world);
    const path = `${site}/webhooks/${id}`;
    expect((await visitor.open(`${path}/end-overlap`)).path).toBe(path);
    await visitor.submit(await visitor.open(`${path}/settings`), "Rotate", { Overlap: "86400" });
    const askPage = await visitor.open((await visitor.open(path)).link("The old secret stops now…"));
    expect(askPage.text).toContain("A receiver that knows only a stopped secret refuses deliveries");
    expect((await storedOf(world)).audit).toEqual(["webhook.rotated"]);
    const endedPage = await visitor.press(askPage, "The old secret stops now");
    expect([endedPage.path.split("?")[0], endedPage.notices]).toEqual([path, ["The old secret has stopped."]]);
    expect((await storedOf(world)).audit).toEqual(["webhook.rotated", "webhook.overlap_ended"]);
    expect((await visitor.open(path)).text).not.toContain("Two secrets work now");
    expect((await visitor.open(`${site}/audit`)).text).toContain("Old webhook secret ended");
  });
});

describe("the events of a site", () => {
  it("the events of a site are turned off after a page that says what is lost, and on in the settings", async () => {
    const { world, visitor, site } = await begin();
    await newWebhook(world);
    const settings = await visitor.open(`${site}/settings`);
    expect(settings.text).toContain("While off, none does, not even later.");
    const askPage = await visitor.open(settings.link("Turn events off…"));
    expect([askPage.heading, (await storedOf(world)).events]).toEqual(["Turn the events of this site off?", 1]);
    expect(askPage.text).toContain("Webhooks that get nothing new 1 ");
    expect(askPage.text).toContain(
      "Calls that came in between left no events: none can be sent again or pulled for them.",
    );
    const [off, twice] = [await visitor.press(askPage, "Turn off now"), await visitor.press(askPage, "Turn off now")];
    expect(twice.notices).toEqual(off.notices);
    expect([off.path.split("?")[0], off.notices, (await storedOf(world)).events]).toEqual([
      `${site}/settings`,
      ["The events of this site were turned off."],
      0,
    ]);
    const list = await visitor.open(`${site}/webhooks`);
    expect(list.notices).toEqual(["The events of this site are off: its webhooks get nothing but pings."]);
    const enabledPage = await visitor.press(await visitor.open(list.link("To the settings")), "Turn events on");
    expect([
      enabledPage.notices,
      enabledPage.links.includes(`${site}/events/off`),
      (await storedOf(world)).events,
    ]).toEqual([["Saved."], true, 1]);
    expect((await visitor.open(`${site}/webhooks`)).notices).toEqual([]);
    expect((await storedOf(world)).audit).toEqual(["site.events_off", "site.events_on"]);
    const log = await visitor.open(`${site}/audit`);
    for (const text of ["Events turned off", "Events turned on"]) expect(log.text).toContain(text);
  });

  it("events of a site that somebody else turned off meanwhile stay off, and the page says so", async () => {
    const { world, visitor, site } = await begin();
    await newWebhook(world);
    const askPage = await visitor.open(`${site}/events/off`);
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { events: false });
    const page = await visitor.press(askPage, "Turn off now");
    expect(page.notices).toEqual(["The events had been turned off before. Nothing was changed now."]);
    expect((await storedOf(world)).audit).toEqual(["site.events_off"]);
    expect((await visitor.open(`${site}/events/off`)).path).toBe(`${site}/settings`);
  });
});
