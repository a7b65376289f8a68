import { beforeAll, describe, expect, it } from "vitest";
import type { ConsolePage } from "../../../support/console-page.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { hmac } from "../../../support/hmac.ts";
import { JournalConsumer, keepingJournal } from "../../../support/journal.ts";
import { pressCheck, verdictOf } from "../../../support/signature-check.ts";
import { NOW, World } from "../../../support/world.ts";

describe("a check that was opened from a refused call", () => {
  let world: World;
  let visitor: ConsoleVisitor;
  let form: ConsolePage;
  beforeAll(async () => {
    const { sent: messages, JOURNAL } = keepingJournal();
    world = await World.create({ JOURNAL } as never);
    const answer = await world.create({ timestamp: NOW - 301 });
    await new JournalConsumer().write(messages.splice(0));
    const id = answer.headers.get("x-request-id") ?? "";
    visitor = await ConsoleVisitor.signedIn(world);
    form = await visitor.open(`/console/signature-check?operation=create_gd&appid=${world.appid}&request=${id}`);
  });

  const checkPage = (appid: string, body: string, signature: string) =>
    visitor.press(form, "Check", {
      "Which call is it?": "create_gd",
      appid,
      "Body, as it was sent": body,
      "Signature (x-chat-signature)": signature,
    });

  it("a check opened from a refused call does not show that call's answer for another app's request", async () => {
    const other = await World.create();
    const body = JSON.stringify(other.createBody());
    const page = await checkPage(other.appid, body, await hmac(other.secret, body));
    expect(verdictOf(page.html).answer).toBe("Sent now, the server accepts this request");
    expect(page.text).not.toContain("This call was answered");
  });

  it("a check opened from a refused call still shows the answer of a call with the pasted ranstr", async () => {
    const body = JSON.stringify(world.createBody({ kefu_id: [99], fzr_uid: 99 }));
    const signature = await hmac(world.secret, body);
    // It is sent through another isolate, because one that has just written to the journal waits for more rows.
    const headers = { "content-type": "application/json", "x-chat-signature": signature };
    expect((await world.anotherIsolate().sendRaw("create_gd", body, headers)).status).toBe(400);
    const page = await checkPage(world.appid, body, signature);
    expect(page.text).toContain("A call with this one-time text (ranstr) was answered 400");
  });
});

describe("a header of a pasted request", () => {
  let world: World;
  let visitor: ConsoleVisitor;
  beforeAll(async () => {
    world = await World.create();
    visitor = await ConsoleVisitor.signedIn(world);
  });

  it.each([
    ["content-type", "\u00a0application/json", "contentType"],
    ["idempotency-key", "order-7\u00a0", "idempotencyKey"],
    ["x-chat-signature", undefined, "signature"],
  ])("a pasted header with a no-break space is judged as the server judges it: %s", async (name, value, field) => {
    const body = JSON.stringify(world.createBody());
    const hex = await hmac(world.secret, body);
    const input = value ?? `${hex}\u00a0`;
    const page = await pressCheck(visitor, {
      operation: "create_gd",
      body,
      signature: hex,
      contentType: "application/json",
      [field]: input,
    } as never);
    const answer = await world.sendRaw("create_gd", body, {
      "content-type": "application/json",
      "x-chat-signature": hex,
      [name]: input,
    });
    const shownAnswer = verdictOf(page.html).answer;
    expect(shownAnswer.includes("accepts") ? 200 : Number(/\d{3}/.exec(shownAnswer)?.[0])).toBe(answer.status);
  });

  it("an absent Content-Type is 415 when the operator says so, and accepted when the operator does not know", async () => {
    const body = JSON.stringify(world.createBody());
    const fields = {
      "Which call is it?": "create_gd",
      "Body, as it was sent": body,
      "Signature (x-chat-signature)": await hmac(world.secret, body),
    };
    const form = await visitor.open("/console/signature-check");
    const not = await visitor.press(form, "Check", { ...fields, "Content-Type was not sent": "on" });
    expect(verdictOf(not.html).answer).toContain("415");
    const unknown = await visitor.press(form, "Check", fields);
    expect(verdictOf(unknown.html).answer).toBe("Sent now, the server accepts this request");
  });
});
