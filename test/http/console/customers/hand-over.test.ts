import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { audited, manySessions, start } from "./customers-world.ts";

interface File {
  customer: { sbs: string; name: string };
  sessions: { chat_id: number; messages: { content: string }[] }[];
  events: { seq: number }[];
  next_cursor: string | null;
}

const HAND_OVER = "Hand over as a file";
const fileOf = async (answer: Response): Promise<File> => JSON.parse(await answer.text());

describe("handing a customer's data over", () => {
  it("is one file of everything, with the rows that the admin API's call leaves", async () => {
    const { world, visitor, path } = await start();
    await newWebhook(world);
    const theirs = { sbs: "mei", sbs_mc: "Mei 😀", content: "Where is it?", metadata: { order: "7" } };
    const chatIds = [await world.chatId(theirs), await world.chatId(theirs)];
    await world.chatId({ sbs: "other" });
    const answer = await visitor.submit(await visitor.open(path), HAND_OVER, { "Customer (sbs)": "mei" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("content-disposition")).toBe(
      `attachment; filename="customer-data-of-site-${world.siteId}.json"`,
    );
    const given = await world.admin("POST", `/admin/sites/${world.siteId}/customers/export`, { sbs: "mei" });
    const file = await fileOf(answer);
    expect(file).toEqual(await given.json());
    expect(file.sessions.map((session) => session.chat_id)).toEqual(chatIds);
    expect(await audited(world)).toEqual([
      ["customer.exported", "", { hash: expect.any(String), sessions: 2, after: 0 }],
      ["customer.exported", "", { hash: expect.any(String), sessions: 2, after: 0 }],
    ]);
  });

  it("may be pressed again, and reads anew each time", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "mei" });
    const page = await visitor.open(path);
    const press = async () => fileOf(await visitor.submit(page, HAND_OVER, { "Customer (sbs)": "mei" }));
    expect((await press()).sessions).toHaveLength(1);
    await world.chatId({ sbs: "mei" });
    expect((await press()).sessions).toHaveLength(2);
  });

  it("is one file of 150 sessions", async () => {
    const { world, visitor, path } = await start();
    const chatIds = await manySessions(world, "many", 150);
    const answer = await visitor.submit(await visitor.open(path), HAND_OVER, { "Customer (sbs)": "many" });
    const file = await fileOf(answer);
    expect(file.sessions.map((session) => session.chat_id)).toEqual(chatIds);
    expect(file.next_cursor).toBe(null);
    expect((await audited(world)).map(([, , { after }]) => after)).toEqual([0, 50, 100]);
  });

  it("is several files of a customer with more, which have each session once", async () => {
    const { world, visitor, path } = await start();
    const chatIds = await manySessions(world, "many", 331);
    const page = await visitor.press(await visitor.open(path), HAND_OVER, { "Customer (sbs)": "many" });
    expect([page.status, await audited(world)]).toEqual([200, []]);
    expect(page.rows.map((row) => row.slice(0, 3))).toEqual([
      ["1", "150", "1 – 150"],
      ["2", "150", "151 – 300"],
      ["3", "31", "301 – 331"],
    ]);
    const files: File[] = [];
    for (const part of [1, 2, 3]) {
      const answer = await visitor.submit(page, `Download ${part}`);
      expect(answer.headers.get("content-disposition")).toContain(`-part-${part}.json"`);
      files.push(await fileOf(answer));
    }
    expect(files.flatMap(({ sessions }) => sessions.map((session) => session.chat_id))).toEqual(chatIds);
    expect(files.map((file) => [file.customer.sbs, file.next_cursor])).toEqual([
      ["many", "150"],
      ["many", "300"],
      ["many", null],
    ]);
    expect(files[2]?.sessions[0]?.messages).toMatchObject([{ content: "said 301" }]);
  });

  it("lists further files of a customer with over 10,000 sessions", async () => {
    const { world, visitor, path } = await start();
    await manySessions(world, "most", 10_002);
    const page = await visitor.press(await visitor.open(path), HAND_OVER, { "Customer (sbs)": "most" });
    expect(page.text).toContain("Sessions 10,000 or more");
    expect(page.rows.at(-1)?.slice(0, 3)).toEqual(["67", "100", "9901 – 10000"]);
    const further = await visitor.press(page, "Further files…");
    expect(further.rows.map((row) => row.slice(0, 3))).toEqual([["68", "2", "10001 – 10002"]]);
    const file = await fileOf(await visitor.submit(further, "Download 68"));
    expect(file.sessions.map((session) => session.chat_id)).toEqual([10_001, 10_002]);
  });

  it.each([
    ["nobody", 404, "This site has no such customer."],
    ["", 400, "Must have 1 to 64 characters"],
    ["😀".repeat(65), 400, "Must have 1 to 64 characters"],
  ])("says at the field what is wrong with %j", async (sbs, status, text) => {
    const { world, visitor, path } = await start();
    const before = await world.operated();
    const page = await visitor.press(await visitor.open(path), HAND_OVER, { "Customer (sbs)": sbs });
    expect([page.status, page.notices, page.link("Customer (sbs)")]).toEqual([
      status,
      ["Nothing was changed."],
      "#sbs",
    ]);
    expect(/id="sbs-error">([^<]*)</.exec(page.html)?.[1]).toContain(text);
    expect(page.value("Customer (sbs)")).toBe(sbs);
    expect(await world.operated()).toEqual(before);
  });

  it("takes 64 characters of two units each", async () => {
    const { world, visitor, path } = await start();
    const sbs = "😀".repeat(64);
    await world.chatId({ sbs });
    const answer = await visitor.submit(await visitor.open(path), HAND_OVER, { "Customer (sbs)": sbs });
    expect((await fileOf(answer)).customer.sbs).toBe(sbs);
  });

  it("keeps what was typed through a change of language, and hands nothing over by it", async () => {
    const { world, visitor, path } = await start();
    const refused = await visitor.press(await visitor.open(path), HAND_OVER, { "Customer (sbs)": "late" });
    await world.chatId({ sbs: "late" });
    const chinese = await visitor.press(refused, "中文");
    expect([chinese.status, chinese.heading, chinese.value("客户编号（sbs）")]).toEqual([200, "客户数据", "late"]);
    expect(await audited(world)).toEqual([]);
    const answer = await visitor.submit(chinese, "导出为文件");
    expect((await fileOf(answer)).customer.sbs).toBe("late");
  });

  it("is reached from a session, with the customer filled in", async () => {
    const { world, visitor, path } = await start();
    const chatId = await world.chatId({ sbs: "mei/../7" });
    const session = await visitor.open(`/console/sites/${world.siteId}/sessions/${chatId}`);
    const link = session.link("Hand over or erase this customer's data");
    expect(link).toBe(`${path}?chat_id=${chatId}`);
    const page = await visitor.open(link);
    expect(page.value("Customer (sbs)")).toBe("mei/../7");
    expect((await fileOf(await visitor.submit(page, HAND_OVER))).sessions).toHaveLength(1);
    const found = await visitor.press(await visitor.open(path), "Fill in", {
      "Or the customer of a session (chat_id)": String(chatId),
    });
    expect(found.value("Customer (sbs)")).toBe("mei/../7");
  });

  it.each(["99", "x", "-1", "9".repeat(16)])(
    "fills in nothing for the session %j, which the site does not have",
    async (id) => {
      const { visitor, path } = await start();
      const page = await visitor.open(`${path}?chat_id=${id}`);
      expect([page.status, page.notices, page.value("Customer (sbs)")]).toEqual([
        200,
        [`This site has no session ${id}`],
        "",
      ]);
    },
  );

  it("knows no customer of another site", async () => {
    const { world } = await start();
    await world.chatId({ sbs: "theirs" });
    const { visitor, path } = await start();
    const page = await visitor.press(await visitor.open(path), HAND_OVER, { "Customer (sbs)": "theirs" });
    expect(page.status).toBe(404);
  });

  it("is 503 when its home does not answer, and may be tried again: nothing was changed", async () => {
    const { world, visitor, path } = await start();
    const page = await visitor.open(path);
    const silent = world.anotherIsolate({ HOME_APAC: faultyD1(env.HOME_APAC, new Faults(() => "before")) });
    const answer = await visitor.through(silent).press(page, HAND_OVER, { "Customer (sbs)": "mei" });
    expect([answer.status, answer.heading]).toEqual([503, "The home apac or the directory does not answer"]);
    expect(answer.text).toContain("Try again in a moment.");
    expect(answer.text).not.toContain("look before you repeat it");
  });
});
