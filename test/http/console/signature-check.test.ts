import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { type ConsolePage, plain } from "../../support/console-page.ts";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { seedAgents } from "../../support/seed-agents.ts";
import { seedSession } from "../../support/seed-session.ts";
import { type Body, hmac, NOW, type Replacements, World } from "../../support/world.ts";

async function start() {
  const world = await World.create();
  return { world, visitor: await ConsoleVisitor.signedIn(world) };
}

type Operation = "create_gd" | "add_kf";

interface Verdict {
  /** What the call was answered, when the page knows, with what stands under it. */
  was: string | undefined;
  /** What it would be answered now. */
  answer: string;
  /** What stands under that. */
  note: string;
  /** Each line of the check: what it is about, how it is, what it says. */
  lines: Record<string, { state: string; text: string }>;
}

/** Presses "Check" with every field of the real form. */
async function check(
  visitor: ConsoleVisitor,
  pasted: { operation?: Operation; appid?: string; body: string; signature: string },
): Promise<Verdict> {
  const page = await pressCheck(visitor, { operation: "create_gd", ...pasted });
  expect(page.status).toBe(200);
  return verdictOf(page.html);
}

/** Fills the form and presses its button. */
async function pressCheck(
  visitor: ConsoleVisitor,
  { operation = "", appid = "", body = "", signature = "" }: { [field: string]: string },
): Promise<ConsolePage> {
  return visitor.press(await visitor.open("/console/signature-check"), "Check", {
    "Which call is it?": operation,
    appid,
    "Body, as it was sent": body,
    "Signature (x-chat-signature)": signature,
  });
}

