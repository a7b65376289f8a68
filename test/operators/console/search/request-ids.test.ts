import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { firstRequestIdAt, newRequestId } from "../../../../src/core/request-id.ts";
import { systemRuntime } from "../../../../src/core/runtime.ts";
import { start } from "../../../support/console-visitor.ts";
import { downDb } from "../../../support/down-db.ts";
import { JournalConsumer, keepingJournal } from "../../../support/journal.ts";
import { newRefusal } from "../../../support/new-refusal.ts";
import { newSite } from "../../../support/new-site.ts";
import { NOW } from "../../../support/world.ts";
import { searched } from "./search-world.ts";

/** A world whose refused calls reach the journal when `settle` is called. */
async function startWithJournal(home = "main") {
  const { sent: messages, JOURNAL } = keepingJournal();
  const settle = () => new JournalConsumer().write(messages.splice(0));
  return { ...(await start(home, { JOURNAL })), settle };
}

const idOf = (answer: { headers: Headers }) => answer.headers.get("x-request-id") ?? "";

const BOX = "Search by chat_id, customer, title, app, agent, request id or webhook";

describe("a request id in the search of any page", () => {
  it("a request id in the search finds its refused call on any site and home, also with the header's name before it", async () => {
    const { world, settle } = await startWithJournal("apac");
    const answer = await world.create({ timestamp: 1 });
    await settle();
    const { visitor, site } = await start("main");
    const id = idOf(answer);
    for (const [path, typed] of [
      ["/console", ` ${id.toUpperCase()} `],
      ["/console/audit", `x-request-id: ${id}`],
      [`${site}/apps`, `"request_id":"${id}",`],
      ["/console/signature-check", id],
    ] as const) {
      const page = await visitor.press(await visitor.open(path), "Search", { [BOX]: typed });
      expect([page.path, page.heading]).toEqual([`/console/sites/${world.siteId}/requests/${id}`, "A refused call"]);
    }
  });

  it("a request id in the search finds the call that opened a session, on any site", async () => {
    const { world } = await start();
    for (let i = 0; i < 5; i++) await world.chatId();
    const answer = await world.create();
    for (let i = 0; i < 5; i++) await world.chatId();
    const page = await searched((await start("main")).visitor, idOf(answer));
    expect(page.path).toBe(`/console/sites/${world.siteId}/requests/${idOf(answer)}`);
  });

  it("a request id of a call that opened no session is found only from the pages of its site", async () => {
    const { world, visitor, site } = await start("main");
    const answer = await world.add(await world.chatId(), { kefu_ids: "3" });
    const here = await visitor.press(await visitor.open(`${site}/sessions`), "Search", { [BOX]: idOf(answer) });
    expect(here.path).toBe(`${site}/requests/${idOf(answer)}`);
    const resultPage = await visitor.press(await visitor.open("/console/audit"), "Search", { [BOX]: idOf(answer) });
    expect([resultPage.status, resultPage.value(BOX)]).toEqual([200, idOf(answer)]);
    expect(resultPage.text).toContain("Nothing was found for");
    expect(resultPage.text).toContain("Refused calls are kept for 30 days, and of a flood some are left out.");
  });

  it("an unknown request id in the search shows its time and the refused calls around it", async () => {
    const { world, visitor } = await start();
    const [missing, near] = [firstRequestIdAt(NOW - 2_000_000), firstRequestIdAt(NOW - 2_000_001)];
    await newRefusal(world, { requestId: near, skipped: 6 });
    const page = await searched(visitor, missing);
    expect(page.text).toContain("2026-12-23T04:26:40Z");
    expect(page.notices).toEqual(["6 refused calls within two minutes of it were left out"]);
    expect(page.links).toContain(`/console/sites/${world.siteId}/requests/${near}`);
  });

  it("the search for a request id that is also a customer's id shows both", async () => {
    const { world, visitor, site } = await start("main");
    const sbs = newRequestId(systemRuntime);
    const chatId = await world.chatId({ sbs });
    expect((await searched(visitor, sbs)).links).toContain(`${site}/sessions/${chatId}`);
  });

  it("the search for an unknown request id names the homes that do not answer", async () => {
    const { world, visitor } = await start("main");
    await newSite("apac");
    for (const HOME_APAC of [downDb(env.HOME_APAC), undefined]) {
      const silent = visitor.through(world.anotherIsolate({ HOME_APAC }));
      const page = await searched(silent, firstRequestIdAt(NOW - 1_000_000));
      expect([page.status, page.notices]).toEqual([200, ["Homes that do not answer: apac"]]);
      expect(page.text).toContain("These homes do not answer, so their calls are missing here: apac");
      expect(page.text).not.toContain("No refused call within two minutes of it");
    }
  });
});
