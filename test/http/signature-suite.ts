import { describe, expect, it } from "vitest";
import { expectAccepted, expectTokenInvalid, type SignedRoute } from "../support/signed-routes.ts";
import { hmac, World } from "../support/world.ts";

const named = (signature: string) => ({ "x-chat-signature": signature });
const twice = (signature: string) => [
  ["x-chat-signature", signature],
  ["x-chat-signature", signature],
];

const DIGITS = "x-chat-signature: must be 64 hex digits";
const MISSING = "x-chat-signature: is required";

/** Wrong ways to send a right signature, and the detail that names each. */
const UNUSABLE: [string, (signature: string) => HeadersInit, string | null][] = [
  ["no signature", () => ({}), MISSING],
  ["an empty one", () => named(""), MISSING],
  ["63 of its digits", (signature) => named(signature.slice(0, 63)), `${DIGITS}, not 63`],
  ["its first half", (signature) => named(signature.slice(0, 32)), `${DIGITS}, not 32`],
  ["65 digits", (signature) => named(`${signature}0`), `${DIGITS}, not 65`],
  [
    "a digit that is not hex",
    (signature) => named(`${signature.slice(0, 63)}x`),
    `${DIGITS}, without other characters`,
  ],
  ["base64", (signature) => named(Uint8Array.fromHex(signature).toBase64()), `${DIGITS}, not base64`],
  ["base64 of its digits", (signature) => named(btoa(signature)), `${DIGITS}, not base64`],
  [
    "base64url without padding",
    (signature) => named(Uint8Array.fromHex(signature).toBase64({ alphabet: "base64url", omitPadding: true })),
    `${DIGITS}, not base64`,
  ],
  ["a prefix sha256=", (signature) => named(`sha256=${signature}`), `${DIGITS}, without a prefix such as sha256=`],
  ["a 0x in front", (signature) => named(`0x${signature}`), `${DIGITS}, without a prefix such as 0x`],
  ["the header twice", twice, `${DIGITS}, without other characters`],
  ["another header's name", (signature) => ({ "x-signature": signature }), MISSING],
  [
    "the last digit changed",
    (signature) => named(signature.slice(0, 63) + (signature.endsWith("0") ? "1" : "0")),
    null,
  ],
];

/** Contract section 5, rules 1 to 3, for one route. */
export function signatureSuite(route: SignedRoute): void {
  describe("signature", () => {
    it("accepts upper-case hex", async () => {
      const world = await World.create();
      const body = JSON.stringify(await route.acceptable(world));
      const signature = (await hmac(world.secret, body)).toUpperCase();
      await expectAccepted(world, route, () => world.sendRaw(route.operation, body, named(signature)));
    });

    it.each(UNUSABLE)("refuses %s, and the same bytes pass once signed right", async (_, headers, detail) => {
      const world = await World.create();
      const body = JSON.stringify(await route.acceptable(world));
      const signature = await hmac(world.secret, body);
      const refused = () => world.sendRaw(route.operation, body, headers(signature));
      const { headers: answered } = await expectTokenInvalid(world, refused);
      expect(answered.get("x-error-detail")).toBe(detail);
      await expectAccepted(world, route, () => world.send(route.operation, body));
    });

    it("refuses another app's signature", async () => {
      const world = await World.create();
      const other = await World.create();
      const body = JSON.stringify(await route.acceptable(world));
      const signature = await hmac(other.secret, body);
      await expectTokenInvalid(world, () => world.sendRaw(route.operation, body, named(signature)));
    });

    it("refuses a signature over the body with one character changed", async () => {
      const world = await World.create();
      const body = JSON.stringify(await route.acceptable(world));
      const signature = await hmac(world.secret, body.replace('"appid"', '"appiD"'));
      await expectTokenInvalid(world, () => world.sendRaw(route.operation, body, named(signature)));
    });

    it("covers the bytes sent, not their meaning: refuses a signature over the re-serialised body", async () => {
      const world = await World.create();
      const fields = await route.acceptable(world);
      const spaced = ` ${JSON.stringify(fields, null, 2)}\n`.replaceAll("/", "\\/");
      const signature = await hmac(world.secret, JSON.stringify(fields));
      await expectTokenInvalid(world, () => world.sendRaw(route.operation, spaced, named(signature)));
      await expectAccepted(world, route, () => world.send(route.operation, spaced));
    });

    it.each([
      ["unknown", async (world: World) => ({ world, appid: "0".repeat(32) })],
      ["unknown and of a form never issued", async (world: World) => ({ world, appid: "漢字 / ✓" })],
      [
        "revoked",
        async (world: World) => {
          await world.admin("DELETE", `/admin/apps/${world.appid}`);
          return { world, appid: world.appid };
        },
      ],
      [
        "revoked long ago, as a fresh isolate sees it",
        async (world: World) => {
          await world.admin("DELETE", `/admin/apps/${world.appid}`);
          return { world: world.anotherIsolate(), appid: world.appid };
        },
      ],
    ])("answers an appid that is %s exactly as a wrong signature", async (_, arrange) => {
      const world = await World.create();
      const good = await World.create();
      const wrong = await seen(world, route, { appid: world.appid }, named("0".repeat(64)));
      const asked = await arrange(world);
      const right = await seen(asked.world, route, { appid: asked.appid });
      const forged = await seen(asked.world, route, { appid: asked.appid }, named("0".repeat(64)));
      expect(wrong.status).toBe(401);
      expect(right).toEqual(wrong);
      expect(forged).toEqual(wrong);
      // Every appid must get the same headers for a malformed signature.
      for (const [name, headers, detail] of UNUSABLE) {
        const malformed = headers("ab".repeat(32));
        const known = await seen(good, route, { appid: good.appid }, malformed);
        const other = await seen(asked.world, route, { appid: asked.appid }, malformed);
        expect([name, other]).toEqual([name, known]);
        expect([name, other.status, other.headers["x-error-detail"] ?? null]).toEqual([name, 401, detail]);
      }
    });
  });
}

/** Everything of an answer that a caller sees, except the request id. */
async function seen(world: World, route: SignedRoute, change: { appid: string }, signature?: HeadersInit) {
  const body = JSON.stringify(await route.acceptable(world, change));
  const headers = new Headers(signature ?? named(await hmac(world.secret, body)));
  headers.set("content-type", "application/json");
  const response = await world.fetch(
    new Request(`http://worker/openapi/chat/${route.operation}`, {
      method: "POST",
      headers,
      body,
    }),
  );
  const answered = Object.fromEntries(response.headers);
  expect(answered).toHaveProperty("x-request-id");
  delete answered["x-request-id"];
  return { status: response.status, headers: answered, text: await response.text() };
}
