import { afterEach, describe, expect, it, vi } from "vitest";
import { visitorWithRole } from "../../../support/access-world.ts";
import { World } from "../../../support/world.ts";
import { auditRows, findCustomerPage } from "./customers-world.ts";

afterEach(() => void vi.unstubAllGlobals());

describe.each(["viewer", "operator"] as const)("a reader with the role %s", (role) => {
  it("a viewer or operator sees customers and sessions, but cannot hand their data over or erase them", async () => {
    const world = await World.create();
    const chatId = await world.chatId({ sbs: "mei", sbs_mc: "Mei Tanaka" });
    const visitor = await visitorWithRole(world, role);
    const site = `/console/sites/${world.siteId}`;
    const session = await visitor.open(`${site}/sessions/${chatId}`);
    expect(session.link("Customers")).toBe(`${site}/customers`);
    const page = await findCustomerPage(visitor, `${site}/customers`, "mei");
    expect([page.heading, page.rows.length]).toEqual(["Mei Tanaka", 1]);
    expect(page.forms.filter(({ path }) => path.startsWith(`${site}/customers`))).toEqual([]);
    const unknownPage = await findCustomerPage(visitor, `${site}/customers`, "nobody");
    expect([unknownPage.status, unknownPage.has("Look for an erasure")]).toEqual([404, false]);
  });
});

describe("an owner", () => {
  it("an owner erases a customer from the page that a session links to, and the audit log names the owner", async () => {
    const world = await World.create();
    const chatId = await world.chatId({ sbs: "mei" });
    const visitor = await visitorWithRole(world, "owner", "ada@example.com");
    const session = await visitor.open(`/console/sites/${world.siteId}/sessions/${chatId}`);
    const askPage = await visitor.press(await visitor.open(session.link("Customer Name")), "Erase this customer…");
    await visitor.submit(askPage, "Erase now", { "Nobody can undo this": "on" });
    const { audit } = await world.operated();
    expect((await auditRows(world)).map(([action]) => action)).toEqual(["customer.erasure_begun", "customer.erased"]);
    const page = await visitor.open(`/console/sites/${world.siteId}/audit`);
    const [erasedRow, begunRow] = page.rows.map((cells) => cells.join(" "));
    expect(erasedRow).toMatch(/ada@example\.com .*Customer's data erased .*Through Console/);
    expect(begunRow).toMatch(/ada@example\.com .*Erasing a customer's data begun .*Through Console/);
    expect(audit.at(-1)?.actor).toBe("console");
  });
});
