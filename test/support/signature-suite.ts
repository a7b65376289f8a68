import { describe, expect, it } from "vitest";
import { expectAccepted, expectTokenInvalid, type SignedRoute } from "./signed-routes.ts";
import { hmac, World } from "./world.ts";

const named = (signature: string) => ({ "x-chat-signature": signature });
const twice = (signature: string) => [
  ["x-chat-signature", signature],
  ["x-chat-signature", signature],
];

/** Wrong ways to hand over a right signature. */
const UNUSABLE: [string, (signature: string) => HeadersInit][] = [
  ["no signature", () => ({})],
  ["an empty one", () => named("")],
  ["63 of its digits", (signature) => named(signature.slice(0, 63))],
  ["its first half", (signature) => named(signature.slice(0, 32))],
  ["65 digits", (signature) => named(`${signature}0`)],
  ["a digit that is not hex", (signature) => named(`${signature.slice(0, 63)}x`)],
  ["base64", (signature) => named(Uint8Array.fromHex(signature).toBase64())],
  ["a prefix sha256=", (signature) => named(`sha256=${signature}`)],
  ["a 0x in front", (signature) => named(`0x${signature}`)],
  ["the header twice", twice],
  ["another header's name", (signature) => ({ "x-signature": signature })],
  ["the last digit changed", (signature) => named(signature.slice(0, 63) + (signature.endsWith("0") ? "1" : "0"))],
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

    it.each(UNUSABLE)("refuses %s, and the same bytes pass once signed right", async (_, headers) => {
      const world = await World.create();
      const body = JSON.stringify(await route.acceptable(world));
      const signature = await hmac(world.secret, body);
      const refused = () => world.sendRaw(route.operation, body, headers(signature));
      const { headers: answered } = await expectTokenInvalid(world, refused);
      expect(answered.has("x-error-detail")).toBe(false);
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

    it("counts the bytes sent, not what they mean: refuses a signature over the re-serialised body", async () => {
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
      const wrong = await seen(world, route, { appid: world.appid }, "0".repeat(64));
      const asked = await arrange(world);
      const right = await seen(asked.world, route, { appid: asked.appid });
      const forged = await seen(asked.world, route, { appid: asked.appid }, "0".repeat(64));
      expect(wrong.status).toBe(401);
      expect(right).toEqual(wrong);
      expect(forged).toEqual(wrong);
    });
  });
}

/** All that a caller sees of an answer but the request id. */
async function seen(world: World, route: SignedRoute, change: { appid: string }, signature?: string) {
  const body = JSON.stringify(await route.acceptable(world, change));
  const response = await world.fetch(
    new Request(`http://worker/openapi/chat/${route.operation}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...named(signature ?? (await hmac(world.secret, body))) },
      body,
    }),
  );
  const headers = Object.fromEntries(response.headers);
  expect(headers).toHaveProperty("x-request-id");
  delete headers["x-request-id"];
  return { status: response.status, headers, text: await response.text() };
}