function verdictOf(page: string): Verdict {
  const lines = page.matchAll(
    /<li class="(?:fine|wrong)"><h2>(.*?)<span class="badge \w+">([\w ]+)<\/span><\/h2>(.*?)<\/li>/gs,
  );
  const notices = [...page.matchAll(/<section class="notice[^>]*><h2>(.*?)<\/h2>(.*?)<\/section>/gs)].reverse();
  const [now, was] = notices.map(([, title = "", text = ""]) => [plain(title), plain(text)]);
  return {
    was: was?.join(": "),
    answer: now?.[0] ?? "",
    note: now?.[1] ?? "",
    lines: Object.fromEntries(
      [...lines].map(([, about = "", state = "", text = ""]) => [plain(about), { state, text: plain(text) }]),
    ),
  };
}

const ACCEPTS = "Sent now, the server accepts this request";
const TOKEN = "Sent now, the server answers 401 token验证失败!";
const OTHER_BYTES = "If you sent this ranstr before with other bytes, this one was answered 401 token验证失败!";
const PARAMETERS = "Sent now, the server answers 400 参数错误";

/** Checks a signed create_gd body. */
async function checkSigned(world: World, visitor: ConsoleVisitor, change: Body = {}): Promise<Verdict> {
  const body = JSON.stringify(world.createBody(change));
  return check(visitor, { body, signature: await hmac(world.secret, body) });
}

describe("the signature check", () => {
  it("accepts what the server accepts, and leaves the ranstr unused, nothing stored and nothing logged", async () => {
    const { world, visitor } = await start();
    const body = JSON.stringify(world.createBody({ content: "a very private message" }));
    const signature = await hmac(world.secret, body);
    const before = await world.stored();
    const log = vi.spyOn(console, "log");
    const { answer, lines } = await check(visitor, { appid: world.appid, body, signature });
    const logged = log.mock.calls.flat().join("\n");
    log.mockRestore();
    expect(answer).toBe(ACCEPTS);
    expect(Object.values(lines).map(({ state }) => state)).toEqual([
      ...Array(5).fill("Fine"),
      "Not evaluated",
      ...Array(2).fill("Fine"),
    ]);
    expect(await world.stored()).toEqual(before);
    expect(logged).toContain("/console/signature-check");
    for (const secret of ["private", signature, world.appid]) expect(logged).not.toContain(secret);
    expect((await world.sendRaw("create_gd", body, { "x-chat-signature": signature })).status).toBe(200);
  });

  it("names an unknown appid, a revoked one, and one that differs from the body's", async () => {
    const { world, visitor } = await start();
    const unknown = await checkSigned(world, visitor, { appid: "nobody" });
    expect([unknown.answer, unknown.lines.App]).toEqual([
      TOKEN,
      { state: "Cause", text: expect.stringContaining("no app nobody") },
    ]);
    const body = JSON.stringify(world.createBody());
    const two = await check(visitor, { appid: "another", body, signature: await hmac(world.secret, body) });
    expect(two.answer).toBe(ACCEPTS);
    expect(two.lines["Two appids"]?.text).toContain(`You pasted another, the body says ${world.appid}`);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    const revoked = await checkSigned(world, visitor);
    expect([revoked.answer, revoked.lines.App?.state]).toEqual([TOKEN, "Cause"]);
    expect(revoked.lines["Agents and session"]?.text).toContain("Nothing stands in the way.");
    expect(revoked.lines.App?.text).toContain("The app was revoked on");
    expect(revoked.lines.Signature?.state).toBe("Fine");
  });

  it("names a wrong secret and a previous one, inside its overlap and after it", async () => {
    const { world, visitor } = await start();
    const body = JSON.stringify(world.createBody());
    const wrong = await check(visitor, { body, signature: await hmac("wrong", body) });
    expect([wrong.answer, wrong.lines.Signature?.text]).toEqual([
      TOKEN,
      expect.stringContaining("No secret of this app"),
    ]);
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 100 });
    const inside = await checkSigned(world, visitor);
    expect(inside.answer).toBe(ACCEPTS);
    expect(inside.lines.Signature?.text).toContain("Signed with the previous secret, which still works until");
    world.clock.now = NOW + 100;
    const after = await checkSigned(world, visitor);
    expect(after.answer).toBe(TOKEN);
    expect(after.lines.Signature?.text).toContain("which stopped working on");
  });

  it("tells which line ends the signature fits, because a form makes all of them CRLF", async () => {
    const { world, visitor } = await start();
    const body = JSON.stringify(world.createBody(), null, 2);
    const sent = body.replaceAll("\n", "\r\n");
    const lf = await check(visitor, { body: sent, signature: await hmac(world.secret, body) });
    expect(lf.answer).toBe("Sent now, the server accepts this request if its line ends are LF (\\n)");
    expect(lf.lines.Signature?.state).toBe("Depends");
    expect(lf.lines.Signature?.text).toContain(
      "fits LF (\\n). If the body is sent with CRLF (\\r\\n), the server refuses it",
    );
    const crlf = await check(visitor, { body: sent, signature: await hmac(world.secret, sent) });
    expect(crlf.answer).toBe("Sent now, the server accepts this request if its line ends are CRLF (\\r\\n)");
    expect(crlf.lines.Signature?.text).toContain("fits CRLF (\\r\\n)");
    // A body of one line has no line ends to choose between.
    const one = JSON.stringify(world.createBody());
    const line = await check(visitor, { body: `${one}\r\n`, signature: await hmac(world.secret, one) });
    expect([line.answer, line.lines.Signature?.state]).toEqual([TOKEN, "Cause"]);
    expect(line.lines.Signature?.text).not.toContain("both were tried");
  });

  it("takes the signature with its header's name, as a log shows it", async () => {
    const { world, visitor } = await start();
    const body = JSON.stringify(world.createBody());
    const signature = `X-Chat-Signature: ${await hmac(world.secret, body)}`;
    expect((await check(visitor, { body, signature })).answer).toBe(ACCEPTS);
  });

  it("tells a hash without a key, and an HMAC with key and message swapped", async () => {
    const { world, visitor } = await start();
    const body = JSON.stringify(world.createBody());
    const hash = async (text: string) =>
      new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();
    for (const text of [body, world.secret + body, body + world.secret]) {
      const { answer, lines } = await check(visitor, { body, signature: await hash(text) });
      expect([answer, lines.Signature?.text]).toEqual([TOKEN, expect.stringContaining("a plain SHA-256 hash")]);
    }
    const { lines } = await check(visitor, { body, signature: await hmac(body, world.secret) });
    expect(lines.Signature?.text).toBe(
      "Key and message are swapped: the secret is the key of the HMAC, the body its message.",
    );
  });

  it("shows what was signed when the JSON was written anew, and names the other forms of a signature", async () => {
    const { world, visitor } = await start();
    const fields = world.createBody();
    const body = JSON.stringify(fields);
    const sorted = JSON.stringify(Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))));
    const rewritten = await check(visitor, { body, signature: await hmac(world.secret, sorted) });
    expect(rewritten.answer).toBe(TOKEN);
    expect(rewritten.lines.Signature?.text).toContain("keys sorted");
    expect(rewritten.lines.Signature?.text).toContain(sorted);
    const hex = await hmac(world.secret, body);
    const texts: [string, string][] = [
      [`sha256=${hex}`, "without a prefix like “sha256=”"],
      [Uint8Array.fromHex(hex).toBase64(), "It is base64. Send hex"],
      [hex.slice(0, 40), "It has 40 hex digits; HMAC-SHA256 has 64. That many is SHA-1."],
      ["", "There is no signature"],
    ];
    for (const [signature, text] of texts) {
      const { answer, lines } = await check(visitor, { body, signature });
      expect([answer, lines.Signature]).toEqual([TOKEN, { state: "Cause", text: expect.stringContaining(text) }]);
    }
    const newline = await check(visitor, { body, signature: await hmac(world.secret, `${body}\n`) });
    expect(newline.lines.Signature?.text).toContain("ends with a line end that the pasted body does not have");
  });

  it("names a stale timestamp, one ahead, milliseconds, and what is no timestamp", async () => {
    const { world, visitor } = await start();
    const at = async (timestamp: unknown) => checkSigned(world, visitor, { timestamp });
    const stale = await at(NOW - 301);
    expect([stale.answer, stale.lines.timestamp?.text]).toEqual([
      TOKEN,
      expect.stringContaining("It is 5 min old; 300 s"),
    ]);
    expect((await at(NOW - 300)).answer).toBe(ACCEPTS);
    expect((await at(NOW + 301)).lines.timestamp?.text).toContain("It is 5 min ahead");
    const milliseconds = await at(NOW * 1000);
    expect([milliseconds.answer, milliseconds.lines.timestamp?.text]).toEqual([
      TOKEN,
      `It is in milliseconds. Send Unix seconds: ${NOW}.`,
    ]);
    const text = await at(String(NOW));
    expect([text.answer, text.lines["timestamp and ranstr"]?.text]).toEqual([
      PARAMETERS,
      "timestamp: must be an integer, Unix seconds",
    ]);
  });

  it("says first that a call was accepted, and only then that its ranstr is used", async () => {
    const { world, visitor } = await start();
    const body = JSON.stringify(world.createBody());
    const sent = await world.send("create_gd", body);
    const { chat_id } = sent.envelope.data as { chat_id: number };
    const signature = await hmac(world.secret, body);
    const { was, answer, note, lines } = await check(visitor, { body, signature });
    expect([was, answer]).toEqual([
      `A call with this ranstr was accepted: session ${chat_id}: ${OTHER_BYTES} To the session`,
      TOKEN,
    ]);
    expect(note).toContain("A ranstr can be used once");
    expect(Object.values(lines).map(({ state }) => state)).not.toContain("Cause");
    expect(lines.ranstr?.state).toBe("If sent again");
    const { html } = await pressCheck(visitor, { operation: "create_gd", body, signature });
    expect(html).toContain(`href="/console/sites/${world.siteId}/sessions/${chat_id}"`);
    const add = JSON.stringify(world.addBody(chat_id));
    await world.send("add_kf", add);
    const added = await check(visitor, { operation: "add_kf", body: add, signature: await hmac(world.secret, add) });
    expect(added.was).toContain(`A call with this ranstr was accepted: session ${chat_id}`);
  });

  it("says first what a call was refused for, and does not blame the ranstr for it", async () => {
    const { world, visitor } = await start();
    const body = JSON.stringify(world.createBody({ kefu_id: [1, 99] }));
    expect((await world.send("create_gd", body)).status).toBe(400);
    const signature = await hmac(world.secret, body);
    // However long ago, while it is remembered.
    for (const now of [NOW, NOW + 400]) {
      world.clock.now = now;
      const { was, answer, lines } = await check(visitor, { body, signature });
      expect(was).toBe(
        `A call with this ranstr was answered 400 参数错误: kefu_id: unknown, foreign or disabled: 99 ${OTHER_BYTES}`,
      );
      expect(answer).toBe(TOKEN);
      expect([lines["Agents and session"]?.state, lines.ranstr?.state]).toEqual(["Cause", "If sent again"]);
    }
    await seedAgents(world, [99]);
    const mended = await check(visitor, { body, signature });
    expect(mended.was).toBe(
      `A call with this ranstr was answered 400 参数错误: What it was refused for has changed since: An agent was unknown, foreign or disabled. ${OTHER_BYTES}`,
    );
    const add = JSON.stringify(world.addBody(999_999));
    expect((await world.send("add_kf", add)).status).toBe(404);
    const added = await check(visitor, { operation: "add_kf", body: add, signature: await hmac(world.secret, add) });
    expect(added.was).toBe(
      `A call with this ranstr was answered 404 会话不存在: chat_id: no such session on this site ${OTHER_BYTES}`,
    );
  });

  it("does not take a call that used the ranstr before for this one", async () => {
    const { world, visitor } = await start();
    const ranstr = "shared";
    const id = await world.chatId({ ranstr });
    const others: Parameters<typeof check>[1][] = [
      { body: JSON.stringify(world.createBody({ ranstr, content: "Another" })), signature: "" },
      { body: JSON.stringify(world.createBody({ ranstr, sbs: "another" })), signature: "" },
      { operation: "add_kf", body: JSON.stringify(world.addBody(id + 1, { ranstr })), signature: "" },
      { body: JSON.stringify(world.createBody({ ranstr, sbs_mc: "" })), signature: "" },
    ];
    for (const other of others) {
      const { was, lines } = await check(visitor, { ...other, signature: await hmac(world.secret, other.body) });
      expect([was, lines.ranstr?.state]).toEqual([undefined, "Cause"]);
      expect(lines.ranstr?.text).toContain(`That request was accepted: session ${id}.`);
    }
    await world.create({ ranstr: "refused", kefu_id: [1, 99] });
    const add = JSON.stringify(world.addBody(id, { ranstr: "refused" }));
    const added = await check(visitor, { operation: "add_kf", body: add, signature: await hmac(world.secret, add) });
    expect([added.was, added.lines.ranstr?.text]).toEqual([
      undefined,
      expect.stringContaining("That request was refused: An agent was unknown, foreign or disabled."),
    ]);
  });

  it("says nothing of what a call was answered whose signature does not fit", async () => {
    const { world, visitor } = await start();
    const body = JSON.stringify(world.createBody());
    await world.send("create_gd", body);
    expect(await check(visitor, { body, signature: "0".repeat(64) })).toMatchObject({ was: undefined, answer: TOKEN });
  });

  it("says of a request that is no longer fresh what else is wrong with it", async () => {
    const { world, visitor } = await start();
    const old = { timestamp: NOW - 7_200 };
    expect((await checkSigned(world, visitor, old)).note).toBe("With a fresh timestamp it accepts the request.");
    const { note, lines } = await checkSigned(world, visitor, { ...old, sbs: "" });
    expect([note, lines.timestamp?.text]).toEqual([
      "With a fresh timestamp it answers 400 参数错误.",
      expect.stringContaining("It is 2 h old"),
    ]);
  });

  it("takes a timestamp some whole hours ahead for a local time", async () => {
    const { world, visitor } = await start();
    const said = async (ahead: number) =>
      (await checkSigned(world, visitor, { timestamp: NOW + ahead })).lines.timestamp;
    const text = "It is 8 h ahead; 300 s are allowed. Set the sender's clock.";
    expect((await said(28_790))?.text).toBe(`${text} Is it a local time, taken for UTC?`);
    expect((await said(27_900))?.text).toBe(text);
    expect((await said(301))?.text).not.toContain("local time");
  });

  it("names field errors as the server does, agents and sessions too", async () => {
    const { world, visitor } = await start();
    const answers: [Body, string, string][] = [
      [{ sbs: undefined, ip: "x" }, "Fields of create_gd", "sbs: is required; ip: must be an IPv4 or IPv6 address"],
      [{ kefu_id: [1, 4, 99] }, "Agents and session", "kefu_id: unknown, foreign or disabled: 4, 99"],
    ];
    for (const [change, about, detail] of answers) {
      const sent = await world.create(change);
      expect(sent.headers.get("x-error-detail")).toBe(detail);
      const { answer, lines } = await checkSigned(world, visitor, change);
      expect([answer, lines[about]]).toEqual([PARAMETERS, { state: "Cause", text: detail }]);
    }
  });

  it("names the agents that add_kf ignores, each with why, and refuses when none is left", async () => {
    const { world, visitor } = await start();
    const id = await world.chatId({ kefu_id: [1, 2] });
    const said = async (kefu_ids: unknown) => {
      const body = JSON.stringify(world.addBody(id, { kefu_ids }));
      const verdict = await check(visitor, { operation: "add_kf", body, signature: await hmac(world.secret, body) });
      return [verdict.answer, verdict.lines["Agents and session"]];
    };
    const ignored = "99 unknown, 4 disabled, 1 already on the session, 2 already on the session";
    expect(await said("1,2,3,4,99")).toEqual([
      ACCEPTS,
      { state: "Fine", text: `These are ignored, the others are added: ${ignored}` },
    ]);
    expect(await said([99, 4, 2, 1])).toEqual([
      "Sent now, the server answers 409 当前状态不允许操作",
      { state: "Cause", text: `kefu_ids: nobody to add: ${ignored}` },
    ]);
    const [, many] = await said(Array.from({ length: 53 }, (_, i) => 1_000 + i));
    expect(many).toEqual({ state: "Cause", text: expect.stringMatching(/ 1052 unknown$/) });
  });

  it("judges by the chosen call, and says when the body looks like one of the other", async () => {
    const { world, visitor } = await start();
    const create = JSON.stringify(world.createBody());
    const asAdd = await check(visitor, {
      operation: "add_kf",
      body: create,
      signature: await hmac(world.secret, create),
    });
    expect([asAdd.answer, asAdd.lines["Fields of add_kf"]]).toEqual([
      PARAMETERS,
      {
        state: "Cause",
        text: expect.stringMatching(/^chat_id: .*; kefu_ids: .* The body looks like one of create_gd, but was checked/),
      },
    ]);
    const add = JSON.stringify(world.addBody(1));
    const asCreate = await check(visitor, { body: add, signature: await hmac(world.secret, add) });
    expect(asCreate.lines["Fields of create_gd"]?.text).toContain("looks like one of add_kf");
    const stray = await checkSigned(world, visitor, { chat_id: 1 });
    expect([stray.answer, stray.lines["Fields of create_gd"]?.text]).toEqual([ACCEPTS, "All as they should be."]);
  });

  it("checks nothing until the call is chosen, which only a link chooses beforehand", async () => {
    const { world, visitor } = await start();
    const body = JSON.stringify(world.createBody());
    for (const operation of ["", "constructor", "no_such_gd"]) {
      const answer = await visitor.post("/console/signature-check", { operation, appid: "", body, signature: "" });
      const page = await answer.text();
      expect([answer.status, page.includes('class="checks"')]).toEqual([400, false]);
      expect(page).toMatch(
        /<select id="operation" [^>]*autofocus[^>]* aria-invalid="true" aria-describedby="operation-error"/,
      );
      expect(plain(page)).toContain(body);
    }
    expect(await visitor.page("/console/signature-check")).not.toContain("selected");
    expect(await visitor.page("/console/signature-check?operation=add_kf")).toMatch(/<option selected[^>]*>add_kf</);
  });

  it("says of a body nested too deep to rewrite, and of a URL-encoded one, what they are", async () => {
    const { world, visitor } = await start();
    const deep = JSON.stringify(world.createBody()).replace("{", `{"x":${"[".repeat(2_000)}${"]".repeat(2_000)},`);
    const { answer, lines } = await check(visitor, { body: deep, signature: await hmac("wrong", deep) });
    expect([answer, lines.Signature?.text]).toEqual([TOKEN, expect.stringContaining("Rewritings were not tried")]);
    const form = await check(visitor, { body: `appid=${world.appid}&timestamp=1`, signature: "" });
    expect([form.answer, form.lines.Body?.text]).toEqual([PARAMETERS, expect.stringContaining("URL-encoded")]);
  });

  /** Presses the language switch of a page that shows the form as filled; `typed` is what stands in it. */
  it("keeps the request and its verdict when the language is switched, and puts neither into an address or a log", async () => {
    const { world, visitor } = await start();
    const body = JSON.stringify(world.createBody({ content: "a very private message" }));
    const signature = await hmac("wrong", body);
    const checked = await pressCheck(visitor, { operation: "create_gd", body, signature });
    const log = vi.spyOn(console, "log");
    const page = await visitor.press(checked, "中文");
    const logged = log.mock.calls.flat().join("\n");
    log.mockRestore();
    expect([page.status, page.path]).toEqual([200, "/console/signature-check?draft=1"]);
    expect(page.html).toContain('<html lang="zh-CN">');
    expect(page.text).toContain("现在发送，服务器会返回 401 token验证失败!");
    const again = await visitor.press(page, "English");
    expect(again.text).toContain(TOKEN);
    expect(again.value("Which call is it?")).toBe("create_gd");
    expect(again.value("Body, as it was sent")).toBe(body);
    expect(again.value("Signature (x-chat-signature)")).toBe(signature);
    for (const secret of ["private", signature, world.appid]) expect(logged).not.toContain(secret);
  });

  it("names what is wrong with a body that is no JSON object", async () => {
    const { world, visitor } = await start();
    const said = async (body: string) =>
      (await check(visitor, { appid: world.appid, body, signature: "" })).lines.Body?.text;
    expect(await said("")).toBe("The body is empty.");
    expect(await said('{"a":1,}')).toMatch(/^The body is not a JSON object\. .*position 7/);
    expect(await said('\ufeff{"a":1}')).toContain("byte order mark");
    expect(await said('{"a":1}')).toContain("no appid");
    expect(await said(`{"a":"${"x".repeat(65_536)}"}`)).toBe("The body is over 64 KiB.");
  });

  it("names every cause, the first as the cause", async () => {
    const { world, visitor } = await start();
    const body = JSON.stringify(world.createBody({ timestamp: NOW - 999, sbs: "" }));
    const { lines } = await check(visitor, { body, signature: await hmac("wrong", body) });
    expect([lines.Signature?.state, lines.timestamp?.state, lines["Fields of create_gd"]?.state]).toEqual([
      "Cause",
      "If sent again",
      "Also",
    ]);
  });

  it("takes for the cause what was wrong when it was sent, not that it is pasted later", async () => {
    const { world, visitor } = await start();
    const states = async (change: Body) => {
      const { lines } = await checkSigned(world, visitor, change);
      return [lines.timestamp?.state, lines["Fields of create_gd"]?.state];
    };
    expect(await states({ timestamp: NOW - 999, sbs: "" })).toEqual(["If sent again", "Cause"]);
    expect(await states({ timestamp: NOW - 999 })).toEqual(["Cause", "Fine"]);
    // A clock ahead was wrong then too.
    expect(await states({ timestamp: NOW + 999, sbs: "" })).toEqual(["Cause", "Also"]);
  });

  it("does not claim that another call of the same ranstr was accepted", async () => {
    const { world, visitor } = await start();
    const first = world.createBody();
    await world.send("create_gd", JSON.stringify(first));
    const again = JSON.stringify({ ...first, timestamp: NOW - 1 });
    expect((await world.send("create_gd", again)).status).toBe(401);
    const { was } = await check(visitor, { body: again, signature: await hmac(world.secret, again) });
    expect(was).toContain(OTHER_BYTES);
  });

  it("says in words that an Idempotency-Key was used before", async () => {
    const { world, visitor } = await start();
    const key = { "idempotency-key": "one-key" };
    const sent = async (change: Body) => {
      const body = JSON.stringify(world.createBody(change));
      const signature = await hmac(world.secret, body);
      const { status } = await world.sendRaw("create_gd", body, { "x-chat-signature": signature, ...key });
      return { body, signature, status };
    };
    expect((await sent({})).status).toBe(200);
    const { status, ...second } = await sent({ content: "Another" });
    expect(status).toBe(422);
    const page = await pressCheck(visitor, { operation: "create_gd", ...second });
    expect(verdictOf(page.html).was).toBe(
      `A call with this ranstr was answered 422 参数错误: The Idempotency-Key was used before for a call that meant something else. ${OTHER_BYTES}`,
    );
    expect(page.text).not.toContain("key_reused");
  });

  it("puts back what was pasted, escaped", async () => {
    const { visitor } = await start();
    const body = "</textarea><script>1</script>";
    const { html } = await pressCheck(visitor, { operation: "create_gd", body });
    expect(html).toContain("&lt;/textarea&gt;&lt;script&gt;1&lt;/script&gt;</textarea>");
  });
});

