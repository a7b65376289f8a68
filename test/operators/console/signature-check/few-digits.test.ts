import { afterEach, expect, it, vi } from "vitest";
import { accessWorld, PEOPLE, personAt } from "../../../support/access-world.ts";
import { hmac } from "../../../support/hmac.ts";

afterEach(() => void vi.unstubAllGlobals());

it("the signature check does not tell a viewer whether eight digits begin the right signature", async () => {
  const world = await accessWorld();
  const viewer = await personAt(world, PEOPLE.viewer);
  const body = JSON.stringify(world.createBody());
  const right = await hmac(world.secret, body);
  const check = async (signature: string) =>
    (
      await viewer.post("/console/signature-check", { operation: "create_gd", appid: world.appid, body, signature })
    ).text();
  const sentence = "It is the beginning of the right signature";
  expect((await check("0".repeat(8))).includes(sentence)).toBe(false);
  expect((await check(right.slice(0, 8))).includes(sentence)).toBe(false);
});
