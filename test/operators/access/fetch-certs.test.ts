import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { fetchCerts } from "../../../src/operators/access/fetch-certs.ts";
import { eventually } from "../../support/eventually.ts";
import { Receiver } from "../../support/receiver.ts";

let endpoint: Receiver;
beforeAll(async () => {
  endpoint = await Receiver.start();
});
afterAll(() => endpoint.close());
beforeEach(() => void endpoint.arrived.splice(0));

/** With this runtime the limit of 3 s passes in 60 ms. */
const hasty = {
  ...systemRuntime,
  after: (milliseconds: number, callback: () => void) => systemRuntime.after(milliseconds / 50, callback),
};

const fetchWith = (answer: (response: ServerResponse, path: string) => void, runtime = systemRuntime) => {
  endpoint.answer = answer;
  return fetchCerts(runtime, `${endpoint.url}/certs`);
};

/** The smallest valid key. */
const KEY = { kty: "RSA", kid: "one", n: "AQAB", e: "AQAB" };

const answering =
  (status: number, body: string, headers = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end(body);

describe("the certs endpoint", () => {
  it("the certs endpoint gets one request, without any header of the caller", async () => {
    expect(await fetchWith(answering(200, JSON.stringify({ keys: [KEY], public_cert: {} })))).toMatchObject({
      keys: [{ kid: "one" }],
    });
    expect(endpoint.arrived).toMatchObject([{ path: "/certs", headers: { accept: "application/json" }, body: "" }]);
    expect(Object.keys(endpoint.arrived[0]?.headers ?? {})).not.toContain("cf-access-jwt-assertion");
  });

  it.each([301, 302, 303, 307, 308])(
    "a redirect of the certs endpoint with status %i is not followed",
    async (status) => {
      const elsewhere = (response: ServerResponse, path: string) =>
        path === "/certs"
          ? response.writeHead(status, { location: "/elsewhere" }).end()
          : response.end('{"keys":[{"kid":"one"}]}');
      await expect(fetchWith(elsewhere)).rejects.toThrow(`status ${status}`);
      expect(endpoint.at("/elsewhere")).toEqual([]);
    },
  );

  it.each([
    ["an error", 500, '{"keys":[{}]}', "status 500"],
    ["nothing", 200, "", "no JSON object with keys"],
    ["a page", 200, "<html></html>", "no JSON object with keys"],
    ["null", 200, "null", "no JSON object with keys"],
    ["a list", 200, '[{"keys":[{}]}]', "no JSON object with keys"],
    ["no keys", 200, '{"keys":[]}', "no JSON object with keys"],
    ["keys that are no list", 200, '{"keys":{"0":{},"length":1}}', "no JSON object with keys"],
    ["keys that are no objects", 200, '{"keys":[{},null]}', "no JSON object with keys"],
    ["a key without its number", 200, '{"keys":[{"kty":"RSA","kid":"one","e":"AQAB"}]}', "no JSON object with keys"],
  ])("the answer of the certs endpoint is refused when it is %s", async (_, status, body, fault) => {
    await expect(fetchWith(answering(status, body))).rejects.toThrow(fault);
  });

  it("the answer of the certs endpoint may have 64 KiB, and a longer one is cut off", async () => {
    const empty = JSON.stringify({ keys: [KEY], more: "" });
    const bodyOf = (bytes: number) => empty.replace(/"}$/, `${"x".repeat(bytes - empty.length)}"}`);
    expect(await fetchWith(answering(200, bodyOf(65_536)))).toMatchObject({ keys: [KEY] });
    await expect(fetchWith(answering(200, bodyOf(65_537)))).rejects.toThrow("more than 64 KiB");
    const endless = (response: ServerResponse) => {
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(1_024)));
      };
      response.writeHead(200).on("drain", more);
      more();
    };
    await expect(fetchWith(endless)).rejects.toThrow("more than 64 KiB");
    await eventually(() => expect(endpoint.cut["/certs"]).toBeGreaterThan(0));
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ["never answers", () => {}],
    ["never ends its answer", (response) => void response.writeHead(200).write('{"keys":')],
  ])("the certs endpoint counts as down after 3 s when it %s", async (_, answer) => {
    await expect(fetchWith(answer, hasty)).rejects.toThrow("no answer in 3 s");
  });

  it("the certs endpoint counts as down when no connection can be made", async () => {
    await expect(fetchCerts(systemRuntime, "http://127.0.0.1:1/certs")).rejects.toThrow("no connection");
    const breaks = (response: ServerResponse) => void response.socket?.destroy();
    await expect(fetchWith(breaks)).rejects.toThrow("no connection");
  });
});
