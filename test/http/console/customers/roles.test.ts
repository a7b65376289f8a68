import { afterEach, describe, expect, it, vi } from "vitest";
import { visitorWithRole } from "../../../support/access-world.ts";
import { World } from "../../../support/world.ts";
import { audited } from "./customers-world.ts";

afterEach(() => void vi.unstubAllGlobals());

const TAB = "Customer's data";
const LINK = "Hand over or erase this customer's data";

describe.each(["viewer", "operator"] as const)("a reader with the role %s", (role) => {
  it("sees neither the tab nor the link of customers' data, and is refused there", async () => {
    const world = await World.create();
    const chatId = await world.chatId({ sbs: "mei" });
    const visitor = await visitorWithRole(world, role);
    const site = `/console/sites/${world.siteId}`;
    const session = await visitor.open(`${site}/sessions/${chatId}`);
    expect([session.text.includes(TAB), session.text.includes(LINK)]).toEqual([false, false]);
    const before = [await world.stored(), await world.operated()];
    const form = "any";
    const sure = { form, customer: '"mei"', asked: "yes", sure: "on" };
    const answers = [
      await visitor.get(`${site}/customers`),
      await visitor.get(`${site}/customers?chat_id=${chatId}`),
      await visitor.post(`${site}/customers/export`, { form, sbs: "mei" }),
      await visitor.post(`${site}/customers/erase`, { form, sbs: "mei" }),
      await visitor.post(`${site}/customers/erase`, sure),
      await visitor.get(`${site}/customers/erasures/any`),
      await visitor.post(`${site}/customers/erasures/any`, { form }),
    ];
    for (const answer of answers) {
      const text = await answer.text();
      expect([answer.status, text.includes("Your role does not allow this"), text.includes("mei")]).toEqual([
        403,
        true,
        false,
      ]);
    }
    expect([await world.stored(), await world.operated()]).toEqual(before);
  });
});

describe("an owner", () => {
  it("finds both, and is named in the audit log", async () => {
    const world = await World.create();
    const chatId = await world.chatId({ sbs: "mei" });
    const visitor = await visitorWithRole(world, "owner", "ada@example.com");
    const session = await visitor.open(`/console/sites/${world.siteId}/sessions/${chatId}`);
    expect(session.link(TAB)).toBe(`/console/sites/${world.siteId}/customers`);
    const asked = await visitor.press(await visitor.open(session.link(LINK)), "Erase…");
    await visitor.press(asked, "Erase now", { "Nobody can undo this": "on" });
    const { audit } = await world.operated();
    expect((await audited(world)).map(([action]) => action)).toEqual(["customer.erasure_begun", "customer.erased"]);
    const page = await visitor.open(`/console/sites/${world.siteId}/audit`);
    expect(page.rows.slice(0, 2).map(([what, , , who, through]) => [what, who?.split(" ")[0], through])).toEqual([
      ["Customer's data erased", "ada@example.com", "Console"],
      ["Erasing a customer's data begun", "ada@example.com", "Console"],
    ]);
    expect(audit.at(-1)?.actor).toBe("console");
  });
});