/** A request of either call, and what the server answers to it. */
interface Case {
  body: string | Body;
  operation?: Operation;
  /** The right one unless given. */
  signature?: string;
}

const NESTED = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
const twice = async (world: World, operation: Operation, body: Body, first: number) => {
  expect((await world.send(operation, body)).status).toBe(first);
  return { operation, body };
};

const CASES: [string, number, (world: World) => Case | Promise<Case>][] = [
  ["a good create", 200, (world) => ({ body: world.createBody() })],
  [
    "a create with a number beyond 2^53",
    200,
    (world) => ({
      body: JSON.stringify(world.createBody({ sbs: 7 })).replace('"sbs":7', '"sbs":12345678901234567890'),
    }),
  ],
  ["a create with a fraction for sbs", 400, (world) => ({ body: world.createBody({ sbs: 1.5 }) })],
  [
    "a create with a stray chat_id and kefu_ids",
    200,
    (world) => ({ body: world.createBody({ chat_id: 1, kefu_ids: "x" }) }),
  ],
  ["a create with 2,000 brackets in one another", 200, (world) => ({ body: world.createBody({ x: NESTED(2_000) }) })],
  [
    "an agent list with 2,000 brackets in one another",
    400,
    (world) => ({ body: world.createBody({ kefu_id: NESTED(2_000) }) }),
  ],
  ["a create with an unknown agent", 400, (world) => ({ body: world.createBody({ kefu_id: [1, 99] }) })],
  ["a create with a disabled agent", 400, (world) => ({ body: world.createBody({ kefu_id: [1, 4] }) })],
  ["a create whose agents are a text", 400, (world) => ({ body: world.createBody({ kefu_id: "1,2" }) })],
  ["a create with wrong types", 400, (world) => ({ body: world.createBody({ fzr_uid: "1", sender_type: "2" }) })],
  ["a create whose responsible agent is not listed", 400, (world) => ({ body: world.createBody({ fzr_uid: 3 }) })],
  ["a create with half a character", 400, (world) => ({ body: world.createBody({ content: "\ud83d" }) })],
  ["a create without fields", 400, (world) => ({ body: world.createBody({ sbs: undefined, ip: undefined }) })],
  ["a body of add_kf", 400, (world) => ({ body: world.addBody(1) })],
  ["a timestamp that is a text", 400, (world) => ({ body: world.createBody({ timestamp: String(NOW) }) })],
  ["a ranstr of 129 characters", 400, (world) => ({ body: world.createBody({ ranstr: "x".repeat(129) }) })],
  ["a timestamp 300 seconds old", 200, (world) => ({ body: world.createBody({ timestamp: NOW - 300 }) })],
  ["a timestamp 301 seconds old", 401, (world) => ({ body: world.createBody({ timestamp: NOW - 301 }) })],
  [
    "a timestamp 301 seconds ahead, and no sbs",
    401,
    (world) => ({ body: world.createBody({ timestamp: NOW + 301, sbs: "" }) }),
  ],
  ["a ranstr used with success", 401, (world) => twice(world, "create_gd", world.createBody(), 200)],
  [
    "a ranstr used without success",
    401,
    (world) => twice(world, "create_gd", world.createBody({ kefu_id: [1, 99] }), 400),
  ],
  [
    "a ranstr that another create used",
    401,
    async (world) => {
      await world.chatId({ ranstr: "shared" });
      return { body: world.createBody({ ranstr: "shared", content: "Another", sbs: "" }) };
    },
  ],
  [
    "a wrong secret",
    401,
    async (world) => {
      const body = JSON.stringify(world.createBody());
      return { body, signature: await hmac("wrong", body) };
    },
  ],
  ["no signature", 401, (world) => ({ body: world.createBody(), signature: "" })],
  [
    "a signature in capitals",
    200,
    async (world) => {
      const body = JSON.stringify(world.createBody());
      return { body, signature: (await hmac(world.secret, body)).toUpperCase() };
    },
  ],
  [
    "a signature in base64",
    401,
    async (world) => {
      const body = JSON.stringify(world.createBody());
      return { body, signature: Uint8Array.fromHex(await hmac(world.secret, body)).toBase64() };
    },
  ],
  [
    "a line end that was not signed",
    401,
    async (world) => {
      const body = JSON.stringify(world.createBody());
      return { body: `${body}\r\n`, signature: await hmac(world.secret, body) };
    },
  ],
  [
    "the previous secret within its overlap",
    200,
    async (world) => {
      await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 100 });
      return { body: world.createBody() };
    },
  ],
  [
    "the previous secret without an overlap",
    401,
    async (world) => {
      await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 0 });
      return { body: world.createBody({ sbs: "" }) };
    },
  ],
  ["an unknown app", 401, (world) => ({ body: world.createBody({ appid: "nobody" }) })],
  [
    "a revoked app and a bad field",
    401,
    async (world) => {
      await world.admin("DELETE", `/admin/apps/${world.appid}`);
      return { body: world.createBody({ sbs: "" }) };
    },
  ],
  ["an appid that is a number", 400, (world) => ({ body: world.createBody({ appid: 7 }) })],
  ["an appid of 65 characters", 400, (world) => ({ body: world.createBody({ appid: "x".repeat(65) }) })],
  ["65,536 bytes", 400, (world) => ({ body: padded(world, 65_536) })],
  ["65,537 bytes", 413, (world) => ({ body: padded(world, 65_537) })],
  ["a byte order mark", 400, (world) => ({ body: `\ufeff${JSON.stringify(world.createBody())}` })],
  ["nothing", 400, () => ({ body: "" })],
  ["an array", 400, (world) => ({ body: JSON.stringify([world.createBody()]) })],
  ["30,000 open brackets", 400, () => ({ body: "[".repeat(30_000) })],
  ["a URL-encoded body", 400, (world) => ({ body: `appid=${world.appid}` })],
  ["a good add", 200, async (world) => add(world, await world.chatId())],
  [
    "an add of one new agent among others",
    200,
    async (world) => add(world, await world.chatId(), { kefu_ids: [1, 3, 4, 99] }),
  ],
  ["a body of create_gd", 400, (world) => ({ operation: "add_kf", body: world.createBody() })],
  ["an add to an unknown session", 404, (world) => add(world, 999_999)],
  ["an add to another site's session", 404, async (world) => add(world, await (await World.create()).chatId())],
  ["an add to a chat", 409, async (world) => add(world, await seedSession(world, { kind: "chat" }))],
  [
    "an add to a session without a responsible agent",
    409,
    async (world) => add(world, await seedSession(world, { responsibleAgentId: null })),
  ],
  ["an add of none that is new", 409, async (world) => add(world, await world.chatId(), { kefu_ids: "1, 2,4,99" })],
  ["an add of no number", 400, async (world) => add(world, await world.chatId(), { kefu_ids: "3;4" })],
  ["an add to a text", 400, (world) => ({ operation: "add_kf", body: world.addBody(1, { chat_id: "1" }) })],
  [
    "an add whose ranstr was used with success",
    401,
    async (world) => twice(world, "add_kf", world.addBody(await world.chatId()), 200),
  ],
  [
    "an add whose ranstr was used without success",
    401,
    async (world) => twice(world, "add_kf", world.addBody(999_999), 404),
  ],
];

