import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { eventually } from "../support/eventually.ts";

/** The answer of the certs endpoint to each request. */
let answer: (response: ServerResponse) => void = () => {};
let queryCount = 0;
const endpoint = createServer((_, response) => {
  queryCount++;
  answer(response);
});
let certs: string;
let assertion: string;
let worker: BuiltWorker;

beforeAll(async () => {
  await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  certs = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "one", alg: "RS256", use: "sig" }] });
  assertion = await new SignJWT({ email: "ada@example.com" })
    .setProtectedHeader({ alg: "RS256", kid: "one" })
    .setIssuer("https://shop.cloudflareaccess.com")
    .setAudience("tag")
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(privateKey);
});
afterAll(() => {
  endpoint.closeAllConnections();
  endpoint.close();
});

beforeEach(async () => {
  queryCount = 0;
  const { port } = endpoint.address() as AddressInfo;
  worker = await startBuiltWorker({
    main: "test/support/verifying-worker.ts",
    vars: {
      CONSOLE_SIGN_IN: "access",
      ACCESS_TEAM_DOMAIN: "shop",
      ACCESS_AUD: "tag",
      ACCESS_CERTS_URL: `http://127.0.0.1:${port}/certs`,
    },
  });
});
afterEach(() => worker.close());

async function verify(): Promise<unknown> {
  const headers = { "cf-access-jwt-assertion": assertion };
  return (await fetch(`${worker.url}/admin/any`, { headers })).json();
}
const ADA = { ok: true, person: expect.objectContaining({ email: "ada@example.com" }) };

describe("the keys of Access in the built Worker", () => {
  it("the keys of Access are fetched once for simultaneous requests", async () => {
    answer = (response) => void setTimeout(() => response.end(certs), 300);
    expect(await Promise.all(Array.from({ length: 8 }, () => verify()))).toEqual(Array(8).fill(ADA));
    expect(queryCount).toBe(1);
  });

  it("a request does not wait long for the keys of Access when their endpoint hangs", async () => {
    answer = () => {};
    const refused = { ok: false, reason: "certs_unavailable" };
    expect(await Promise.all([verify(), verify()])).toEqual([refused, refused]);
    expect(await verify()).toEqual(refused);
    expect(queryCount).toBe(1);
    await eventually(() => expect(worker.logs().join("\n")).toContain('"fault":"no answer in 3 s"'));
    expect(worker.logs().join("\n")).not.toContain(assertion.slice(0, 20));
  });
});
