import { describe, expect, it } from "vitest";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { ADMIN_TOKEN, NOW, World } from "../../support/world.ts";

const HOURS_12 = 43_200;

describe("signing in", () => {
  it("sets a cookie of this host alone, for 12 hours, out of scripts' and other sites' reach", async () => {
    const world = await World.create();
    const answer = await new ConsoleVisitor(world).post("/console/sign-in", { token: ADMIN_TOKEN });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console"]);
    const [cookie, ...others] = answer.headers.getSetCookie();
    expect(others).toEqual([]);
    expect(cookie).toMatch(/^__Host-console=\d+\.[\w-]{43}; /);
    expect(cookie?.split("; ").slice(1).sort()).toEqual(
      ["HttpOnly", "Max-Age=43200", "Path=/", "SameSite=Strict", "Secure"].sort(),
    );
    expect(cookie).not.toContain("Domain");
  });

  it("lasts 12 hours by the server's clock, whatever the browser keeps", async () => {
    const world = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    world.clock.now = NOW + HOURS_12 - 1;
    expect((await visitor.get("/console")).status).toBe(200);
    world.clock.now = NOW + HOURS_12;
    const answer = await visitor.get("/console");
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/sign-in?next=%2Fconsole"]);
  });

  it("ends for everyone when ADMIN_TOKEN changes", async () => {
    const world = await World.create();
    const { cookies } = await ConsoleVisitor.signedIn(world);
    const changed = world.anotherIsolate({ ADMIN_TOKEN: "another-admin-token-0123456789abcdef" });
    const visitor = new ConsoleVisitor(changed);
    for (const [name, value] of cookies) visitor.cookies.set(name, value);
    expect((await visitor.get("/console")).status).toBe(303);
  });

  it("cannot be prolonged or forged", async () => {
    const world = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    const [expiresAt = "", mac = ""] = (visitor.cookies.get("__Host-console") ?? "").split(".");
    const forged = [
      `${Number(expiresAt) + 1}.${mac}`,
      `${expiresAt}.${mac.replace(/^./, (first) => (first === "A" ? "B" : "A"))}`,
      `${expiresAt}.`,
      expiresAt,
      `0${expiresAt}.${mac}`,
      `${expiresAt}.${mac}.${mac}x`.replace(mac, "A".repeat(43)),
    ];
    for (const value of forged) {
      visitor.cookies.set("__Host-console", value);
      expect([value, (await visitor.get("/console")).status]).toEqual([value, 303]);
    }
    visitor.cookies.set("__Host-console", `${expiresAt}.${mac}`);
    expect((await visitor.get("/console")).status).toBe(200);
  });

  it("is refused with another token, and says so on the page without repeating it", async () => {
    const world = await World.create();
    const answer = await new ConsoleVisitor(world).post("/console/sign-in", { token: `${ADMIN_TOKEN}x` });
    expect(answer.status).toBe(401);
    expect(answer.headers.getSetCookie()).toEqual([]);
    const page = await answer.text();
    expect(page).toContain("This is not the admin token.");
    expect(page).toContain('aria-invalid="true"');
    expect(page).not.toContain(ADMIN_TOKEN);
  });

  it("counts every attempt by client address, the right token's too", async () => {
    const keys: string[] = [];
    const limit = { limit: async ({ key }: { key: string }) => ({ success: keys.push(key) <= 2 }) };
    const world = await World.create({ CLIENT_LIMIT: limit as RateLimit });
    const attempt = (token: string) =>
      new ConsoleVisitor(world).post("/console/sign-in", { token }, { "cf-connecting-ip": "203.0.113.7" });
    expect((await attempt("wrong")).status).toBe(401);
    expect((await attempt(ADMIN_TOKEN)).status).toBe(303);
    const third = await attempt(ADMIN_TOKEN);
    expect([third.status, third.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(third.headers.getSetCookie()).toEqual([]);
    expect(keys).toEqual(["203.0.113.7", "203.0.113.7", "203.0.113.7"]);
  });

  it("is impossible while ADMIN_TOKEN is not set, also with an empty token", async () => {
    const world = await World.create({ ADMIN_TOKEN: "" });
    for (const token of ["", ADMIN_TOKEN]) {
      const answer = await new ConsoleVisitor(world).post("/console/sign-in", { token });
      expect(answer.status).toBe(401);
      expect(await answer.text()).toContain("ADMIN_TOKEN is not set");
    }
  });

  it.each([
    ["holds a blank", `${ADMIN_TOKEN} ${ADMIN_TOKEN}`],
    ["is shorter than 32 characters", ADMIN_TOKEN.slice(0, 31)],
  ])("says before it is tried that nobody can, when ADMIN_TOKEN %s", async (fault, token) => {
    const visitor = new ConsoleVisitor(await World.create({ ADMIN_TOKEN: token }));
    expect(await visitor.page("/console/sign-in")).toContain(`ADMIN_TOKEN ${fault}, so nobody can sign in.`);
    const answer = await visitor.post("/console/sign-in", { token });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([401, []]);
    const page = await answer.text();
    expect(page).toContain(`ADMIN_TOKEN ${fault}, so nobody can sign in.`);
    expect(page).not.toContain(token);
  });

  it("works with a token that was set with a line break at its end, typed without it", async () => {
    const world = await World.create({ ADMIN_TOKEN: `${ADMIN_TOKEN}\n` });
    const visitor = await ConsoleVisitor.signedIn(world);
    expect((await visitor.get("/console")).status).toBe(200);
  });

  it("leads back to the page that was asked for, and to no other site", async () => {
    const world = await World.create();
    const visitor = new ConsoleVisitor(world);
    const asked = await visitor.get(`/console/sites/${world.siteId}/sessions?status=waiting`);
    const signIn = asked.headers.get("location") ?? "";
    expect(await visitor.page(signIn)).toContain(`value="/console/sites/${world.siteId}/sessions?status=waiting"`);
    const to = async (next: string) =>
      (await new ConsoleVisitor(world).post("/console/sign-in", { token: ADMIN_TOKEN, next })).headers.get("location");
    expect(await to("/console/audit")).toBe("/console/audit");
    for (const next of [
      "https://evil.example",
      "//evil.example",
      "/console@evil.example",
      "/admin",
      "/console\\evil",
      "/console/../admin",
      "/console/%2e%2e/admin",
      "/console//evil.example",
    ]) {
      expect(await to(next)).toBe("/console");
    }
  });
});

describe("signing out", () => {
  it("takes the cookie away", async () => {
    const world = await World.create();
    const visitor = await ConsoleVisitor.signedIn(world);
    const answer = await visitor.post("/console/sign-out", {});
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/sign-in"]);
    expect(answer.headers.getSetCookie()[0]).toContain("Max-Age=0");
    expect((await visitor.get("/console")).status).toBe(303);
  });
});

describe("without signing in", () => {
  it("nothing is shown and nothing is changed", async () => {
    const world = await World.create();
    const site = `/console/sites/${world.siteId}`;
    const visitor = new ConsoleVisitor(world);
    for (const path of ["", "/audit", "/signature-check", "/nowhere"]) {
      expect([path, (await visitor.get(`/console${path}`)).status]).toEqual([path, 303]);
    }
    for (const path of ["", "/apps", `/apps/${world.appid}`, "/agents", "/sessions", "/audit"]) {
      expect([path, (await visitor.get(site + path)).status]).toEqual([path, 303]);
    }
    const before = await world.operated();
    const posts: [string, Record<string, string>][] = [
      ["/console/sites", { name: "Mine" }],
      [`${site}/apps`, { name: "Mine" }],
      [`${site}/apps/${world.appid}/rotate`, { overlap_seconds: "0" }],
      [`${site}/apps/${world.appid}/revoke`, {}],
      [`${site}/agents`, { id: "9", name: "Mine" }],
      [`${site}/agents/1`, { status: "disabled" }],
    ];
    for (const [path, fields] of posts) {
      const answer = await visitor.post(path, fields);
      expect([path, answer.status, answer.headers.get("location")]).toEqual([path, 303, "/console/sign-in"]);
    }
    expect(await world.operated()).toEqual(before);
  });
});
