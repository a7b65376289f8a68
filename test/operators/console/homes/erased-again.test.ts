import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { replacing } from "../../../support/replacing.ts";
import { bookmarkDatabase } from "../../../support/time-travel.ts";
import { World } from "../../../support/world.ts";
import { askedToErase } from "../customers/customers-world.ts";

/** Reconciling a home that was restored to a time before a customer was erased: docs/operating/data-and-restore.md, "Restoring a home". */

afterEach(() => void vi.restoreAllMocks());

const LIFT = "It was restored: skip now";
const RECEIPTS = "Receipts of erasures and deletions";

const customersOf = async ({ home, siteId }: World) =>
  (
    await databaseOf(home).prepare("SELECT external_id FROM customers WHERE site_id = ?").bind(siteId).all()
  ).results.map(({ external_id }) => external_id);

/** A KV whose lists of receipts take so long that no time is left for an erasure. */
function slowKv(): KVNamespace {
  const real = Date.now;
  const list: KVNamespace["list"] = async (options) => {
    if (options?.prefix?.startsWith("erasures:")) vi.spyOn(Date, "now").mockImplementation(() => real() + 5_000);
    return env.CREDENTIALS.list(options);
  };
  return replacing(env.CREDENTIALS, { list });
}

/** A closed home that was restored to a time before the customer `mei` was erased. */
async function startRestored(home: string, bindings: { CREDENTIALS?: undefined } = {}) {
  const world = await World.create(bindings, home);
  await world.chatId({ sbs: "mei" });
  await world.chatId({ sbs: "other" });
  const visitor = await ConsoleVisitor.signedIn(world);
  const restore = await bookmarkDatabase(databaseOf(home));
  const path = `/console/sites/${world.siteId}/customers`;
  const askPage = await askedToErase(visitor, path, "mei");
  const begunPage = await visitor.press(askPage, "Erase now", { "Nobody can undo this": "on" });
  const receipts = begunPage.code("receipts");
  if (receipts !== "") await visitor.press(begunPage, "I have kept them: erase now");
  expect(await customersOf(world)).toEqual(["other"]);
  await restore();
  expect(await customersOf(world)).toEqual(["mei", "other"]);
  const owner = visitor.through(world.anotherIsolate(closedHomeVars(home)));
  const form = await owner.open(`/console/homes/${home}/restored`);
  return { world, visitor, owner, form, receipts };
}

describe("a restored home", () => {
  it("reconciling a home in the console erases erased customers again, and shows how many", async () => {
    const { world, owner, form } = await startRestored("apac");
    expect(form.text).toContain("customers who were erased are erased again");
    const askPage = await owner.press(form, "Go on…");
    expect(askPage.text).toContain("Only those that you were told to keep before this deployment had KV");
    const donePage = await owner.press(askPage, LIFT);
    expect(donePage.notices).toEqual(["The sites of the home apac have skipped session numbers (chat_id)"]);
    expect(donePage.text).toContain("Customers erased again 1");
    expect(await customersOf(world)).toEqual(["other"]);
    const pageAgain = await owner.press(await owner.open(askPage.path), LIFT);
    expect(pageAgain.text).toContain("Customers erased again 0");
  });

  it("the console warns against opening a home while erasures are left, and links to the form again", async () => {
    const { world, owner, form } = await startRestored("apac");
    const askPage = await owner.press(form, "Go on…");
    const late = owner.through(world.anotherIsolate({ ...closedHomeVars("apac"), CREDENTIALS: slowKv() }));
    const begunPage = await late.press(askPage, LIFT);
    expect(begunPage.notices).toEqual([
      "The sites of the home apac have skipped session numbers (chat_id)",
      "Do not open this home: erasures left: 1",
    ]);
    expect(begunPage.text).toContain("Customers erased again 0");
    expect(await customersOf(world)).toEqual(["mei", "other"]);
    vi.restoreAllMocks();
    const donePage = await owner.press(await owner.open(begunPage.link("Send it again…")), LIFT);
    expect(donePage.notices).toEqual(["The sites of the home apac have skipped session numbers (chat_id)"]);
    expect(donePage.text).toContain("Customers erased again 1");
    expect(donePage.text).toContain("Session numbers skipped (chat_id) 0");
    expect(await customersOf(world)).toEqual(["other"]);
  });
});

describe("a restored main without KV", () => {
  it("reconciling main without KV erases customers again by pasted receipts", async () => {
    const { world, owner, form, receipts } = await startRestored("main", { CREDENTIALS: undefined });
    const askPage = await owner.press(form, "Go on…");
    expect(askPage.value(RECEIPTS)).toBe("");
    const none = await owner.press(askPage, LIFT);
    expect(none.text).toContain("Customers erased again 0");
    expect(none.text).toContain("only receipts that were pasted in");
    expect(await customersOf(world)).toEqual(["mei", "other"]);
    const donePage = await owner.press(await owner.open(askPage.path), LIFT, {
      [RECEIPTS]: `\n${receipts}\n\n${receipts}`,
    });
    expect([donePage.status, donePage.notices]).toEqual([
      200,
      ["The sites of the home main have skipped session numbers (chat_id)"],
    ]);
    expect(donePage.text).toContain("Customers erased again 1");
    expect(await customersOf(world)).toEqual(["other"]);
  });

  it("the console says at the field what is wrong with pasted receipts, keeps them, and skips no ids", async () => {
    const world = await World.create({ CREDENTIALS: undefined, ...closedHomeVars("main") });
    const visitor = await ConsoleVisitor.signedIn(world);
    const before = await world.operated();
    const askPage = await visitor.press(await visitor.open("/console/homes/main/restored"), "Go on…", {
      "Session numbers to skip (chat_id)": "2000",
    });
    for (const [pastedText, text] of [
      ["{", "Line 1 is not JSON. Was it cut off?"],
      ['[]\n[{"erasure_id"', "Line 2 is not JSON. Was it cut off?"],
      ["[1]", "Number 1 is no receipt: paste it as it was shown."],
      ['"text"', "Number 1 is no receipt: paste it as it was shown."],
      ["[{}]", "Number 1 is not as it was shown: erasure_id"],
    ] as const) {
      const page = await visitor.press(askPage, LIFT, { [RECEIPTS]: pastedText });
      const heading = "Was the home main restored?";
      expect([pastedText, page.status, page.heading, page.error(RECEIPTS)]).toEqual([pastedText, 400, heading, text]);
      expect([page.value(RECEIPTS).replaceAll("\r\n", "\n"), page.value("lift")]).toEqual([pastedText, "2000"]);
    }
    expect(await world.operated()).toEqual(before);
    const chinese = await visitor.press(await visitor.press(askPage, LIFT, { [RECEIPTS]: "[]\n{" }), "中文");
    expect([chinese.status, chinese.value("抹除和删除的凭据").replaceAll("\r\n", "\n")]).toEqual([400, "[]\n{"]);
  });
});
