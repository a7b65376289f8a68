import { describe, expect, it } from "vitest";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { ADMIN_TOKEN, World } from "../../support/world.ts";

const CSP = {
  "default-src": "'none'",
  "style-src": "'self'",
  "script-src": "'self'",
  "img-src": "'self'",
  "form-action": "'self'",
  "frame-ancestors": "'none'",
  "base-uri": "'none'",
};

function expectSafe(answer: Response) {
  const directives = (answer.headers.get("content-security-policy") ?? "").split("; ").map((directive) => {
    const [name = "", ...sources] = directive.split(" ");
    return [name, sources.join(" ")];
  });
  expect(Object.fromEntries(directives)).toEqual(CSP);
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  expect(answer.headers.get("x-frame-options")).toBe("DENY");
  expect(answer.headers.get("referrer-policy")).toBe("same-origin");
  expect(answer.headers.get("strict-transport-security")).toMatch(/^max-age=\d{7,}/);
  expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
}

/** No style or script but from a file. */
async function expectNothingInline(answer: Response) {
  const page = await answer.text();
  expect(page).toMatch(/^<!doctype html><html lang="en">/);
  expect(page).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script(?! src="\/console\/console\.js")|javascript:/i);
}

describe("every page of the console, refusals too", () => {
  it("carries the same strict headers and nothing inline", async () => {
    const world = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    const chatId = await world.chatId();
    const site = `/console/sites/${world.siteId}`;
    const broken = new ConsoleVisitor(await World.create({ DB: { prepare: failing, batch: failing } as never }));
    for (const [name, value] of visitor.cookies) broken.cookies.set(name, value);
    const answers: [number, Promise<Response>][] = [
      [200, visitor.get("/console")],
      [200, visitor.get(site)],
      [200, visitor.get(`${site}/apps`)],
      [200, visitor.get(`${site}/apps/${world.appid}`)],
      [200, visitor.get(`${site}/apps/${world.appid}/revoke`)],
      [200, visitor.post(`${site}/apps`, { name: "Shown once" })],
      [200, visitor.get(`${site}/agents`)],
      [200, visitor.get(`${site}/agents/1`)],
      [200, visitor.get(`${site}/sessions`)],
      [200, visitor.get(`${site}/sessions/${chatId}`)],
      [200, visitor.get(`${site}/audit`)],
      [200, visitor.get("/console/audit")],
      [200, visitor.get("/console/signature-check")],
      [200, visitor.post("/console/signature-check", { operation: "create_gd", body: "{" })],
      [400, visitor.post("/console/sites", { name: "" })],
      [400, visitor.get(`${site}/sessions?cursor=x`)],
      [404, visitor.get("/console/nowhere")],
      [404, visitor.get("/console/sites/999999")],
      [404, visitor.get(`${site}/sessions/999999`)],
      [403, visitor.post("/console/sites", { name: "Forged" }, { "sec-fetch-site": "cross-site" })],
      [413, visitor.post("/console/sites", { name: "x".repeat(300_000) })],
      [415, visitor.post("/console/sites", {}, { "content-type": "application/json" })],
      [500, broken.get("/console")],
      [200, new ConsoleVisitor(world).get("/console/sign-in")],
      [401, new ConsoleVisitor(world).post("/console/sign-in", { token: "wrong" })],
    ];
    for (const [status, asked] of answers) {
      const answer = await asked;
      expect(answer.status).toBe(status);
      expect(answer.headers.get("content-type")).toBe("text/html; charset=UTF-8");
      expectSafe(answer);
      await expectNothingInline(answer);
    }
    expectSafe(await new ConsoleVisitor(world).get("/console"));
    expectSafe(await visitor.post("/console/sign-out", {}));
  });
});

describe("a form from elsewhere", () => {
  it("changes nothing, whatever it says of itself", async () => {
    const world = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    const before = await world.operated();
    const agent = `/console/sites/${world.siteId}/agents/1`;
    const origins: Record<string, string>[] = [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: "https://sister.worker" },
      { "sec-fetch-site": "cross-site", origin: "null" },
      { "sec-fetch-site": "none" },
      { "sec-fetch-site": "" },
    ];
    for (const headers of origins) {
      expect((await visitor.post(agent, { status: "disabled" }, headers)).status).toBe(403);
    }
    const revoke = `/console/sites/${world.siteId}/apps/${world.appid}/revoke`;
    for (const type of ["application/json", "application/xml", "text/plain", ""]) {
      for (const from of origins.slice(0, 3)) {
        expect((await visitor.post(revoke, {}, { "content-type": type, ...from })).status).toBe(403);
      }
    }
    const text = await visitor.post(
      agent,
      { status: "disabled" },
      { "content-type": "text/plain", "sec-fetch-site": "cross-site" },
    );
    expect(text.status).toBe(403);
    expect(await world.operated()).toEqual(before);
    expect((await visitor.post(agent, { status: "disabled" })).status).toBe(303);
    expect(await world.operated()).not.toEqual(before);
  });

  it("cannot sign anyone in", async () => {
    const world = await World.create();
    const answer = await new ConsoleVisitor(world).post(
      "/console/sign-in",
      { token: ADMIN_TOKEN },
      { "sec-fetch-site": "cross-site" },
    );
    expect(answer.status).toBe(403);
    expect(answer.headers.getSetCookie()).toEqual([]);
  });
});

function failing(): never {
  throw new Error("a fault whose text is nobody's business");
}
