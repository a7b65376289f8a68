import { beforeAll, describe, expect, it } from "vitest";
import { firstRequestIdAt } from "../../../../src/core/request-id.ts";
import { start } from "../../../support/console-visitor.ts";
import { newRefusal } from "../../../support/new-refusal.ts";
import { seedSession } from "../../../support/seed-session.ts";
import { checkSignature, PARAMETERS, pressCheck, verdictOf } from "../../../support/signature-check.ts";
import { type Body, hmac, NOW } from "../../../support/world.ts";

describe("the page of the signature check", () => {
  /** For tests that change neither the app nor the language. */
  let shared: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    shared = await start("main");
  });

  it("the page of the signature check shows the cause first, then other findings, and folds away what is fine", async () => {
    const { world, visitor } = shared;
    const body = JSON.stringify(world.createBody({ timestamp: NOW + 999, sbs: "" }));
    const page = await pressCheck(visitor, { operation: "create_gd", body, signature: await hmac("wrong", body) });
    const places = ['<section class="notice bad verdict"', '<div class="cause"><h3>Signature</h3><p class="found">']
      .concat('<ol class="checks" aria-label="Other findings">', '<details class="passed"><summary>What is fine: ')
      .map((part) => page.html.indexOf(part));
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    const folded = page.html.slice(places[3], page.html.indexOf("</details>", places[3]));
    expect(folded).toContain("What is fine: 5; not evaluated: 1");
    expect(folded).toContain(">Not evaluated<");
    expect(folded).not.toContain("wrong");
  });

  it("the page of the signature check does not fold away an old secret that works or a second appid", async () => {
    const { world, visitor } = await start("main");
    const body = JSON.stringify(world.createBody());
    const signature = await hmac(world.secret, body);
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 100 });
    const page = await pressCheck(visitor, { operation: "create_gd", appid: "another", body, signature });
    const { answer, lines } = verdictOf(page.html);
    expect(answer).toBe("Sent now, the server accepts this request");
    expect([lines.Signature?.state, lines["Two appids"]?.state]).toEqual(["Note", "Note"]);
    const folded = page.html.slice(page.html.indexOf('<details class="passed">'));
    expect(folded).not.toMatch(/Two appids|old secret/);
  });

  it("the signature check accepts headers with their names, keeps them, and opens their section", async () => {
    const { world, visitor } = await start("main");
    const body = JSON.stringify(world.createBody());
    const signature = await hmac(world.secret, body);
    const empty = await pressCheck(visitor, { operation: "create_gd", body, signature });
    expect(empty.html).toContain("<details><summary>Headers");
    const headers = {
      contentType: "content-type: text/plain",
      contentEncoding: "Content-Encoding: gzip",
      idempotencyKey: "Idempotency-Key: order 17",
    };
    const page = await pressCheck(visitor, { operation: "create_gd", body, signature, ...headers });
    expect(page.html).toMatch(/<details open[^>]*><summary>Headers/);
    expect(page.value("Content-Type")).toBe("content-type: text/plain");
    const { answer, lines } = verdictOf(page.html);
    expect(answer).toBe("Sent now, the server answers 415 参数错误");
    expect(lines["Content-Type"]).toEqual({ state: "Cause", text: expect.stringMatching(/^It is text\/plain, which/) });
    expect(lines["Content-Encoding"]).toEqual({ state: "Also", text: expect.stringMatching(/^It is gzip\./) });
    expect(lines["Idempotency-Key"]).toEqual({
      state: "Also",
      text: expect.stringContaining("1 to 255 visible ASCII"),
    });
    const chinese = await visitor.press(page, "中文");
    expect(chinese.value("Idempotency-Key")).toBe("Idempotency-Key: order 17");
    expect(chinese.value("Content-Encoding")).toBe("Content-Encoding: gzip");
  });

  it("the signature check says what a call with a used Idempotency-Key would get", async () => {
    const { world, visitor } = shared;
    const answer = await world.create({}, { "idempotency-key": "order-17" });
    const { chat_id } = answer.envelope.data as { chat_id: number };
    const shownText = async (change: Body, idempotencyKey: string) => {
      const body = JSON.stringify(world.createBody(change));
      return checkSignature(visitor, { body, signature: await hmac(world.secret, body), idempotencyKey });
    };
    const repeated = await shownText({}, "order-17");
    expect(repeated.note).toBe(`It does nothing again: it answers with session ${chat_id} of the first call.`);
    expect(repeated.lines["Idempotency-Key"]).toEqual({
      state: "Fine",
      text: `A call under this key was accepted: session ${chat_id}. Sent again, it is answered with that session. To the session`,
    });
    const reused = await shownText({ content: "Another" }, "order-17");
    expect(reused.answer).toBe("Sent now, the server answers 422 参数错误");
    expect(reused.lines["Idempotency-Key"]).toEqual({
      state: "Cause",
      text: expect.stringContaining("Idempotency-Key was used before for a call that meant something else."),
    });
    const fresh = await shownText({}, "order-18");
    expect(fresh.lines["Idempotency-Key"]?.text).toContain("No call was accepted under this key");
  });

  it("a link fills in the form of the signature check and keeps the request id", async () => {
    const { world, visitor } = await start("main");
    const query = new URLSearchParams({
      operation: "add_kf",
      appid: world.appid,
      idempotency_key: "order-17",
      request: "0192f0c1-0000-7000-8000-000000000001",
    });
    const page = await visitor.open(`/console/signature-check?${query}`);
    expect(page.value("Which call is it?")).toBe("add_kf");
    expect([page.value("appid"), page.value("Idempotency-Key")]).toEqual([world.appid, "order-17"]);
    const checkedPage = await visitor.press(page, "Check", { "Body, as it was sent": "{" });
    expect(checkedPage.value("request")).toBe(query.get("request"));
    expect((await visitor.press(checkedPage, "中文")).value("request")).toBe(query.get("request"));
  });

  it("the signature check first shows the answer of the linked call, and nothing for an unknown call", async () => {
    const { world, visitor } = shared;
    const requestId = firstRequestIdAt(NOW - 60);
    await newRefusal(world, {
      requestId,
      at: NOW - 60,
      status: 400,
      reason: "fields_invalid",
      detail: "sbs: is required",
      violations: [{ field: "sbs", rule: "required" }],
    });
    const page = await visitor.open(`/console/signature-check?operation=create_gd&request=${requestId}`);
    expect(page.notices).toEqual(["This call was answered 400 参数错误"]);
    expect(page.text).toContain("sbs is missing.");
    const checkedPage = await visitor.press(page, "Check", { "Body, as it was sent": "{" });
    expect(checkedPage.notices).toEqual([
      "This call was answered 400 参数错误",
      "Sent now, the server answers 400 参数错误",
    ]);
    for (const other of [firstRequestIdAt(NOW - 61), "x"]) {
      expect((await visitor.open(`/console/signature-check?request=${other}`)).notices).toEqual([]);
    }
  });

  it("the signature check says what a URL-encoded body gets with either media type", async () => {
    const { world, visitor } = shared;
    const body = `appid=${world.appid}`;
    const shownText = async (contentType?: string) =>
      checkSignature(visitor, { body, signature: "", ...(contentType !== undefined && { contentType }) });
    const { answer, note } = await shownText();
    expect([answer, note]).toEqual([
      "Sent now, the server answers 415 参数错误",
      "As application/json it answers 400 参数错误.",
    ]);
    expect((await shownText("application/json")).answer).toBe(PARAMETERS);
  });
});

