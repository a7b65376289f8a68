import { beforeAll, describe, expect, it } from "vitest";
import { expectAccepted, expectTokenInvalid, type SignedRoute, TOKEN_INVALID } from "../../support/signed-routes.ts";
import { type Body, hmac, World } from "../../support/world.ts";

const headersOf = (signature: string) => ({ "x-chat-signature": signature });
const twice = (signature: string) => [
  ["x-chat-signature", signature],
  ["x-chat-signature", signature],
];

const DIGITS = "x-chat-signature: must be 64 hex digits";
const MISSING = "x-chat-signature: is required";

/** Wrong ways to send a right signature, each with its detail. */
const UNUSABLE: [string, (signature: string) => HeadersInit, string | null][] = [
  ["no signature", () => ({}), MISSING],
  ["an empty one", () => headersOf(""), MISSING],
  ["63 of its digits", (signature) => headersOf(signature.slice(0, 63)), `${DIGITS}, not 63`],
  ["its first half", (signature) => headersOf(signature.slice(0, 32)), `${DIGITS}, not 32`],
  ["65 digits", (signature) => headersOf(`${signature}0`), `${DIGITS}, not 65`],
  [
    "a digit that is not hex",
    (signature) => headersOf(`${signature.slice(0, 63)}x`),
    `${DIGITS}, without other characters`,
  ],
  ["base64", (signature) => headersOf(Uint8Array.fromHex(signature).toBase64()), `${DIGITS}, not base64`],
  ["base64 that begins with 0x", () => headersOf(`0x${"A-".repeat(20)}A`), `${DIGITS}, not base64`],
  ["base64 of its digits", (signature) => headersOf(btoa(signature)), `${DIGITS}, not base64`],
  [
    "base64url without padding",
    (signature) => headersOf(Uint8Array.fromHex(signature).toBase64({ alphabet: "base64url", omitPadding: true })),
    `${DIGITS}, not base64`,
  ],
  ["a prefix sha256=", (signature) => headersOf(`sha256=${signature}`), `${DIGITS}, without a prefix such as sha256=`],
  ["a 0x in front", (signature) => headersOf(`0x${signature}`), `${DIGITS}, without a prefix such as 0x`],
  [
    "the header twice",
    twice,
    `${DIGITS}, without other characters, not with ", " (a header that is sent twice has it)`,
  ],
  ["another header's name", (signature) => ({ "x-signature": signature }), MISSING],
  [
    "the last digit changed",
    (signature) => headersOf(signature.slice(0, 63) + (signature.endsWith("0") ? "1" : "0")),
    null,
  ],
];

