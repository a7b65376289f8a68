import { describe, expect, it, vi } from "vitest";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { type Body, hmac, NOW, World } from "../../support/world.ts";

async function start() {
  const world = await World.create();
  return { world, visitor: await ConsoleVisitor.signedIn(world) };
}

interface Verdict {
  /** What the server would answer, as the page says it. */
  answer: string;
  /** Each line of the check: what it is about, how it is, what it says. */
  lines: Record<string, { state: string; text: string }>;
}

const plain = (html: string) =>
  html
    .replace(/<[^>]*>/g, " ")
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&amp;/g, "&")
    .replace(/\s+/g, " ")
    .trim();

async function check(
  visitor: ConsoleVisitor,
  pasted: { appid?: string; body: string; signature: string },
): Promise<Verdict> {
  const answer = await visitor.post("/console/signature-check", { appid: "", ...pasted });
  expect(answer.status).toBe(200);
  const page = await answer.text();
  const lines = [
    ...page.matchAll(/<li class="(?:fine|wrong)"><h2>(.*?)<span class="badge \w+">(\w+)<\/span><\/h2>(.*?)<\/li>/gs),
  ];
  return {
    answer: plain(/<section class="notice.*?<h2>(.*?)<\/h2>/s.exec(page)?.[1] ?? ""),
    lines: Object.fromEntries(
      lines.map(([, about = "", state = "", text = ""]) => [plain(about), { state, text: plain(text) }]),
    ),
  };
}

const TOKEN = "The server answers 401 token验证失败!";
const PARAMETERS = "The server answers 400 参数错误";

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
    expect(answer).toBe("The server accepts this request");
    expect(Object.values(lines).map(({ state }) => state)).toEqual(Array(7).fill("Fine"));
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
    expect(two.answer).toBe("The server accepts this request");
    expect(two.lines["Two appids"]?.text).toContain(`You pasted another, the body says ${world.appid}`);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    const revoked = await checkSigned(world, visitor);
    expect([revoked.answer, revoked.lines.App?.state]).toEqual([TOKEN, "Cause"]);
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
    expect(inside.answer).toBe("The server accepts this request");
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
    expect(lf.answer).toBe("The server accepts this request if its line ends are LF (\\n)");
    expect(lf.lines.Signature?.state).toBe("Depends");
    expect(lf.lines.Signature?.text).toContain(
      "fits LF (\\n). If the body is sent with CRLF (\\r\\n), the server refuses it",
    );
    const crlf = await check(visitor, { body: sent, signature: await hmac(world.secret, sent) });
    expect(crlf.answer).toBe("The server accepts this request if its line ends are CRLF (\\r\\n)");
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
    expect((await check(visitor, { body, signature })).answer).toBe("The server accepts this request");
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
    expect((await at(NOW - 300)).answer).toBe("The server accepts this request");
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

  it("names a used ranstr and what became of the request that used it", async () => {
    const { world, visitor } = await start();
    const id = await world.chatId({ ranstr: "once" });
    const used = await checkSigned(world, visitor, { ranstr: "once" });
    expect([used.answer, used.lines.ranstr?.state]).toEqual([TOKEN, "Cause"]);
    expect(used.lines.ranstr?.text).toContain(`That request was accepted: session ${id}.`);
    await world.create({ ranstr: "twice", kefu_id: [99], fzr_uid: 99 });
    expect((await checkSigned(world, visitor, { ranstr: "twice" })).lines.ranstr?.text).toContain(
      "That request was refused: agents_invalid.",
    );
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
    const id = await world.chatId({ kefu_id: [1, 2] });
    const adds: [Body, string][] = [
      [{ chat_id: 999_999 }, "The server answers 404 会话不存在"],
      [{ chat_id: id, kefu_ids: "1,2,4,99" }, "The server answers 409 当前状态不允许操作"],
      [{ chat_id: id, kefu_ids: "x" }, PARAMETERS],
      [{ chat_id: id, kefu_ids: "2,3" }, "The server accepts this request"],
    ];
    for (const [change, expected] of adds) {
      const body = JSON.stringify(world.addBody(id, change));
      expect((await check(visitor, { body, signature: await hmac(world.secret, body) })).answer).toBe(expected);
      const { status, envelope } = await world.add(id, change);
      const wire = status === 200 ? "The server accepts this request" : `The server answers ${status} ${envelope.msg}`;
      expect(wire).toBe(expected);
    }
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
      "Also",
      "Also",
    ]);
  });

  it("puts back what was pasted, escaped", async () => {
    const { visitor } = await start();
    const page = await (
      await visitor.post("/console/signature-check", { body: "</textarea><script>1</script>" })
    ).text();
    expect(page).toContain("&lt;/textarea&gt;&lt;script&gt;1&lt;/script&gt;</textarea>");
  });
});
