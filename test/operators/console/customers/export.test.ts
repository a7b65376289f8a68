import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ConsolePage } from "../../../support/console-page.ts";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { ADMIN_TOKEN } from "../../../support/world.ts";
import { auditRows, findCustomerPage, manySessions, SBS, start } from "./customers-world.ts";

interface File {
  customer: { sbs: string; name: string };
  sessions: { chat_id: number; messages: { content: string }[] }[];
  events: { seq: number }[];
  next_cursor: string | null;
}

const EXPORT = "Export as a file";
const fileOf = async (answer: Response): Promise<File> => JSON.parse(await answer.text());

describe("exporting a customer's data", () => {
  it("a customer's data is exported as one file, with the same audit rows as an export by the API", async () => {
    const { world, visitor, path } = await start();
    await newWebhook(world);
    const customer = { sbs: "mei", sbs_mc: "Mei 😀", content: "Where is it?", metadata: { order: "7" } };
    const chatIds = [await world.chatId(customer), await world.chatId(customer)];
    await world.chatId({ sbs: "other" });
    const answer = await visitor.submit(await findCustomerPage(visitor, path, "mei"), EXPORT);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("content-disposition")).toBe(
      `attachment; filename="customer-data-of-site-${world.siteId}.json"`,
    );
    const adminAnswer = await world.admin("POST", `/admin/sites/${world.siteId}/customers/export`, { sbs: "mei" });
    const file = await fileOf(answer);
    expect(file).toEqual(await adminAnswer.json());
    expect(file.sessions.map((session) => session.chat_id)).toEqual(chatIds);
    expect(await auditRows(world)).toEqual([
      ["customer.exported", "", { hash: expect.any(String), sessions: 2, after: 0 }],
      ["customer.exported", "", { hash: expect.any(String), sessions: 2, after: 0 }],
    ]);
  });

  it("the button that exports a customer's data may be pressed again, and reads the data again", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "mei" });
    const page = await findCustomerPage(visitor, path, "mei");
    const press = async () => fileOf(await visitor.submit(page, EXPORT));
    expect((await press()).sessions).toHaveLength(1);
    await world.chatId({ sbs: "mei" });
    expect((await press()).sessions).toHaveLength(2);
  });

  it("the data of a customer with 150 sessions is one file", async () => {
    const { world, visitor, path } = await start();
    const chatIds = await manySessions(world, "many", 150);
    const answer = await visitor.submit(await findCustomerPage(visitor, path, "many"), EXPORT);
    const file = await fileOf(answer);
    expect(file.sessions.map((session) => session.chat_id)).toEqual(chatIds);
    expect(file.next_cursor).toBe(null);
    expect((await auditRows(world)).map(([, , { after }]) => after)).toEqual([0, 50, 100]);
  });

  it("the data of a customer with more than 150 sessions is several files with each session once", async () => {
    const { world, visitor, path } = await start();
    const chatIds = await manySessions(world, "many", 331);
    const page = await visitor.press(await findCustomerPage(visitor, path, "many"), EXPORT);
    expect([page.status, await auditRows(world)]).toEqual([200, []]);
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

  it("a button leads to further files of a customer with over 10,000 sessions", async () => {
    const { world, visitor, path } = await start();
    await manySessions(world, "most", 10_002);
    const customer = await findCustomerPage(visitor, path, "most");
    expect(customer.fact("Sessions")).toBe("10,000 or more");
    const page = await visitor.press(customer, EXPORT);
    expect(page.text).toContain("Sessions 10,000 or more");
    expect(page.rows.at(-1)?.slice(0, 3)).toEqual(["67", "100", "9901 – 10000"]);
    const furtherPage = await visitor.press(page, "Further files…");
    expect(furtherPage.rows.map((row) => row.slice(0, 3))).toEqual([["68", "2", "10001 – 10002"]]);
    const file = await fileOf(await visitor.submit(furtherPage, "Download 68"));
    expect(file.sessions.map((session) => session.chat_id)).toEqual([10_001, 10_002]);
  });

  it.each([
    ["nobody", 404, "No name begins with it, and no customer has exactly this id."],
    ["", 400, "Must have 1 to 64 characters"],
  ])("exporting a customer's data says at the field what is wrong with %j", async (sbs, status, text) => {
    const { world, visitor, path } = await start();
    const before = await world.operated();
    const form = (await visitor.open(path)).value("form");
    // The form that finds a customer, and the form of a page that was open when the customer was erased.
    for (const action of ["find", "export"]) {
      const page = await ConsolePage.read(await visitor.post(`${path}/${action}`, { form, sbs }), path);
      expect([page.status, page.notices]).toEqual([status, ["No customer was found."]]);
      expect(page.error(SBS)).toContain(text);
      expect(page.value(SBS)).toBe(sbs);
    }
    expect(await world.operated()).toEqual(before);
  });

  it("exporting a customer's data keeps the typed id when the language changes, and exports nothing", async () => {
    const { world, visitor, path } = await start();
    const unknownPage = await findCustomerPage(visitor, path, "late");
    const chinese = await visitor.press(unknownPage, "中文");
    expect([chinese.status, chinese.heading, chinese.value("名称开头或完整的客户编号")]).toEqual([404, "客户", "late"]);
    await world.chatId({ sbs: "late" });
    const page = await visitor.press(chinese, "查找");
    expect(await auditRows(world)).toEqual([]);
    expect((await fileOf(await visitor.submit(page, "导出为文件"))).customer.sbs).toBe("late");
  });

  it("exporting a customer's data waits for a second press after a new sign-in", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "mei\nx", sbs_mc: "Mei" });
    const page = await visitor.open((await visitor.open(path)).link("Mei"));
    visitor.cookies.clear();
    const signInPage = await visitor.press(page, EXPORT);
    const back = await visitor.press(signInPage, "Sign in", { Token: ADMIN_TOKEN });
    expect([back.heading, back.notices, await auditRows(world)]).toEqual([
      "Mei",
      ["Not sent yet: look the form over and send it."],
      [],
    ]);
    expect((await fileOf(await visitor.submit(back, EXPORT))).customer.sbs).toBe("mei\nx");
  });

  it("the data of another site's customer cannot be exported", async () => {
    const { world } = await start();
    await world.chatId({ sbs: "theirs" });
    const { visitor, path } = await start();
    const page = await findCustomerPage(visitor, path, "theirs");
    expect([page.status, page.has(EXPORT)]).toEqual([404, false]);
    const answer = await visitor.post(`${path}/export`, { form: page.value("form"), sbs: "theirs" });
    expect(answer.status).toBe(404);
  });

  it("exporting a customer's data is 503 when the home does not answer, and may be tried again", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "mei" });
    const page = await findCustomerPage(visitor, path, "mei");
    const silent = world.anotherIsolate({ HOME_APAC: faultyD1(env.HOME_APAC, new Faults(() => "before")) });
    const answer = await visitor.through(silent).press(page, EXPORT);
    expect([answer.status, answer.heading]).toEqual([503, "The home apac or the directory does not answer"]);
    expect(answer.text).toContain("Try again in a moment.");
    expect(answer.text).not.toContain("look before you repeat it");
  });
});