/** Tests of contract section 5, rules 1 to 3, for one route. */
export function signatureSuite(route: SignedRoute): void {
  describe("signature", () => {
    let world: World;
    beforeAll(async () => {
      world = await World.create();
    });

    it("a signature in upper-case hex is accepted", async () => {
      const body = JSON.stringify(await route.acceptable(world));
      const signature = (await hmac(world.secret, body)).toUpperCase();
      await expectAccepted(world, route, () => world.sendRaw(route.operation, body, headersOf(signature)));
    });

    it.each(UNUSABLE)(
      "a wrong signature is refused (%s), and the same bytes pass once signed right",
      async (_, headers, detail) => {
        const body = JSON.stringify(await route.acceptable(world));
        const signature = await hmac(world.secret, body);
        // Only the accepted request wrote rows; the refused request wrote none.
        await expectAccepted(world, route, async () => {
          const refused = await world.sendRaw(route.operation, body, headers(signature));
          expect({ status: refused.status, envelope: refused.envelope }).toEqual({
            status: 401,
            envelope: TOKEN_INVALID,
          });
          expect(refused.headers.get("x-error-detail")).toBe(detail);
          return world.send(route.operation, body);
        });
      },
    );

    it("another app's signature is refused", async () => {
      const other = await World.create();
      const body = JSON.stringify(await route.acceptable(world));
      const signature = await hmac(other.secret, body);
      await expectTokenInvalid(world, () => world.sendRaw(route.operation, body, headersOf(signature)));
    });

    it("a signature over a body with one changed character is refused", async () => {
      const body = JSON.stringify(await route.acceptable(world));
      const signature = await hmac(world.secret, body.replace('"appid"', '"appiD"'));
      await expectTokenInvalid(world, () => world.sendRaw(route.operation, body, headersOf(signature)));
    });

    it("a signature over the re-serialised body is refused, because the signature covers the sent bytes", async () => {
      const fields = await route.acceptable(world);
      const spacedText = ` ${JSON.stringify(fields, null, 2)}\n`.replaceAll("/", "\\/");
      const signature = await hmac(world.secret, JSON.stringify(fields));
      await expectTokenInvalid(world, () => world.sendRaw(route.operation, spacedText, headersOf(signature)));
      await expectAccepted(world, route, () => world.send(route.operation, spacedText));
    });
  });

  describe("signature of another appid", () => {
    /** The answers to a known app with a wrong signature, and with each malformed signature. */
    let wrong: SeenAnswer;
    let malformed: SeenAnswer[];
    let world: World;
    let body: Body;
    const answerAs = (by: World, appid: string, signature?: HeadersInit) =>
      seenAnswer(by, route, { ...body, appid }, signature);
    const malformedAnswers = async (by: World, appid: string) => {
      const answers: SeenAnswer[] = [];
      for (const [, headers] of UNUSABLE) answers.push(await answerAs(by, appid, headers("ab".repeat(32))));
      return answers;
    };

    beforeAll(async () => {
      world = await World.create();
      body = await route.acceptable(world);
      wrong = await answerAs(world, world.appid, headersOf("0".repeat(64)));
      malformed = await malformedAnswers(world, world.appid);
    });

    it("a signature of a wrong form is refused with the detail of its form, and one of the right form without", () => {
      expect([wrong.status, wrong.headers["x-error-detail"]]).toEqual([401, undefined]);
      expect(malformed.map(({ status, headers }) => [status, headers["x-error-detail"] ?? null])).toEqual(
        UNUSABLE.map(([, , detail]) => [401, detail]),
      );
    });

    it.each([
      ["unknown", async () => ({ by: world, appid: "0".repeat(32) })],
      ["unknown and of a form never issued", async () => ({ by: world, appid: "漢字 / ✓" })],
      ["revoked", async () => revokedApp()],
      [
        "revoked long ago, as a fresh isolate sees it",
        async () => {
          const { by, appid } = await revokedApp();
          return { by: by.anotherIsolate(), appid };
        },
      ],
    ])("an appid that is %s gets exactly the answer of a wrong signature", async (_, arrange) => {
      const { by, appid } = await arrange();
      expect(await answerAs(by, appid)).toEqual(wrong);
      expect(await answerAs(by, appid, headersOf("0".repeat(64)))).toEqual(wrong);
      // Every appid must get the same headers for a malformed signature.
      expect(await malformedAnswers(by, appid)).toEqual(malformed);
    });
  });
}

async function revokedApp(): Promise<{ by: World; appid: string }> {
  const by = await World.create();
  await by.admin("DELETE", `/admin/apps/${by.appid}`);
  return { by, appid: by.appid };
}

interface SeenAnswer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** All that a caller sees of an answer, except the request id. By default the signature is right. */
async function seenAnswer(by: World, route: SignedRoute, fields: Body, signature?: HeadersInit): Promise<SeenAnswer> {
  const body = JSON.stringify(fields);
  const headers = new Headers(signature ?? headersOf(await hmac(by.secret, body)));
  headers.set("content-type", "application/json");
  const url = `http://worker/openapi/chat/${route.operation}`;
  const response = await by.fetch(new Request(url, { method: "POST", headers, body }));
  const answerHeaders = Object.fromEntries(response.headers);
  expect(answerHeaders).toHaveProperty("x-request-id");
  delete answerHeaders["x-request-id"];
  return { status: response.status, headers: answerHeaders, text: await response.text() };
}