const add = (world: World, chatId: number, change: Body = {}): Case => ({
  operation: "add_kf",
  body: world.addBody(chatId, change),
});

/** A create of that many bytes that lacks a field. */
function padded(world: World, bytes: number): string {
  const body = JSON.stringify(world.createBody({ ip: undefined, note: "" }));
  return body.replace('"note":""', `"note":"${"x".repeat(bytes - body.length)}"`);
}

describe("the signature check says what the server answers", () => {
  it.each(CASES)("to %s: %d", async (_, status, make) => {
    // KV is waited for, so that replays are seen before fields are looked at.
    const world = await World.create({ REPLAY_LOOK_MS: "1000" });
    const visitor = await ConsoleVisitor.signedIn(world);
    const { operation = "create_gd", ...made } = await make(world);
    const body = typeof made.body === "string" ? made.body : JSON.stringify(made.body);
    const { signature = await hmac(world.secret, body) } = made;
    const said = await check(visitor, { operation, body, signature });
    const sent = await world.sendRaw(operation, body, signature === "" ? {} : { "x-chat-signature": signature });
    expect(sent.status).toBe(status);
    expect(said.answer).toBe(status === 200 ? ACCEPTS : `Sent now, the server answers ${status} ${sent.envelope.msg}`);
    const [about, cause] = Object.entries(said.lines).find(([, { state }]) => state === "Cause") ?? [];
    if (about?.startsWith("Fields of")) expect(cause?.text).toContain(sent.headers.get("x-error-detail"));
  });

  it("with status 200 where every failure has it", async () => {
    const world = await World.create({ ERROR_STATUS: "always-200" });
    const visitor = await ConsoleVisitor.signedIn(world);
    const { answer } = await checkSigned(world, visitor, { sbs: "" });
    expect(answer).toBe("Sent now, the server answers 200 参数错误");
  });
});

