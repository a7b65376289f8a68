import { describe, expect, it } from "vitest";
import { bodyVariants } from "../../src/diagnosis/body-variants.ts";
import { diagnoseSignature } from "../../src/diagnosis/diagnose-signature.ts";
import { hmac } from "../support/hmac.ts";
import { NOW } from "../support/test-runtime.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const OLD = "an older secret";
const CURRENT = { slot: "current", secret: SECRET, expiresAt: Number.POSITIVE_INFINITY } as const;
const overlapping = { slot: "previous", secret: OLD, expiresAt: NOW + 60 } as const;
const ended = { slot: "previous", secret: OLD, expiresAt: NOW } as const;

const DOCUMENTED = ["appid", "timestamp", "ranstr", "sbs_mc", "content", "kefu_id"];
const FIELDS = { timestamp: NOW, appid: "app", ranstr: "r/1", sbs_mc: "客户", content: "a < b & c", kefu_id: [2, 1] };
const BODY = JSON.stringify(FIELDS);

const diagnose = (body: string, signature: string, secrets: Parameters<typeof diagnoseSignature>[1] = [CURRENT]) =>
  diagnoseSignature({ body, signature }, secrets, DOCUMENTED, NOW);

/** The diagnosis when `signed` was signed and `sent` was pasted. */
const found = async (signed: string, sent: string) => diagnose(sent, await hmac(SECRET, signed));

describe("a signature that the server accepts", () => {
  it("is valid over exactly the pasted body, in either case and between blanks", async () => {
    const signature = await hmac(SECRET, BODY);
    for (const pasted of [signature, signature.toUpperCase(), ` ${signature}\n`]) {
      const { valid, match, signature: read } = await diagnose(BODY, pasted);
      expect({ valid, faults: read.faults, key: match?.key, slot: match?.slot }).toEqual({
        valid: true,
        faults: [],
        key: "as_it_is",
        slot: "current",
      });
      expect(match?.body).toEqual({ text: BODY });
    }
  });

  it("is valid with the previous secret until its overlap ends, and not after that", async () => {
    const signature = await hmac(OLD, BODY);
    const inside = await diagnose(BODY, signature, [CURRENT, overlapping]);
    expect([inside.valid, inside.match?.slot, inside.match?.expiresAt]).toEqual([true, "previous", NOW + 60]);
    const after = await diagnose(BODY, signature, [CURRENT, ended]);
    expect([after.valid, after.match?.slot]).toEqual([false, "previous"]);
  });
});

