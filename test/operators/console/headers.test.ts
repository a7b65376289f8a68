import { describe, expect, it } from "vitest";
import { ConsoleVisitor, start } from "../../support/console-visitor.ts";

const CSP = {
  "default-src": "'none'",
  "connect-src": "'self'",
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

/** Styles and scripts must come from files. */
async function expectNothingInline(answer: Response) {
  const page = await answer.text();
  expect(page).toMatch(/^<!doctype html><html lang="en">/);
  expect(page).not.toMatch(
    /<style|\sstyle=|\son[a-z]+=|<script(?! src="\/console\/assets\/console-[0-9a-f]{10}\.js")|javascript:/i,
  );
}

describe("every page of the console, also of refusals", () => {
  it("every page of the console has the same strict headers and no inline style or script", async () => {
    const { world, visitor } = await start("main");
    const chatId = await world.chatId();
    const site = `/console/sites/${world.siteId}`;
    const downVisitor = new ConsoleVisitor(world.anotherIsolate({ DB: { prepare: failing, batch: failing } as never }));
    for (const [name, value] of visitor.cookies) downVisitor.cookies.set(name, value);
    const sites = await visitor.open("/console");
    const check = await visitor.open("/console/signature-check");
    const rotatedPage = await visitor.press(await visitor.open(`${site}/apps/${world.appid}`), "Rotate");
    const signedOut = new ConsoleVisitor(world);
    const answers: [number, Promise<Response>][] = [
      [200, visitor.get("/console")],
      [200, visitor.get(site)],
      [200, visitor.get(`${site}/apps`)],
      [200, visitor.get(`${site}/apps/${world.appid}`)],
      [200, visitor.get(`${site}/apps/${world.appid}/rotate?overlap_seconds=0`)],
      [200, visitor.get(`${site}/apps/${world.appid}/revoke`)],
      [200, visitor.get(rotatedPage.path)],
      [410, visitor.get(`${site}/apps/${world.appid}/secret`)],
      [200, visitor.get(`${site}/agents`)],
      [200, visitor.get(`${site}/agents/1`)],
      [200, visitor.get(`${site}/sessions`)],
      [200, visitor.get(`${site}/sessions/${chatId}`)],
      [200, visitor.get(`${site}/audit`)],
      [200, visitor.get("/console/audit")],
      [200, visitor.get("/console/signature-check")],
      [200, visitor.submit(check, "Check", { "Which call is it?": "create_gd", "Body, as it was sent": "{" })],
      [400, visitor.submit(sites, "Create site")],
      [400, visitor.get(`${site}/sessions?cursor=x`)],
      [404, visitor.get("/console/nowhere")],
      [404, visitor.get("/console/sites/999999")],
      [404, visitor.get(`${site}/sessions/999999`)],
      [403, visitor.submit(sites, "Create site", { Name: "Forged" }, { origin: "", "sec-fetch-site": "cross-site" })],
      [413, visitor.submit(sites, "Create site", { Name: "x".repeat(300_000) })],
      [415, visitor.submit(sites, "Create site", {}, { "content-type": "application/json" })],
      [500, new ConsoleVisitor(world.anotherIsolate({ MASTER_KEY: "" })).get("/console")],
      [503, downVisitor.get("/console")],
      [200, signedOut.get("/console/sign-in")],
      [401, signedOut.signIn("wrong")],
      [401, signedOut.submit(sites, "Create site", { Name: "Signed out" })],
    ];
    for (const [status, promise] of answers) {
      const answer = await promise;
      expect(answer.status).toBe(status);
      expect(answer.headers.get("content-type")).toBe("text/html; charset=UTF-8");
      expectSafe(answer);
      await expectNothingInline(answer);
    }
    expectSafe(await new ConsoleVisitor(world).get("/console"));
    expectSafe(await visitor.get("/console/"));
    expectSafe(await visitor.submit(sites, "Create site", { Name: "Led on" }));
    expectSafe(await visitor.submit(sites, "Sign out"));
  });
});

describe("a form from another site", () => {
  it("a form from another site changes nothing, whatever headers it has", async () => {
    const { world, visitor } = await start("main");
    const before = await world.operated();
    const site = `/console/sites/${world.siteId}`;
    const agents = await visitor.open(`${site}/agents`);
    const revoke = await visitor.open(`${site}/apps/${world.appid}/revoke`);
    const origins: Record<string, string>[] = [
      { origin: "", "sec-fetch-site": "cross-site" },
      { origin: "https://sister.worker", "sec-fetch-site": "same-site" },
      { origin: "null", "sec-fetch-site": "cross-site" },
      { origin: "", "sec-fetch-site": "none" },
      { origin: "", "sec-fetch-site": "" },
    ];
    for (const headers of origins) {
      expect((await visitor.submit(agents, "Disable Agent 1", {}, headers)).status).toBe(403);
      for (const type of ["application/json", "application/xml", "text/plain", ""]) {
        const forged = { ...headers, "content-type": type };
        expect((await visitor.submit(revoke, "Revoke for good", {}, forged)).status).toBe(403);
      }
    }
    expect(await world.operated()).toEqual(before);
    // Older browsers send one of these headers, newer ones send both.
    expect((await visitor.submit(agents, "Disable Agent 1", {}, { "sec-fetch-site": "" })).status).toBe(303);
    expect((await visitor.submit(agents, "Disable Agent 2", {}, { origin: "" })).status).toBe(303);
    expect((await world.operated()).agents.map(({ status }) => status)).toEqual([
      "disabled",
      "disabled",
      "normal",
      "disabled",
    ]);
  });
});

function failing(): never {
  throw new Error("a fault whose text is nobody's business");
}
