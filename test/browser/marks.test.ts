import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { AgentSessionClient } from "../../src/client/client.ts";
import type { BuiltWorker } from "../support/built-worker.ts";
import { DESKTOP, PHONE } from "../support/open-browser.ts";
import { settled } from "../support/page-settled.ts";
import { it } from "./it.ts";
import { press, unfoldAll } from "./steps.ts";

/** A word whose last letter has this many marks above and below it. */
const pileMarks = (word: string, marks: number) => {
  // Equal marks are drawn in one place, and different ones pile up.
  const each = Array.from({ length: marks }, (_, at) => String.fromCharCode(0x300 + (at % 0x30)));
  return `${word}${each.join("")} end`;
};

/** Makes a site in which all texts of customers, callers and operators have as many marks as they may. */
async function provision(worker: BuiltWorker) {
  const { siteId } = await worker.provision([]);
  const site = `/console/sites/${siteId}`;
  const ofSite = `/admin/sites/${siteId}`;
  await worker.admin("PATCH", ofSite, { name: pileMarks("Site", 90) });
  await worker.admin("POST", `${ofSite}/agents`, { id: 5, name: pileMarks("Agent", 90) });
  const app = await worker.admin<{ appid: string; secret: string }>("POST", `${ofSite}/apps`, {
    name: pileMarks("App", 90),
  });
  const client = new AgentSessionClient({ baseUrl: worker.url, ...app });
  const { chatId } = await client.createSession({
    customer: { id: pileMarks("id", 50), name: pileMarks("Mei", 20), ip: "127.0.0.1" },
    content: pileMarks("Hello", 1_980),
    title: pileMarks("Title", 110),
    agentIds: [5],
    responsibleAgentId: 5,
    metadata: { plan: pileMarks("gold", 100) },
  });
  return { site, chatId, app: `${site}/apps/${app.appid}` };
}

/** Removes all marks from the page's texts. @returns the boxes of these texts: left, top, right, bottom */
const TAKE_OFF = `(() => {
  const boxes = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const boxOf = ({ left, top, right, bottom }) => [left + scrollX, top + scrollY, right + scrollX, bottom + scrollY];
  while (texts.nextNode()) {
    const { currentNode: text } = texts;
    if (!/\\p{M}/u.test(text.data)) continue;
    text.data = text.data.replace(/\\p{M}+/gu, "");
    boxes.push(...[...text.parentElement.getClientRects()].map(boxOf));
  }
  for (const field of document.querySelectorAll("input, select, textarea")) {
    if (field.value !== undefined && field.type !== "hidden") field.value = field.value.replace(/\\p{M}+/gu, "");
    boxes.push(boxOf(field.getBoundingClientRect()));
  }
  return boxes;
})()`;

/** The number of pixels outside the boxes in which two pictures differ, and the place of the first one. */
const comparison = (one: Buffer, other: Buffer, boxes: number[][]) => `(async () => {
  const pixels = async (png) => {
    const picture = await createImageBitmap(await (await fetch("data:image/png;base64," + png)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    canvas.drawImage(picture, 0, 0);
    return canvas.getImageData(0, 0, picture.width, picture.height);
  };
  const [a, b] = [await pixels("${one.toString("base64")}"), await pixels("${other.toString("base64")}")];
  if (a.width !== b.width || a.height !== b.height) return "the marks change the size of the page";
  const found = { inside: 0, outside: 0, first: "" };
  for (let at = 0; at < a.data.length; at += 4) {
    // The corners of a card differ a little from picture to picture.
    if ([0, 1, 2].every((part) => Math.abs(a.data[at + part] - b.data[at + part]) < 64)) continue;
    const [x, y] = [(at / 4) % a.width, Math.floor(at / 4 / a.width)];
    // A line reaches up to 4 px beyond its text, above and below.
    const isInside = ${JSON.stringify(boxes)}.some(([left, top, right, bottom]) =>
      x >= left - 1 && x <= right + 1 && y >= top - 5 && y <= bottom + 5);
    if (!isInside) found.first ||= x + ", " + y;
    found[isInside ? "inside" : "outside"]++;
  }
  return found;
})()`;

/** The changes that the marks of a page make, inside and outside the boxes of their texts. */
async function changedBy(page: Page, blank: Page) {
  await settled(page);
  await unfoldAll(page);
  await page.evaluate("document.activeElement?.blur()");
  const withMarks = await page.screenshot({ fullPage: true });
  const boxes = await page.evaluate<number[][]>(TAKE_OFF);
  const withoutMarks = await page.screenshot({ fullPage: true });
  return blank.evaluate<{ inside: number; outside: number; first: string }>(comparison(withMarks, withoutMarks, boxes));
}

describe.each([DESKTOP, PHONE])("texts with thousands of marks, in a window of $width", (viewport) => {
  it("texts with thousands of marks paint only in their own boxes, on each page that shows them", async ({
    worker,
    open,
    signedIn,
  }) => {
    const { site, chatId, app } = await provision(worker);
    const page = await signedIn(worker, { viewport });
    const blank = await open({ url: "about:blank" });
    const paths = ["", "/sessions", `/sessions/${chatId}`, "/customers", `/customers?chat_id=${chatId}`, "/agents"];
    paths.push("/agents/5", "/apps", "/audit", "/settings", "/close", "/sessions?agent=5");
    const looks: [string, string | { inside: number; outside: number; first: string }][] = [];
    const look = async (name: string) => looks.push([name, await changedBy(page, blank)]);
    for (const path of [...paths.map((each) => site + each), app, `${app}/revoke`]) {
      await page.goto(path);
      await look(path);
    }
    await page.getByRole("searchbox").fill("end");
    await page.getByRole("searchbox").press("Enter");
    await page.getByRole("heading", { name: "Sessions with these words in a title" }).waitFor();
    await look("search");
    await page.goto(`${site}/customers?chat_id=${chatId}`);
    await press(page, "Erase this customer…");
    await page.getByLabel("Nobody can undo this").waitFor();
    await look("erase");
    const wrong = looks.filter(([, result]) => typeof result === "string" || result.outside > 0 || result.inside === 0);
    expect(wrong).toEqual([]);
  });
});
