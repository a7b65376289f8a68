import { describe, expect, it } from "vitest";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { auditOfErasures, fieldsOf, personText, placesOf, seedCustomer } from "../../support/customers.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { World } from "../../support/world.ts";

/** The pages on one customer's data, as an owner uses them. */

const pathOf = ({ siteId }: World) => `/console/sites/${siteId}/customers`;

describe("the page on a customer's data", () => {
  it("erases after it has asked, and says what is gone, who was told and what stays", async () => {
    const world = await World.create();
    const webhook = await newWebhook(world, { events: JSON.stringify(["session.created"]) });
    const text = personText();
    const id = await world.chatId(fieldsOf(text));
    const visitor = await ConsoleVisitor.signedIn(world);
    const session = await visitor.open(`/console/sites/${world.siteId}/sessions/${id}`);
    expect(session.text).toContain("Hand over or erase a customer’s data…");
    const page = await visitor.open(`${pathOf(world)}?chat_id=${id}`);
    const asked = await visitor.press(page, "Erase…");
    expect(asked.text).toContain("Erase this customer?");
    expect(asked.text).toContain("Time Travel");
    expect((await world.stored()).sessions).toHaveLength(1);
    const done = await visitor.press(asked, "Erase for good");
    expect(done.path).toMatch(new RegExp(`^${pathOf(world)}\\?erasure=[0-9a-f-]{36}$`));
    expect(done.text).toContain("The customer is erased");
    expect(done.text).toContain(webhook.url);
    expect(done.text).not.toContain(text);
    expect(await placesOf(text)).toEqual([]);
    expect((await auditOfErasures(world)).map(({ action }) => action)).toEqual([
      "customer.erasure_begun",
      "customer.erased",
    ]);
    // The same form again, after Back: it leads to the same result.
    const again = await visitor.press(asked, "Erase for good");
    expect(again.path).toBe(done.path);
  });

  it("goes on with what is left", async () => {
    const world = await World.create();
    await seedCustomer(world, "large", 700);
    const visitor = await ConsoleVisitor.signedIn(world);
    const asked = await visitor.press(await visitor.open(pathOf(world)), "Erase…", { "Customer (sbs)": "large" });
    const part = await visitor.press(asked, "Erase for good");
    expect(part.text).toContain("Not done yet: 200 sessions are left");
    const done = await visitor.press(part, "Go on erasing");
    expect([done.path, done.text.includes("The customer is erased")]).toEqual([part.path, true]);
    expect((await world.stored()).sessions).toEqual([]);
  });

  it("hands over a file with everything, under a name that says nothing of the customer", async () => {
    const world = await World.create();
    const odd = `../"<b>😀 ${personText()}`;
    await world.chatId({ sbs: odd, content: "Hello" });
    const visitor = await ConsoleVisitor.signedIn(world);
    const page = await visitor.open(pathOf(world));
    const answer = await visitor.submit(page, "Make the file", { "Customer (sbs)": odd });
    expect(answer.headers.get("content-disposition")).toBe(
      `attachment; filename="customer-of-site-${world.siteId}.json"`,
    );
    const file = (await answer.json()) as { customer: { sbs: string }; sessions: object[] };
    expect([file.customer.sbs, file.sessions.length]).toEqual([odd, 1]);
    expect((await auditOfErasures(world)).map(({ action }) => action)).toEqual(["customer.exported"]);
  });

  it("tells of an unknown customer and of a wrong sbs at the field, and changes nothing", async () => {
    const world = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    for (const button of ["Erase…", "Make the file"]) {
      for (const sbs of ["nobody", "x".repeat(65)]) {
        const page = await visitor.open(pathOf(world));
        const answer = await visitor.submit(page, button, { "Customer (sbs)": sbs });
        expect([button, sbs, answer.status]).toEqual([button, sbs, 400]);
        expect(await answer.text()).toMatch(/This site has no such customer\.|Must be a string of 1 to 64 characters/);
      }
    }
    expect(await auditOfErasures(world)).toEqual([]);
  });

  it("puts the customer into no address and into no row of the console", async () => {
    const world = await World.create();
    const text = personText();
    await world.chatId({ sbs: text });
    const visitor = await ConsoleVisitor.signedIn(world);
    const page = await visitor.open(pathOf(world));
    const asked = await visitor.submit(page, "Erase…", { "Customer (sbs)": text });
    expect(asked.headers.get("location")).toBeNull();
    const after = await visitor.press(await visitor.follow(asked, pathOf(world)), "Erase for good");
    expect(after.path).not.toContain(text);
    expect(await placesOf(text)).toEqual([]);
  });
});