describe("the signature check of a site that does not serve", () => {
  const UNAVAILABLE = "Sent now, the server answers 503 服务暂时不可用";

  async function begin(home = "apac") {
    const world = await World.create({}, home);
    return { world, visitor: await ConsoleVisitor.signedIn(world) };
  }

  /** What an isolate with these bindings says and answers to the same request, in this order. */
  async function compare(world: World, visitor: ConsoleVisitor, bindings: Replacements, change: Body = {}) {
    const other = world.anotherIsolate(bindings);
    const said = await checkSigned(world, visitor.through(other), change);
    return { said, sent: await other.create(change) };
  }

  it("says of a closed site what the server answers, after what the server looks at first", async () => {
    const { world, visitor } = await begin();
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { status: "closed" });
    const before = await world.stored();
    const { said, sent } = await compare(world, visitor, {});
    expect([sent.status, said.answer]).toEqual([503, UNAVAILABLE]);
    expect(said.lines.Site).toEqual({
      state: "Cause",
      text: "The site is closed: its calls are answered 503 until it is opened.",
    });
    const wrong = await compare(world, visitor, {}, { sbs: "" });
    expect([wrong.sent.status, wrong.said.answer]).toEqual([400, PARAMETERS]);
    expect(wrong.said.lines.Site?.state).toBe("Also");
    // The site is asked before the rules of the call.
    const unknown = await compare(world, visitor, {}, { kefu_id: [1, 99] });
    expect([unknown.sent.status, unknown.said.answer]).toEqual([503, UNAVAILABLE]);
    expect(await world.stored()).toEqual(before);
  });

  it.each(["main", "apac"])(
    "says of the closed home %s what the server answers, whatever the request is",
    async (home) => {
      const { world, visitor } = await begin(home);
      for (const change of [{}, { sbs: "" }, { timestamp: NOW - 9_999 }]) {
        const { said, sent } = await compare(world, visitor, { CLOSED_HOMES: home }, change);
        expect([sent.status, said.answer]).toEqual([503, UNAVAILABLE]);
        expect(said.lines.Home?.text).toContain(`The home ${home} is closed: CLOSED_HOMES names it.`);
        expect(said.lines.Signature?.text).toBe("Valid.");
      }
    },
  );

  it.each([
    ["does not answer", { HOME_APAC: faultyD1(env.HOME_APAC, new Faults(() => "before")) }],
    ["is not bound", { HOME_APAC: undefined }],
  ])("says of a home that %s what the server answers", async (_, bindings) => {
    const { world, visitor } = await begin();
    const { said, sent } = await compare(world, visitor, bindings);
    expect([sent.status, said.answer]).toEqual([503, UNAVAILABLE]);
    expect(Object.keys(said.lines)).toEqual(["Body", "Home"]);
    expect(said.lines.Home?.state).toBe("Cause");
  });

  it("says nothing of either when both serve", async () => {
    const { world, visitor } = await begin();
    const { answer, lines } = await checkSigned(world, visitor);
    expect([answer, lines.Home, lines.Site]).toEqual([ACCEPTS, undefined, undefined]);
  });
});
