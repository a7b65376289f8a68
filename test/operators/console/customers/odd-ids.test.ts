import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { ConsolePage } from "../../../support/console-page.ts";
import { tablesOf } from "../../../support/read-store.ts";
import { auditRows, findCustomerPage, manySessions, SBS, start, watchVisitor } from "./customers-world.ts";

afterEach(() => void vi.restoreAllMocks());

const SURE = { "Nobody can undo this": "on" };

/** Customer ids that paths, pages or forms could misread. */
const ODD = [
  "../../tokens",
  "a/b?c=d#e%2f",
  `"quoted" 'twice' &amp;`,
  "<script>alert(1)</script>",
  " mei ",
  "null",
  "0",
  '"mei"',
  "{0}",
  "\u202emei\u200b",
  "line\nend",
  "line\r\nend",
  "tab\t\u0000zero",
];

/** Whether a one-line field can hold this id. */
const canBeTyped = (sbs: string) => !/\p{Cc}/u.test(sbs);

describe("a customer with an odd id", () => {
  let started: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    started = await start();
    await started.world.chatId({ sbs: "other" });
  });

  it.each(ODD)("the customer id %j is found, exported and erased like any other", async (sbs) => {
    const { world, visitor, path } = started;
    const chatId = await world.chatId({ sbs });
    const page = await visitor.open(`${path}?chat_id=${chatId}`);
    const ask = "Erase this customer…";
    const customerIn = (from: ConsolePage) => new URLSearchParams(from.submission(ask, {}).body).get("customer");
    expect(customerIn(page)).toBe(JSON.stringify(sbs));
    // From here on the form is the same, whichever way led to it.
    if (canBeTyped(sbs)) {
      const typedPage = await visitor.press(await visitor.open(path), "Find", { [SBS]: sbs });
      expect(customerIn(typedPage)).toBe(customerIn(page));
    }
    const file = JSON.parse(await (await visitor.submit(page, "Export as a file")).text());
    expect([file.customer.sbs, file.sessions.length]).toEqual([sbs, 1]);
    const askPage = await visitor.press(page, ask);
    expect([askPage.status, askPage.heading]).toEqual([200, "Erase this customer's data?"]);
    expect(askPage.html).not.toContain("<script>alert");
    expect((await visitor.submit(askPage, "Erase now", SURE)).status).toBe(303);
    const idsLeft = (await world.stored()).customers.map((row) => row.external_id);
    expect([idsLeft.includes(sbs), idsLeft.includes("other")]).toEqual([false, true]);
  });

  it("an unknown customer id is shown again as it was typed", async () => {
    const { visitor, path } = await start();
    const list = await visitor.open(path);
    for (const sbs of ODD.filter(canBeTyped)) {
      const page = await visitor.press(list, "Find", { [SBS]: sbs });
      expect([page.status, page.value(SBS)]).toEqual([404, sbs]);
      expect(page.html).not.toContain("<script>alert");
    }
  });
});

describe("the id of a customer", () => {
  it("the id of a customer is in no address, no log line, no stored form and no audit row", async () => {
    const { world, path } = await start();
    const lines: string[] = [];
    for (const method of ["log", "warn", "error", "info"] as const) {
      vi.spyOn(console, method).mockImplementation(
        (...consoleError: unknown[]) => void lines.push(consoleError.map(String).join()),
      );
    }
    const sbs = `person-${crypto.randomUUID()}`;
    await manySessions(world, sbs, 370);
    const { visitor, addresses } = watchVisitor(world);
    await visitor.signIn();
    const page = await findCustomerPage(visitor, path, sbs);
    await visitor.open(page.link("Next page"));
    const parts = await visitor.press(page, "Export as a file");
    const answer = await visitor.submit(parts, "Download 1");
    expect([...answer.headers].join()).not.toContain(sbs);
    await visitor.press(parts, "中文");
    await visitor.get("/console/nothing");
    visitor.cookies.delete("__Host-language");
    await visitor.press(await findCustomerPage(visitor, path, `${sbs}-unknown`), "中文");
    visitor.cookies.delete("__Host-language");
    const askPage = await visitor.press(page, "Erase this customer…");
    await visitor.press(askPage, "Erase now");
    const begunPage = await visitor.press(askPage, "Erase now", SURE);
    expect(begunPage.text).toContain(sbs);
    const forms = (await tablesOf(env.DB)).console_forms ?? [];
    expect(forms.filter(({ location }) => String(location).startsWith(path))).toHaveLength(1);
    expect(JSON.stringify(forms)).not.toContain(sbs);
    await visitor.press(begunPage, "Go on erasing");
    await visitor.press(askPage, "Erase now", SURE);
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.join("\n")).not.toContain(sbs);
    expect(addresses.join("\n")).not.toContain(sbs);
    expect(JSON.stringify(await auditRows(world))).not.toContain(sbs);
    for (const db of [env.DB, env.HOME_APAC]) expect(JSON.stringify(await tablesOf(db))).not.toContain(sbs);
  });
});