/** The text of a page outside code, without the form and the frame. */
const proseOf = (html: string): string =>
  html
    .replace(/^.*?<main[^>]*>/s, "")
    .replace(/<\/main>.*$/s, "")
    .replaceAll(/<(code|pre|textarea|select|h1)\b.*?<\/\1>/gs, " ")
    .replaceAll(/<[^>]*>/g, "\n");

describe("the Chinese page of the signature check", () => {
  it("the Chinese page of the signature check has no English sentence outside code", async () => {
    const { world, visitor } = await start("main");
    await visitor.submit(await visitor.open("/console/signature-check"), "中文");
    const id = await world.chatId({ kefu_id: [1, 2] });
    const chat = await seedSession(world, { kind: "chat" });
    const bodies: [operation: string, body: string, secret?: string][] = [
      ...["", "{", '{"a":1,}', "[]", "a=b", "{'a':1}", "<a/>", "%7B%7D", "\ufeff{}", "--x\r\n", '"{}"', "{}"].map(
        (body): [string, string] => ["create_gd", body],
      ),
      ["create_gd", `{"x":"${"x".repeat(70_000)}"}`],
      ["create_gd", JSON.stringify(world.createBody()), "wrong"],
      ["create_gd", JSON.stringify(world.createBody({ appid: `${world.appid} ` }))],
      ["create_gd", JSON.stringify(world.createBody({ appid: "nobody" }))],
      ...[
        { sbs: undefined, ip: "x", kefu_id: "1", fzr_uid: "1", sender_type: 9, title: "", metadata: { "": "" } },
        { kefu_id: [1, 4, 99] },
        { kefu_id: [1, "2"], metadata: [], content: null },
        { timestamp: String(NOW), ranstr: 7 },
        { timestamp: NOW - 999 },
        { timestamp: NOW * 1_000 },
      ].map((change): [string, string] => ["create_gd", JSON.stringify(world.createBody(change))]),
      ["create_gd", JSON.stringify(world.addBody(id))],
      ...["1,2", "1，2", "1,,2", [], {}, [1, 2, 3, 4, 99], [1, 2, 4, 99]].map((kefu_ids): [string, string] => [
        "add_kf",
        JSON.stringify(world.addBody(id, { kefu_ids })),
      ]),
      ["add_kf", JSON.stringify(world.addBody(chat))],
      ["add_kf", JSON.stringify(world.addBody(999_999))],
    ];
    const english: string[] = [];
    for (const [operation, body, secret = world.secret] of bodies) {
      const signature = await hmac(secret, body);
      const fields = { operation, appid: "", body, signature, content_encoding: "gzip", idempotency_key: "a b" };
      const page = await (await visitor.post("/console/signature-check", fields)).text();
      expect([body, page.includes('class="notice')]).toEqual([body, true]);
      for (const text of proseOf(page).split("\n")) if (/[a-z]{2,} [a-z]{2,} [a-z]+/.test(text)) english.push(text);
    }
    expect(english).toEqual([]);
  });

  it("the Chinese page of the signature check shows the server's own words beside the Chinese ones", async () => {
    const { world, visitor } = await start("main");
    await visitor.submit(await visitor.open("/console/signature-check"), "中文");
    const body = JSON.stringify(world.createBody({ sbs: undefined }));
    const fields = { operation: "create_gd", body, signature: await hmac(world.secret, body) };
    const page = await (await visitor.post("/console/signature-check", fields)).text();
    expect(page).toContain('<p class="found">sbs：必填，但没有发送。</p>');
    expect(page).toContain("<code>x-error-detail: sbs: is required</code>");
  });
});
