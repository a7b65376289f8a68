import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { plain } from "../../../support/console-page.ts";
import { ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { CountedLimit } from "../../../support/counted-limit.ts";
import { tablesOf } from "../../../support/read-store.ts";
import { replacing } from "../../../support/replacing.ts";
import { seedAgents } from "../../../support/seed-agents.ts";
import {
  ACCEPTS,
  checkSignature,
  checkSigned,
  PARAMETERS,
  pressCheck,
  verdictOf,
} from "../../../support/signature-check.ts";
import { type Body, hmac, NOW, World } from "../../../support/world.ts";

const TOKEN = "Sent now, the server answers 401 token验证失败!";
const OTHER_BYTES =
  "If you sent this one-time text (ranstr) before with other bytes, this one was answered 401 token验证失败!";

describe("the signature check", () => {
  /** For tests that change neither the app, the agents, the clock nor the language. */
  let shared: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    shared = await start("main");
  });

  it("the signature check accepts a request that the server accepts, uses no ranstr, and stores and logs nothing", async () => {
    const { world, visitor } = shared;
    const body = JSON.stringify(world.createBody({ content: "a very private message" }));
    const signature = await hmac(world.secret, body);
    const before = await world.stored();
    const log = vi.spyOn(console, "log");
    const { answer, lines } = await checkSignature(visitor, { appid: world.appid, body, signature });
    const logText = log.mock.calls.flat().join("\n");
    log.mockRestore();
    expect(answer).toBe(ACCEPTS);
    expect(Object.values(lines).map(({ state }) => state)).toEqual([
      ...Array(7).fill("Fine"),
      "Not evaluated",
      ...Array(2).fill("Fine"),
    ]);
    expect(await world.stored()).toEqual(before);
    expect(logText).toContain("/console/signature-check");
    for (const secret of ["private", signature, world.appid]) expect(logText).not.toContain(secret);
    expect((await world.sendRaw("create_gd", body, { "x-chat-signature": signature })).status).toBe(200);
  });

  it("the signature check changes nothing in any table or in KV, and counts for no limit", async () => {
    const [writes, limit] = [[] as string[], new CountedLimit(1_000)];
    const recording = (kv: KVNamespace) =>
      replacing(kv, {
        put: async (key: string) => void writes.push(`put ${key}`),
        delete: async (key: string) => void writes.push(`delete ${key}`),
      });
    const world = await World.create(
      {
        CREDENTIALS: recording(env.CREDENTIALS),
        NONCES: recording(env.NONCES),
        APP_LIMIT: limit,
        SITE_LIMIT: limit,
        CLIENT_LIMIT: limit,
      },
      "apac",
    );
    const visitor = await ConsoleVisitor.signedIn(world);
    const chatId = await world.chatId();
    const usedBody = JSON.stringify(world.createBody());
    await world.send("create_gd", usedBody);
    const requests: [operation: "create_gd" | "add_kf", body: string, secret?: string][] = [
      ["create_gd", JSON.stringify(world.createBody())],
      ["create_gd", JSON.stringify(world.createBody()), "wrong"],
      ["create_gd", usedBody],
      ["create_gd", JSON.stringify(world.createBody({ content: "" }))],
      ["create_gd", JSON.stringify(world.createBody({ kefu_id: [404], fzr_uid: 404 }))],
      ["create_gd", JSON.stringify(world.createBody({ timestamp: NOW - 1_000 }))],
      ["create_gd", JSON.stringify(world.createBody({ appid: "nobody" }))],
      ["add_kf", JSON.stringify(world.addBody(chatId))],
      ["add_kf", JSON.stringify(world.addBody(404_404))],
    ];
    const readTables = async () => [await tablesOf(env.DB), await tablesOf(env.HOME_APAC)];
    const before = await readTables();
    writes.length = 0;
    limit.keys.length = 0;
    for (const [operation, body, secret = world.secret] of requests) {
      await checkSignature(visitor, { operation, body, signature: await hmac(secret, body) });
    }
    expect(await readTables()).toEqual(before);
    expect([writes, limit.keys]).toEqual([[], []]);
  });

  it("the signature check names an unknown appid, a revoked one, and one that differs from the body's", async () => {
    const { world, visitor } = await start("main");
    const unknown = await checkSigned(world, visitor, { appid: "nobody" });
    expect([unknown.answer, unknown.lines.App]).toEqual([
      TOKEN,
      { state: "Cause", text: expect.stringContaining("no app nobody") },
    ]);
    const body = JSON.stringify(world.createBody());
    const two = await checkSignature(visitor, { appid: "another", body, signature: await hmac(world.secret, body) });
    expect(two.answer).toBe(ACCEPTS);
    expect(two.lines["Two appids"]?.text).toContain(`You pasted another, the body says ${world.appid}`);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    const verdict = await checkSigned(world, visitor);
    expect([verdict.answer, verdict.lines.App?.state]).toEqual([TOKEN, "Cause"]);
    expect(verdict.lines["Agents and session"]?.text).toContain("Nothing stands in the way.");
    expect(verdict.lines.App?.text).toContain("The app was revoked on");
    expect(verdict.lines.Signature?.state).toBe("Fine");
  });

  it("the signature check names a wrong secret, and an old secret during and after its overlap", async () => {
    const { world, visitor } = await start("main");
    const body = JSON.stringify(world.createBody());
    const wrong = await checkSignature(visitor, { body, signature: await hmac("wrong", body) });
    expect([wrong.answer, wrong.lines.Signature?.text]).toEqual([
      TOKEN,
      expect.stringContaining("No secret of this app"),
    ]);
    expect(wrong.lines.Signature?.text).toContain(
      `has ${new TextEncoder().encode(body).length} bytes; their SHA-256 is`,
    );
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 100 });
    const inside = await checkSigned(world, visitor);
    expect(inside.answer).toBe(ACCEPTS);
    expect(inside.lines.Signature?.text).toContain("Signed with the old secret, which still works until");
    world.clock.now = NOW + 100;
    const after = await checkSigned(world, visitor);
    expect(after.answer).toBe(TOKEN);
    expect(after.lines.Signature?.text).toContain("which stopped working on");
  });

  it("the signature check says which line ends fit the signature, because a form turns them into CRLF", async () => {
    const { world, visitor } = shared;
    const body = JSON.stringify(world.createBody(), null, 2);
    const sentBody = body.replaceAll("\n", "\r\n");
    const lf = await checkSignature(visitor, { body: sentBody, signature: await hmac(world.secret, body) });
    expect(lf.answer).toBe("Sent now, the server accepts this request if its line ends are LF (\\n)");
    expect(lf.lines.Signature?.state).toBe("Depends");
    expect(lf.lines.Signature?.text).toContain(
      "fits LF (\\n). If the body is sent with CRLF (\\r\\n), the server refuses it",
    );
    const crlf = await checkSignature(visitor, { body: sentBody, signature: await hmac(world.secret, sentBody) });
    expect(crlf.answer).toBe("Sent now, the server accepts this request if its line ends are CRLF (\\r\\n)");
    expect(crlf.lines.Signature?.text).toContain("fits CRLF (\\r\\n)");
    // A body of one line has only one form, so the page must not mention line ends.
    const one = JSON.stringify(world.createBody());
    const line = await checkSignature(visitor, { body: `${one}\r\n`, signature: await hmac(world.secret, one) });
    expect([line.answer, line.lines.Signature?.state]).toEqual([TOKEN, "Cause"]);
    expect(line.lines.Signature?.text).not.toContain("both were tried");
  });

  it("the signature check accepts a signature with its header's name, as a log shows it", async () => {
    const { world, visitor } = shared;
    const body = JSON.stringify(world.createBody());
    const signature = `X-Chat-Signature: ${await hmac(world.secret, body)}`;
    expect((await checkSignature(visitor, { body, signature })).answer).toBe(ACCEPTS);
  });

  it("the signature check shows what was signed when the JSON was rewritten", async () => {
    const { world, visitor } = shared;
    const fields = world.createBody();
    const body = JSON.stringify(fields);
    const sorted = JSON.stringify(Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))));
    const rewritten = await checkSignature(visitor, { body, signature: await hmac(world.secret, sorted) });
    expect(rewritten.answer).toBe(TOKEN);
    expect(rewritten.lines.Signature?.text).toContain("keys sorted");
    expect(rewritten.lines.Signature?.text).toContain(sorted);
  });

  it("the signature check first says that the call was accepted, and then that its ranstr is used", async () => {
    const { world, visitor } = shared;
    const body = JSON.stringify(world.createBody());
    const sentAnswer = await world.send("create_gd", body);
    const { chat_id } = sentAnswer.envelope.data as { chat_id: number };
    const signature = await hmac(world.secret, body);
    const { pastAnswer, answer, note, lines } = await checkSignature(visitor, { body, signature });
    expect([pastAnswer, answer]).toEqual([
      `A call with this one-time text (ranstr) was accepted: session ${chat_id}: ${OTHER_BYTES} To the session`,
      TOKEN,
    ]);
    expect(note).toContain("A one-time text (ranstr) can be used once");
    expect(Object.values(lines).map(({ state }) => state)).not.toContain("Cause");
    expect(lines.ranstr?.state).toBe("If sent again");
    const { html } = await pressCheck(visitor, { operation: "create_gd", body, signature });
    expect(html).toContain(`href="/console/sites/${world.siteId}/sessions/${chat_id}"`);
    const add = JSON.stringify(world.addBody(chat_id));
    await world.send("add_kf", add);
    const addVerdict = await checkSignature(visitor, {
      operation: "add_kf",
      body: add,
      signature: await hmac(world.secret, add),
    });
    expect(addVerdict.pastAnswer).toContain(`A call with this one-time text (ranstr) was accepted: session ${chat_id}`);
  });

  it("the signature check first says why the call was refused, and does not blame the ranstr", async () => {
    const { world, visitor } = await start("main");
    const body = JSON.stringify(world.createBody({ kefu_id: [1, 99] }));
    expect((await world.send("create_gd", body)).status).toBe(400);
    const signature = await hmac(world.secret, body);
    // Any earlier time counts while the ranstr is remembered.
    for (const now of [NOW, NOW + 400]) {
      world.clock.now = now;
      const { pastAnswer, answer, lines } = await checkSignature(visitor, { body, signature });
      expect(pastAnswer).toBe(
        `A call with this one-time text (ranstr) was answered 400 参数错误: Agents and session kefu_id: Unknown on this site: 99. Send enabled agents of this site, or add them to it. x-error-detail: kefu_id: 99 unknown ${OTHER_BYTES}`,
      );
      expect(answer).toBe(TOKEN);
      expect([lines["Agents and session"]?.state, lines.ranstr?.state]).toEqual(["Cause", "If sent again"]);
    }
    await seedAgents(world, [99]);
    const newVerdict = await checkSignature(visitor, { body, signature });
    expect(newVerdict.pastAnswer).toBe(
      `A call with this one-time text (ranstr) was answered 400 参数错误: What it was refused for has changed since: An agent was unknown, foreign or disabled. ${OTHER_BYTES}`,
    );
    const add = JSON.stringify(world.addBody(999_999));
    expect((await world.send("add_kf", add)).status).toBe(404);
    const addVerdict = await checkSignature(visitor, {
      operation: "add_kf",
      body: add,
      signature: await hmac(world.secret, add),
    });
    expect(addVerdict.pastAnswer).toBe(
      `A call with this one-time text (ranstr) was answered 404 会话不存在: Agents and session chat_id is unknown to this site. Use a chat_id that create_gd answered to an app of the site. x-error-detail: chat_id: no such session on this site ${OTHER_BYTES}`,
    );
  });

  it("the signature check does not mistake an earlier call with the same ranstr for this one", async () => {
    const { world, visitor } = shared;
    const ranstr = "shared";
    const id = await world.chatId({ ranstr });
    const others: Parameters<typeof checkSignature>[1][] = [
      { body: JSON.stringify(world.createBody({ ranstr, content: "Another" })), signature: "" },
      { body: JSON.stringify(world.createBody({ ranstr, sbs: "another" })), signature: "" },
      { operation: "add_kf", body: JSON.stringify(world.addBody(id + 1, { ranstr })), signature: "" },
      { body: JSON.stringify(world.createBody({ ranstr, sbs_mc: "" })), signature: "" },
    ];
    for (const other of others) {
      const { pastAnswer, lines } = await checkSignature(visitor, {
        ...other,
        signature: await hmac(world.secret, other.body),
      });
      expect([pastAnswer, lines.ranstr?.state]).toEqual([undefined, "Cause"]);
      expect(lines.ranstr?.text).toContain(`That request was accepted: session ${id}.`);
    }
    await world.create({ ranstr: "refused", kefu_id: [1, 99] });
    const add = JSON.stringify(world.addBody(id, { ranstr: "refused" }));
    const addVerdict = await checkSignature(visitor, {
      operation: "add_kf",
      body: add,
      signature: await hmac(world.secret, add),
    });
    expect([addVerdict.pastAnswer, addVerdict.lines.ranstr?.text]).toEqual([
      undefined,
      expect.stringContaining("That request was refused: An agent was unknown, foreign or disabled."),
    ]);
  });

  it("the signature check shows no answer of a call when the signature does not match", async () => {
    const { world, visitor } = shared;
    const body = JSON.stringify(world.createBody());
    await world.send("create_gd", body);
    expect(await checkSignature(visitor, { body, signature: "0".repeat(64) })).toMatchObject({
      pastAnswer: undefined,
      answer: TOKEN,
    });
  });

  it("the signature check names the other errors of a request that is no longer fresh", async () => {
    const { world, visitor } = shared;
    const old = { timestamp: NOW - 7_200 };
    expect((await checkSigned(world, visitor, old)).note).toBe("With a fresh timestamp it accepts the request.");
    const { note, lines } = await checkSigned(world, visitor, { ...old, sbs: "" });
    expect([note, lines.timestamp?.text]).toEqual([
      "With a fresh timestamp it answers 400 参数错误.",
      expect.stringContaining("It is 2 h old"),
    ]);
  });

  it("the signature check names field errors as the server does, also of agents and sessions", async () => {
    const { world, visitor } = shared;
    const answers: [Body, string, string, string][] = [
      [
        { sbs: undefined, ip: "x" },
        "Fields of create_gd",
        "sbs: is required; ip: must be one IPv4 or IPv6 address, without port, brackets or blanks",
        "sbs is missing. ip must be one IPv4 or IPv6 address, without port, brackets or blanks.",
      ],
      [
        { kefu_id: [1, 4, 99] },
        "Agents and session",
        "kefu_id: 99 unknown, 4 disabled",
        "kefu_id: Unknown on this site: 99. Disabled: 4. Send enabled agents of this site, or add them to it.",
      ],
      [
        { timestamp: String(NOW) },
        "timestamp and ranstr",
        "timestamp: must be an integer, Unix seconds, not a string",
        "timestamp must be a whole number: Unix seconds. It was sent as a string.",
      ],
    ];
    for (const [change, about, detail, words] of answers) {
      const refusal = await world.create(change);
      expect(refusal.headers.get("x-error-detail")).toBe(detail);
      const { answer, lines } = await checkSigned(world, visitor, change);
      expect([answer, lines[about]]).toEqual([
        PARAMETERS,
        { state: "Cause", text: `${words} x-error-detail: ${detail}` },
      ]);
    }
  });

  it("the signature check names the agents that add_kf ignores, with the reasons, and refuses when none is left", async () => {
    const { world, visitor } = shared;
    const id = await world.chatId({ kefu_id: [1, 2] });
    const shownText = async (kefu_ids: unknown) => {
      const body = JSON.stringify(world.addBody(id, { kefu_ids }));
      const verdict = await checkSignature(visitor, {
        operation: "add_kf",
        body,
        signature: await hmac(world.secret, body),
      });
      return [verdict.answer, verdict.lines["Agents and session"]];
    };
    const agents = "Unknown on this site: 99. Disabled: 4. On the session already: 1, 2.";
    const ignoredText = "99 unknown, 4 disabled, 1 already on the session, 2 already on the session";
    expect(await shownText("1,2,3,4,99")).toEqual([
      ACCEPTS,
      { state: "Fine", text: `These are ignored, the others are added: ${agents} x-ignored-agents: ${ignoredText}` },
    ]);
    expect(await shownText([99, 4, 2, 1])).toEqual([
      "Sent now, the server answers 409 当前状态不允许操作",
      {
        state: "Cause",
        text: `kefu_ids: There is nobody to add. ${agents} Repeat nothing if they are on the session; else see the site's agents. x-error-detail: kefu_ids: nobody to add: ${ignoredText}`,
      },
    ]);
    const [, many] = await shownText(Array.from({ length: 53 }, (_, i) => 1_000 + i));
    expect(many).toEqual({ state: "Cause", text: expect.stringMatching(/ 1052 unknown$/) });
  });

  it("the signature check judges by the chosen call, and warns when the body looks like the other call", async () => {
    const { world, visitor } = shared;
    const create = JSON.stringify(world.createBody());
    const asAdd = await checkSignature(visitor, {
      operation: "add_kf",
      body: create,
      signature: await hmac(world.secret, create),
    });
    expect([asAdd.answer, asAdd.lines["Fields of add_kf"]]).toEqual([
      PARAMETERS,
      {
        state: "Cause",
        text: expect.stringMatching(
          /^chat_id is missing. kefu_ids is missing. The body looks like one of create_gd, but was checked/,
        ),
      },
    ]);
    const add = JSON.stringify(world.addBody(1));
    const asCreate = await checkSignature(visitor, { body: add, signature: await hmac(world.secret, add) });
    expect(asCreate.lines["Fields of create_gd"]?.text).toContain("looks like one of add_kf");
    const stray = await checkSigned(world, visitor, { chat_id: 1 });
    expect([stray.answer, stray.lines["Fields of create_gd"]?.text]).toEqual([ACCEPTS, "All as they should be."]);
  });

  it("the signature check checks nothing until a call is chosen, and only a link chooses it before", async () => {
    const { world, visitor } = shared;
    const body = JSON.stringify(world.createBody());
    for (const operation of ["", "constructor", "no_such_gd"]) {
      const answer = await visitor.post("/console/signature-check", { operation, appid: "", body, signature: "" });
      const page = await answer.text();
      expect([answer.status, page.includes('class="checks"')]).toEqual([400, false]);
      const [select = ""] = /<select id="operation"[^>]*>/.exec(page) ?? [];
      for (const part of ['aria-invalid="true"', 'aria-describedby="operation-error"', "autofocus", "required"])
        expect(select).toContain(part);
      expect(plain(page)).toContain(body);
    }
    expect(await visitor.page("/console/signature-check")).not.toMatch(/<option value="\w+" selected/);
    expect(await visitor.page("/console/signature-check?operation=add_kf")).toMatch(
      /<option value="add_kf" selected[^>]*>add_kf</,
    );
  });

  it("the signature check says when a body is nested too deep to rewrite", async () => {
    const { world, visitor } = shared;
    const deep = JSON.stringify(world.createBody()).replace("{", `{"x":${"[".repeat(2_000)}${"]".repeat(2_000)},`);
    const { answer, lines } = await checkSignature(visitor, { body: deep, signature: await hmac("wrong", deep) });
    expect([answer, lines.Signature?.text]).toEqual([TOKEN, expect.stringContaining("Rewritings were not tried")]);
  });

  it("a change of language keeps the checked request and its verdict, and puts neither into an address or a log", async () => {
    const { world, visitor } = await start("main");
    const body = JSON.stringify(world.createBody({ content: "a very private message" }));
    const signature = await hmac("wrong", body);
    const checkedPage = await pressCheck(visitor, { operation: "create_gd", body, signature });
    const log = vi.spyOn(console, "log");
    const page = await visitor.press(checkedPage, "中文");
    const logText = log.mock.calls.flat().join("\n");
    log.mockRestore();
    expect([page.status, page.path]).toEqual([200, "/console/signature-check?draft=1"]);
    expect(page.html).toContain('<html lang="zh-CN">');
    expect(page.text).toContain("现在发送，服务器会返回 401 token验证失败!");
    const pageAgain = await visitor.press(page, "English");
    expect(pageAgain.text).toContain(TOKEN);
    expect(pageAgain.value("Which call is it?")).toBe("create_gd");
    expect(pageAgain.value("Body, as it was sent")).toBe(body);
    expect(pageAgain.value("Signature (x-chat-signature)")).toBe(signature);
    for (const secret of ["private", signature, world.appid]) expect(logText).not.toContain(secret);
  });

  it("the signature check names a fault at the time of sending as the cause, and not the age of the request", async () => {
    const { world, visitor } = shared;
    const states = async (change: Body) => {
      const { lines } = await checkSigned(world, visitor, change);
      return [lines.timestamp?.state, lines["Fields of create_gd"]?.state];
    };
    expect(await states({ timestamp: NOW - 999, sbs: "" })).toEqual(["If sent again", "Cause"]);
    expect(await states({ timestamp: NOW - 999 })).toEqual(["Cause", "Fine"]);
    // A clock that is ahead was wrong at that time too.
    expect(await states({ timestamp: NOW + 999, sbs: "" })).toEqual(["Cause", "Also"]);
  });

  it("the signature check does not claim that another call with the same ranstr was accepted", async () => {
    const { world, visitor } = shared;
    const first = world.createBody();
    await world.send("create_gd", JSON.stringify(first));
    const again = JSON.stringify({ ...first, timestamp: NOW - 1 });
    expect((await world.send("create_gd", again)).status).toBe(401);
    const { pastAnswer } = await checkSignature(visitor, { body: again, signature: await hmac(world.secret, again) });
    expect(pastAnswer).toContain(OTHER_BYTES);
  });

  it("the signature check explains that an Idempotency-Key was used before", async () => {
    const { world, visitor } = shared;
    const key = { "idempotency-key": "one-key" };
    const sendChange = async (change: Body) => {
      const body = JSON.stringify(world.createBody(change));
      const signature = await hmac(world.secret, body);
      const { status } = await world.sendRaw("create_gd", body, { "x-chat-signature": signature, ...key });
      return { body, signature, status };
    };
    expect((await sendChange({})).status).toBe(200);
    const { status, ...second } = await sendChange({ content: "Another" });
    expect(status).toBe(422);
    const page = await pressCheck(visitor, { operation: "create_gd", ...second });
    expect(verdictOf(page.html).pastAnswer).toBe(
      `A call with this one-time text (ranstr) was answered 422 参数错误: The Idempotency-Key was used before for a call that meant something else. ${OTHER_BYTES}`,
    );
    expect(page.text).not.toContain("key_reused");
  });

  it("the signature check shows the pasted text again, escaped", async () => {
    const { visitor } = shared;
    const body = "</textarea><script>1</script>";
    const { html } = await pressCheck(visitor, { operation: "create_gd", body });
    expect(html).toContain("&lt;/textarea&gt;&lt;script&gt;1&lt;/script&gt;</textarea>");
  });
});