describe("a signature that the server refuses", () => {
  it("has no match when it was made with another app's secret", async () => {
    const diagnosis = await diagnose(BODY, await hmac("somebody else's", BODY));
    expect(diagnosis).toMatchObject({ valid: false, match: undefined, signature: { faults: [] } });
  });

  it.each(["", "not json", "[1]", '"text"', '{"appid":'])(
    "is diagnosed for a body that is no JSON object: %j",
    async (body) => {
      expect(await found(`${body}\n`, body)).toMatchObject({ valid: false, match: { body: { end: "newline_added" } } });
      expect(await found("{}", body)).toMatchObject({ valid: false, match: undefined });
    },
  );

  it("is diagnosed for a body with thousands of nested brackets", async () => {
    const deep = `{"x":${"[".repeat(30_000)}${"]".repeat(30_000)}}`;
    expect(await found(`${deep}\n`, deep)).toMatchObject({ valid: false, match: { body: { end: "newline_added" } } });
  });

  it("has no match when a value was changed after signing", async () => {
    expect(await found(BODY.replace("客户", "顾客"), BODY)).toMatchObject({ valid: false, match: undefined });
  });

  it.each([
    ["a line feed", `${BODY}\n`],
    ["CRLF", `${BODY}\r\n`],
  ])("matches with %s at the end that was not sent", async (_, signed) => {
    expect(await found(signed, BODY)).toMatchObject({ valid: false, match: { body: { end: "newline_added" } } });
  });

  it("matches without the line end that was sent", async () => {
    expect(await found(BODY, `${BODY}\r\n`)).toMatchObject({
      valid: false,
      match: { body: { end: "newline_removed" } },
    });
  });

  const pretty = JSON.stringify(FIELDS, null, 3);
  it.each([
    ["lf", pretty],
    ["crlf", pretty.replaceAll("\n", "\r\n")],
  ] as const)("matches %s line ends, although a form turns all of them into CRLF", async (lineEnds, signed) => {
    const diagnosis = await found(signed, pretty.replaceAll("\n", "\r\n"));
    expect(diagnosis).toMatchObject({ valid: true, match: { body: { lineEnds, text: signed } } });
  });

  const asUnicode = (text: string, which: RegExp) =>
    text.replace(which, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const sorted = JSON.stringify(Object.fromEntries(Object.entries(FIELDS).sort(([a], [b]) => (a < b ? -1 : 1))));
  it.each([
    ["JSON.stringify", BODY, pretty, ["compact"]],
    ["sorted keys", sorted, BODY, ["keys_sorted"]],
    ["sorted keys without the line end that was sent", sorted, `${BODY}\n`, ["keys_sorted"]],
    ["sorted keys without spaces", sorted, pretty, ["keys_sorted", "compact"]],
    [
      "the documentation's order",
      JSON.stringify({
        appid: "app",
        timestamp: NOW,
        ranstr: "r/1",
        sbs_mc: "客户",
        content: "a < b & c",
        kefu_id: [2, 1],
      }),
      BODY,
      ["keys_documented"],
    ],
    [
      "the documented order, own fields last",
      `{"appid":"app","ranstr":"r/1","note":1}`,
      `{"note":1,"ranstr":"r/1","appid":"app"}`,
      ["keys_documented"],
    ],
    [
      "Python's json.dumps",
      `{"timestamp": ${NOW}, "appid": "app", "ranstr": "r/1", "sbs_mc": "\\u5ba2\\u6237", "content": "a < b & c", "kefu_id": [2, 1]}`,
      BODY,
      ["spaced", "unicode_escaped"],
    ],
    [
      "Python's json.dumps with ensure_ascii=False and sort_keys",
      `{"appid": "app", "content": "a < b & c", "kefu_id": [2, 1], "ranstr": "r/1", "sbs_mc": "客户", "timestamp": ${NOW}}`,
      BODY,
      ["keys_sorted", "spaced"],
    ],
    [
      "PHP's json_encode",
      asUnicode(BODY, /[^\0-\x7f]/g).replaceAll("/", "\\/"),
      BODY,
      ["unicode_escaped", "slashes_escaped"],
    ],
    ["Go's json.Marshal", asUnicode(BODY, /[<>&]/g), BODY, ["html_escaped"]],
    ["characters as they are, where escapes were sent", BODY, asUnicode(BODY, /[^\0-\x7f]/g), ["unescaped"]],
    [
      "sorted keys, where escapes were signed and sent",
      asUnicode(sorted, /[^\0-\x7f]/g),
      asUnicode(BODY, /[^\0-\x7f]/g),
      ["keys_sorted"],
    ],
    ["spaces beside digits beyond 2^53", '{"sbs": 12345678901234567890}', '{"sbs":12345678901234567890}', ["spaced"]],
    [
      "the digits JavaScript keeps",
      '{"sbs":12345678901234567000}',
      '{"sbs":12345678901234567890}',
      ["numbers_rounded"],
    ],
    ["numbers as JavaScript writes them", '{"sbs":1}', '{"sbs":1.0}', ["numbers_rounded"]],
    ["an indented form", JSON.stringify(FIELDS, null, 2), BODY, ["indented"]],
  ])("matches %s in place of the sent body", async (_, signed, sent, rewritten) => {
    const diagnosis = await found(signed, sent);
    expect(diagnosis.valid).toBe(false);
    expect(diagnosis.match?.body).toEqual({ text: signed, rewritten });
  });

  it.each([
    ["decoded from hex", Uint8Array.fromHex(SECRET), "hex_decoded"],
    ["read with its line end", new TextEncoder().encode(`${SECRET}\n`), "newline_added"],
  ])("matches with the secret %s", async (_, keyBytes, key) => {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const made = await crypto.subtle.importKey("raw", Uint8Array.from(keyBytes), algorithm, false, ["sign"]);
    const signature = await crypto.subtle.sign("HMAC", made, new TextEncoder().encode(BODY));
    const diagnosis = await diagnose(BODY, new Uint8Array(signature).toHex());
    expect(diagnosis).toMatchObject({ valid: false, match: { key, slot: "current" } });
  });
});

describe("a signature in another form", () => {
  it.each([
    ["base64", ["base64"], (hex: string) => Uint8Array.fromHex(hex).toBase64()],
    [
      "base64url without padding",
      ["base64"],
      (hex: string) => Uint8Array.fromHex(hex).toBase64({ alphabet: "base64url", omitPadding: true }),
    ],
    ["base64 of the hex digits", ["base64_of_hex"], (hex: string) => btoa(hex)],
    ["sha256= before it", ["prefix"], (hex: string) => `sha256=${hex}`],
    ["quotes around it", ["quoted"], (hex: string) => `"${hex}"`],
    ["prefix and base64", ["prefix", "base64"], (hex: string) => `SHA256=${Uint8Array.fromHex(hex).toBase64()}`],
  ])("is refused, and its form is named: %s", async (_, faults, write) => {
    const diagnosis = await diagnose(BODY, write(await hmac(SECRET, BODY)));
    expect(diagnosis).toMatchObject({ valid: false, signature: { faults }, match: { body: { text: BODY } } });
  });

  it.each([
    ["", { faults: ["missing"] }],
    ["a".repeat(40), { faults: ["length"], hexDigits: 40 }],
    ["not a signature", { faults: ["unreadable"] }],
  ])("is reported as unreadable: %j", async (pasted, read) => {
    expect(await diagnose(BODY, pasted)).toEqual({ exact: false, valid: false, match: undefined, signature: read });
  });
});

describe("the variants of a body", () => {
  const counted = (body: string) => {
    const variants = [...bodyVariants(body, DOCUMENTED)];
    const characters = variants.reduce((sum, { text }) => sum + text.length, 0);
    return { variants: variants.length, characters, rewritten: variants.some(({ rewritten }) => rewritten) };
  };
  const nested = (levels: number, inside = "") => `{"x":${"[".repeat(levels)}${inside}${"]".repeat(levels)}}`;

  it("start with the body itself, which has no other name", () => {
    const texts = [...bodyVariants(BODY, DOCUMENTED)].map(({ text }) => text);
    expect(texts[0]).toBe(BODY);
    expect(texts.filter((text) => text === BODY)).toHaveLength(1);
  });

  it("of text that is no JSON object differ in line ends only", () => {
    expect([...bodyVariants("[1]", DOCUMENTED)].map(({ text }) => text)).toEqual(["[1]", "[1]\n", "[1]\r\n"]);
  });

  it("are not rewritten beyond 32 levels or 64 KiB", () => {
    expect(counted(nested(31)).rewritten).toBe(true);
    expect(counted(nested(2_000))).toEqual({ variants: 3, characters: 3 * 4_006 + 3, rewritten: false });
    expect(counted(nested(1, `"${"x".repeat(65_527)}"`)).rewritten).toBe(false);
    // Brackets within a string do not count as levels.
    expect(counted(`{"x":"${"[".repeat(100)}\\"${"{".repeat(100)}"}`).rewritten).toBe(true);
  });

  it("take a few megabytes at most, whatever the body", () => {
    const wide = nested(31, Array(30_000).fill("1").join(","));
    const mixed = JSON.stringify({ b: "客/<".repeat(10_000), a: 1e30 });
    for (const body of [wide, mixed]) {
      const { variants, characters, rewritten } = counted(body);
      expect(rewritten).toBe(true);
      expect(variants).toBeLessThan(250);
      expect(characters).toBeLessThan(32 * 1024 * 1024);
    }
  });

  it("are reported as left out where no variant matched", async () => {
    expect(await diagnose(nested(2_000), "a".repeat(64))).toMatchObject({ match: undefined, notRewritten: true });
    expect(await diagnose(BODY, "a".repeat(64))).not.toHaveProperty("notRewritten");
    expect(await diagnose("{", "a".repeat(64))).not.toHaveProperty("notRewritten");
  });
});
