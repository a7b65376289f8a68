import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AccessFront } from "../../../src/tools/cli/access-front.ts";
import { main } from "../../../src/tools/cli/start.ts";
import { eventually } from "../../support/eventually.ts";
import { Listener, type ReceivedRequest } from "../../support/listener.ts";
import { isAlive, place, start, useCheckout } from "../../support/npm-start.ts";
import { runMain } from "../../support/run-main.ts";

useCheckout();

const HEADER = "cf-access-jwt-assertion";
const ISSUER = "https://this-machine.cloudflareaccess.com";

/**
 * The port of a front, which must be known before it starts. It is below 32,768, because the system gives higher ports to
 * connections of other programs.
 */
const PORT = 20_000 + (process.pid % 10_000);

describe("the front of npm start --access", () => {
  let worker: Listener;
  let front: AccessFront;
  const url = `http://127.0.0.1:${PORT}`;
  beforeAll(async () => {
    worker = await Listener.start();
    const { port } = new URL(worker.url);
    const address = (at: number) => ({ protocol: "http", host: "127.0.0.1", port: at }) as const;
    front = await AccessFront.start("ada@example.com", address(PORT), address(Number(port)));
  });
  afterAll(() => {
    front.close();
    return worker.close();
  });

  async function handOn(path: string, init: RequestInit = {}): Promise<ReceivedRequest> {
    worker.received.length = 0;
    await fetch(`${url}${path}`, { redirect: "manual", ...init });
    return worker.only();
  }
  const assertionOn = async (path: string) => (await handOn(path, { headers: { [HEADER]: "forged" } })).headers[HEADER];

  it("the local Access front signs a person in on /console and below, with an assertion that holds for a day and verifies", async () => {
    const assertion = String(await assertionOn("/console/sites?page=2"));
    const vars = Object.fromEntries(
      front.varsBeside([]).map((each) => [each.split(":", 1)[0], each.slice(each.indexOf(":") + 1)]),
    );
    expect(vars).toEqual({
      CONSOLE_SIGN_IN: "both",
      ACCESS_TEAM_DOMAIN: "this-machine.cloudflareaccess.com",
      ACCESS_AUD: expect.stringMatching(/^[0-9a-f]{64}$/),
      ACCESS_CERTS_URL: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/cdn-cgi\/access\/certs$/),
      CONSOLE_OWNERS: "ada@example.com",
    });
    for (const certs of [vars.ACCESS_CERTS_URL, `${url}/cdn-cgi/access/certs`]) {
      const keys = createLocalJWKSet(await (await fetch(String(certs))).json());
      const options = { issuer: ISSUER, audience: String(vars.ACCESS_AUD), algorithms: ["RS256"] };
      const { payload } = await jwtVerify(assertion, keys, options);
      expect(payload).toMatchObject({
        email: "ada@example.com",
        aud: [vars.ACCESS_AUD],
        type: "app",
        nbf: payload.iat,
      });
      expect(Number(payload.exp) - Number(payload.iat)).toBe(86_400);
      expect([payload.identity_nonce, payload.sub]).toEqual([expect.any(String), expect.any(String)]);
    }
    for (const path of ["/console", "/console/"]) expect(await assertionOn(path)).toBe(assertion);
  });

  it.each([
    "/admin/sites",
    "/openapi/chat/create_gd",
    "/",
    "/healthz",
    "/consoles",
    "/console/../admin/sites",
    "/console/%2e%2E/admin",
  ])("the local Access front sets no assertion on %s, and removes the one that the client sent", async (path) => {
    worker.received.length = 0;
    const { port } = new URL(url);
    // fetch() would remove the dots from the path.
    const { request } = await import("node:http");
    await new Promise((resolve) => {
      const headers = { "Cf-Access-Jwt-Assertion": "forged" };
      request({ host: "127.0.0.1", port, path, headers }, (answer) => answer.resume().on("end", resolve)).end();
    });
    const { headers, path: receivedPath } = worker.only();
    expect(headers).not.toHaveProperty(HEADER);
    expect(receivedPath).not.toMatch(/^\/console(\/|$)/);
  });

  it("the local Access front hands on bodies, headers and answers unchanged", async () => {
    const body = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 256));
    worker.answer = { status: 303, headers: { location: "/console/sites", "set-cookie": "a=1" }, body: "moved" };
    const headers = { host: "tickets.example.com", origin: "http://tickets.example.com", cookie: "b=2", "x-own": "3" };
    worker.received.length = 0;
    const answer = await fetch(`${url}/console/sign-in?x=%20`, { method: "POST", body, headers, redirect: "manual" });
    expect([answer.status, answer.headers.get("location"), answer.headers.getSetCookie(), await answer.text()]).toEqual(
      [303, "/console/sites", ["a=1"], "moved"],
    );
    const { method, path, headers: receivedHeaders, body: bytes } = worker.only();
    expect([method, path, bytes.equals(body)]).toEqual(["POST", "/console/sign-in?x=%20", true]);
    expect(receivedHeaders).toMatchObject({ cookie: "b=2", "x-own": "3", origin: "http://tickets.example.com" });
  });

  it("the local Access front makes a new assertion after the logout", async () => {
    const before = decodeJwt(String(await assertionOn("/console")));
    worker.received.length = 0;
    const page = await fetch(`${url}/cdn-cgi/access/logout`);
    expect([page.status, await page.text(), worker.received]).toEqual([
      200,
      expect.stringContaining('href="/console"'),
      [],
    ]);
    const after = decodeJwt(String(await assertionOn("/console")));
    expect(after.identity_nonce).not.toBe(before.identity_nonce);
    expect(decodeJwt(String(await assertionOn("/console"))).iat).toBe(after.iat);
  });

  it("the local Access front leaves out vars that the user gave, and makes no person of another list an owner", () => {
    const names = (...args: string[]) => front.varsBeside(args).map((each) => each.split(":", 1)[0]);
    const all = ["CONSOLE_SIGN_IN", "ACCESS_TEAM_DOMAIN", "ACCESS_AUD", "ACCESS_CERTS_URL", "CONSOLE_OWNERS"];
    expect(names("ERROR_STATUS:")).toEqual(all);
    expect(names("CONSOLE_SIGN_IN:access", "CONSOLE_OWNERS:bo@a.com")).toEqual(all.slice(1, -1));
    for (const list of ["CONSOLE_VIEWERS", "CONSOLE_OPERATORS"]) expect(names(`${list}:`)).toEqual(all.slice(0, -1));
  });

  it("the local Access front answers 502 while the Worker does not answer", async () => {
    await worker.close();
    expect((await fetch(`${url}/console`)).status).toBe(502);
  });
});

describe("npm start --access", () => {
  it.each([
    [["--access", "ada"], "--access ada is no e-mail address."],
    [["--access", "*@example.com"], "--access *@example.com is no e-mail address."],
    [["--access", "ada@example.com", "--local-protocol", "https"], "--access serves http only."],
  ])("npm start --access refuses %j", async (args, says) => {
    const { exitCode, stdout, stderr } = await runMain(main, ["--port", "0", ...args], { root: place.checkout });
    expect(stderr).toContain(says);
    expect([exitCode, stdout]).toEqual([2, ""]);
  });

  it("npm start --access serves through the front, runs the crons, starts the Worker again after a crash, and ends all of it", async () => {
    const running = await start(["--access", "Ada@example.com", "--var", "CONSOLE_SIGN_IN:both"]);
    const shownUrl = () => /with ada@example\.com signed in by Access: (\S+)\/console/.exec(running.output())?.[1];
    await eventually(() => expect(shownUrl()).toBeDefined());
    const front = String(shownUrl());
    expect(front).not.toBe(running.url);
    expect((await fetch(`${front}/healthz`)).status).toBe(200);
    expect((await fetch(`${front}/console`)).status).toBeLessThan(500);
    await eventually(() => expect(running.output()).toContain('"job":"sweep"'));

    const before = running.workerds();
    for (const pid of before) process.kill(pid, "SIGKILL");
    const isServed = async () => (await fetch(`${front}/healthz`, { signal: AbortSignal.timeout(30_000) })).status;
    await eventually(async () => expect(await isServed()).toBe(200), 90_000);

    const after = running.workerds();
    expect(await running.stop("SIGTERM")).toBe(143);
    await expect(fetch(`${front}/healthz`)).rejects.toThrow("fetch failed");
    await eventually(() => expect(after.filter(isAlive)).toEqual([]));
  });
});
