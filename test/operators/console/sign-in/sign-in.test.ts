import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { withParameter } from "../../../../src/operators/console/console-path.ts";
import { ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { lateDb } from "../../../support/late-db.ts";
import { pruneAll } from "../../../support/site-end.ts";
import { ADMIN_TOKEN, NOW, World } from "../../../support/world.ts";

const HOURS_12 = 43_200;

const rows = async (sql: string) => (await env.DB.prepare(sql).all<Record<string, unknown>>()).results;

describe("signing in", () => {
  it("signing in sets a cookie for this host and 12 hours, unreadable for scripts and not sent by other sites' posts", async () => {
    const world = await World.create();
    const answer = await new ConsoleVisitor(world).signIn();
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console"]);
    const [cookie, ...others] = answer.headers.getSetCookie();
    expect(others).toEqual([]);
    expect(cookie).toMatch(/^__Host-console=[\w-]{43}\.[\w-]{43}; /);
    // Lax: a link from a mail must send the cookie. Posts are checked by their origin.
    expect(cookie?.split("; ").slice(1).sort()).toEqual(
      ["HttpOnly", "Max-Age=43200", "Path=/", "SameSite=Lax", "Secure"].sort(),
    );
    expect(cookie).not.toContain("Domain");
  });

  it("the stored row of a console session is useless for signing in", async () => {
    const world = await World.create();
    const before = (await rows("SELECT id FROM console_sessions")).map(({ id }) => id);
    const visitor = await ConsoleVisitor.signedIn(world);
    const [row, ...others] = (await rows("SELECT * FROM console_sessions")).filter(({ id }) => !before.includes(id));
    expect(others).toEqual([]);
    expect(row).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{64}$/),
      created_at: NOW,
      expires_at: NOW + HOURS_12,
      who_kind: "root",
      who_id: "root",
      who_name: "ADMIN_TOKEN",
      last_used_at: NOW,
      ended_at: null,
      browser: null,
      address: null,
    });
    expect([...visitor.cookies.values()].join()).not.toContain(row?.id);
  });

  it("a console session lasts 12 hours by the server's clock, however long the browser keeps the cookie", async () => {
    const { world, visitor } = await start("main");
    world.clock.now = NOW + HOURS_12 - 1;
    expect((await visitor.get("/console")).status).toBe(200);
    world.clock.now = NOW + HOURS_12;
    const answer = await visitor.get("/console");
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/sign-in?next=%2Fconsole"]);
  });

  it("every console session ends when ADMIN_TOKEN changes", async () => {
    const world = await World.create();
    const { cookies } = await ConsoleVisitor.signedIn(world);
    const changedWorld = world.anotherIsolate({ ADMIN_TOKEN: "another-admin-token-0123456789abcdef" });
    const visitor = new ConsoleVisitor(changedWorld);
    for (const [name, value] of cookies) visitor.cookies.set(name, value);
    expect((await visitor.get("/console")).status).toBe(303);
  });

  it("a console cookie cannot be forged, and a made-up one costs no database read", async () => {
    const { world, visitor } = await start("main");
    const cookie = visitor.cookies.get("__Host-console") ?? "";
    const [value = "", mac = ""] = cookie.split(".");
    const other = (text: string) => text.replace(/^./, (first) => (first === "A" ? "B" : "A"));
    const failing = {
      prepare: () => {
        throw new Error("no read was due");
      },
    };
    const blind = new ConsoleVisitor(world.anotherIsolate({ DB: failing as never }));
    const forged = [
      `${other(value)}.${mac}`,
      `${value}.${other(mac)}`,
      `${value}.`,
      value,
      "",
      ".",
      `${value}.${mac}A`,
    ];
    for (const text of forged) {
      blind.cookies.set("__Host-console", text);
      expect([text, (await blind.get("/console")).status]).toEqual([text, 303]);
    }
    visitor.cookies.set("__Host-console", cookie);
    expect((await visitor.get("/console")).status).toBe(200);
  });

  it("the console shows that the database does not answer, and lets nobody in meanwhile", async () => {
    const world = await World.create();
    const { cookies } = await ConsoleVisitor.signedIn(world);
    const down = new Faults(() => "before");
    const visitor = new ConsoleVisitor(world.anotherIsolate({ DB: faultyD1(env.DB, down) }));
    const refusedAnswer = await visitor.signIn();
    expect([refusedAnswer.status, refusedAnswer.headers.getSetCookie()]).toEqual([503, []]);
    for (const [name, value] of cookies) visitor.cookies.set(name, value);
    const page = await visitor.open("/console");
    expect([page.status, page.heading]).toEqual([503, "The database does not answer"]);
    expect((await visitor.post("/console/sign-out", {})).status).toBe(503);
  });

  it("signing in with a wrong token is refused, and the page does not repeat the token", async () => {
    const world = await World.create();
    const visitor = new ConsoleVisitor(world);
    const page = await visitor.press(await visitor.open("/console/sign-in"), "Sign in", {
      Token: `${ADMIN_TOKEN}x`,
    });
    expect(page.status).toBe(401);
    expect(page.headers.getSetCookie()).toEqual([]);
    expect(page.text).toContain("This token opens nothing here.");
    expect(page.html).toContain('aria-invalid="true"');
    expect(page.html).not.toContain(ADMIN_TOKEN);
  });

  it("only failed sign-ins count towards the limit of an address, so the right token is always accepted", async () => {
    const keys: string[] = [];
    const limit = { limit: async ({ key }: { key: string }) => ({ success: keys.push(key) <= 2 }) };
    const world = await World.create({ CLIENT_LIMIT: limit as RateLimit });
    const from = { "cf-connecting-ip": "203.0.113.7" };
    const attempt = async (token: string) => {
      const visitor = new ConsoleVisitor(world);
      return visitor.signIn(token, await visitor.open("/console/sign-in"), from);
    };
    expect((await attempt("wrong")).status).toBe(401);
    expect((await attempt(ADMIN_TOKEN)).status).toBe(303);
    expect((await attempt("wrong")).status).toBe(401);
    const third = await attempt("wrong");
    expect([third.status, third.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(third.headers.getSetCookie()).toEqual([]);
    expect((await attempt(ADMIN_TOKEN)).status).toBe(303);
    // The key differs from the one that counts failed signatures of the same address.
    expect(keys).toEqual(Array(3).fill("operator 203.0.113.7"));
  });

  it("nobody can sign in while ADMIN_TOKEN is not set, not even with an empty token", async () => {
    const world = await World.create({ ADMIN_TOKEN: "" });
    for (const token of ["", ADMIN_TOKEN]) {
      const answer = await new ConsoleVisitor(world).signIn(token);
      expect(answer.status).toBe(401);
      expect(await answer.text()).toContain("ADMIN_TOKEN is not set");
    }
  });

  it.each([
    ["holds a blank", `${ADMIN_TOKEN} ${ADMIN_TOKEN}`],
    ["is shorter than 32 characters", ADMIN_TOKEN.slice(0, 31)],
  ])("the sign-in page says that nobody can sign in when ADMIN_TOKEN %s", async (fault, token) => {
    const visitor = new ConsoleVisitor(await World.create({ ADMIN_TOKEN: token }));
    expect(await visitor.page("/console/sign-in")).toContain(`ADMIN_TOKEN ${fault}, so nobody can sign in.`);
    const answer = await visitor.post("/console/sign-in", { token });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([401, []]);
    const page = await answer.text();
    expect(page).toContain(`ADMIN_TOKEN ${fault}, so nobody can sign in.`);
    expect(page).not.toContain(token);
  });

  it("signing in leads back to the requested page with its query, and to no other site", async () => {
    const world = await World.create();
    const visitor = new ConsoleVisitor(world);
    const sessions = `/console/sites/${world.siteId}/sessions`;
    for (const path of [`${sessions}?sbs=customer%20%231&status=`, `${sessions}?sbs=a:b/c@d`, "/console/nowhere"]) {
      const askPage = await new ConsoleVisitor(world).open(path);
      expect(askPage.heading).toBe("Sign in to the console");
      const answer = await visitor.signIn(ADMIN_TOKEN, askPage);
      expect([answer.status, answer.headers.get("location")]).toEqual([303, path]);
    }
    const to = async (next: string) => {
      const page = await new ConsoleVisitor(world).open(`/console/sign-in?${new URLSearchParams({ next })}`);
      return (await new ConsoleVisitor(world).signIn(ADMIN_TOKEN, page)).headers.get("location");
    };
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
      "/console?\r\nset-cookie: a=b",
    ]) {
      expect(await to(next)).toBe("/console");
    }
  });

  it("the sign-in page redirects a signed-in visitor to the page that its link names", async () => {
    const { visitor } = await start("main");
    const answer = await visitor.get("/console/sign-in?next=%2Fconsole%2Faudit");
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/audit"]);
    expect((await visitor.get("/console/sign-in")).headers.get("location")).toBe("/console");
    const evil = await visitor.get("/console/sign-in?next=https://evil.example");
    expect(evil.headers.get("location")).toBe("/console");
  });
});

describe("signing in over plain http", () => {
  const REASON = "Nobody can stay signed in here";
  const signInAt = async (at: string, { origin = at, site }: { origin?: string; site?: string } = {}) => {
    const world = await World.create();
    const headers = { origin, ...(site !== undefined && { "sec-fetch-site": site }) };
    const ofPage = site === undefined ? {} : { "sec-fetch-site": "none" };
    const page = await (await world.fetch(new Request(`${at}/console/sign-in`, { headers: ofPage }))).text();
    const body = new URLSearchParams({ token: ADMIN_TOKEN });
    const answer = await world.fetch(new Request(`${at}/console/sign-in`, { method: "POST", headers, body }));
    return { page, answer, text: await answer.text() };
  };

  it.each(["http://desk.example", "http://192.0.2.7:8787", "http://localhost.example", "http://127.0.0.1.example"])(
    "signing in is refused at %s, where the browser would drop the cookie, with the reason and what to do",
    async (at) => {
      const before = await rows("SELECT id FROM console_sessions");
      const { page, answer, text } = await signInAt(at);
      for (const each of [page, text]) {
        expect(each).toContain(REASON);
        expect(each).toContain(`http://localhost:${new URL(at).port || 80}/console`);
      }
      expect([answer.status, answer.headers.getSetCookie()]).toEqual([401, []]);
      expect(await rows("SELECT id FROM console_sessions")).toEqual(before);
    },
  );

  it.each([
    "http://localhost:8787",
    "http://desk.localhost",
    "http://127.0.0.1:8787",
    "http://127.1.2.3",
    "http://[::1]",
  ])("signing in works at %s, whose cookies browsers keep", async (at) => {
    const { page, answer } = await signInAt(at);
    expect([page.includes(REASON), answer.status, answer.headers.getSetCookie().length]).toEqual([false, 303, 1]);
  });

  it("signing in works behind a tunnel that ends TLS, because the browser sends the real origin", async () => {
    const { page, answer } = await signInAt("http://desk.example", {
      origin: "https://desk.example",
      site: "same-origin",
    });
    expect([page.includes(REASON), answer.status]).toEqual([false, 303]);
  });
});

describe("signing out", () => {
  it("a console session stays signed out when a late try of its sign-in commits afterwards", async () => {
    const { db, commitLate } = lateDb(env.DB, "late");
    const world = await World.create({ DB: db });
    const visitor = await ConsoleVisitor.signedIn(world);
    const otherBrowser = visitor.through(world);
    expect((await otherBrowser.get("/console")).status).toBe(200);
    await visitor.submit(await visitor.open("/console"), "Sign out");
    await commitLate();
    expect((await otherBrowser.get("/console")).status).toBe(303);
    await pruneAll(world.clock.now);
    await commitLate();
    expect((await otherBrowser.get("/console")).status).toBe(303);
  });

  it("signing out deletes the cookie and ends the session for every copy of it", async () => {
    const { world, visitor } = await start("main");
    const copy = new ConsoleVisitor(world.anotherIsolate());
    for (const [name, value] of visitor.cookies) copy.cookies.set(name, value);
    const other = await ConsoleVisitor.signedIn(world);
    expect((await copy.get("/console")).status).toBe(200);
    const answer = await visitor.submit(await visitor.open("/console"), "Sign out");
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/sign-in"]);
    expect(answer.headers.getSetCookie()[0]).toContain("Max-Age=0");
    expect((await visitor.get("/console")).status).toBe(303);
    expect((await copy.get("/console")).status).toBe(303);
    expect((await copy.post("/console/signature-check", {})).status).toBe(401);
    expect((await other.get("/console")).status).toBe(200);
  });
});

describe("a form sent after the sign-in has ended", () => {
  it("a form sent after the sign-in has ended comes back filled in after the new sign-in, and changes nothing", async () => {
    const { world, visitor } = await start("main");
    const path = `/console/sites/${world.siteId}/agents`;
    const form = await visitor.open(path);
    world.clock.now = NOW + HOURS_12;
    const list = '20, Ana "A" Souza\r\n21, <b>Ben</b> & co';
    const before = await world.operated();
    const askPage = await visitor.press(form, "Add all", { "One agent a line: id, name": list });
    expect([askPage.status, askPage.heading]).toEqual([401, "Sign in to the console"]);
    expect(askPage.notices).toEqual(["You are no longer signed in"]);
    // A wrong token and a change of language keep the fields.
    const wrong = await visitor.press(askPage, "Sign in", { Token: `${ADMIN_TOKEN}x` });
    const chinese = await visitor.press(wrong, "中文");
    expect([chinese.status, chinese.heading]).toEqual([401, "登录控制台"]);
    const english = await visitor.press(chinese, "English");
    const back = await visitor.press(english, "Sign in", { Token: ADMIN_TOKEN });
    expect([back.status, back.path]).toEqual([200, `${path}?draft=1`]);
    expect(back.notices).toEqual(["Not sent yet: look the form over and send it."]);
    expect(back.value("One agent a line: id, name")).toBe(list);
    for (const { html } of [wrong, chinese, english, back]) expect(html).not.toContain(ADMIN_TOKEN);
    expect(await world.operated()).toEqual(before);
    const addedPage = await visitor.press(back, "Add all");
    expect(addedPage.notices).toEqual(["2 agents were added."]);
    expect((await world.operated()).agents.at(-1)).toMatchObject({ id: 21, name: "<b>Ben</b> & co" });
  });

  it("a form that comes back after a new sign-in carries no secret, no token and no form token", async () => {
    const { world, visitor } = await start("main");
    const form = await visitor.open(`/console/sites/${world.siteId}/apps`);
    world.clock.now = NOW + HOURS_12;
    const fill = { Name: "Moved", appid: "moved-appid", Secret: "a-secret-of-mine" };
    const askPage = await visitor.press(form, "Issue app", fill);
    for (const text of ["a-secret-of-mine", form.value("form")]) expect(askPage.html).not.toContain(text);
    const back = await visitor.press(askPage, "Sign in", { Token: ADMIN_TOKEN });
    expect([back.value("Name"), back.value("appid"), back.value("Secret")]).toEqual(["Moved", "moved-appid", ""]);
    expect((await world.operated()).apps).toHaveLength(1);
  });

  it("the admin token is on no page after a new sign-in, whichever form was sent", async () => {
    const { world, visitor, site } = await start("main");
    const forms: [string, string, Record<string, string>][] = [
      ["/console/signature-check", "Check", { "Which call is it?": "create_gd", "Body, as it was sent": "{" }],
      [`${site}/apps`, "Issue app", { Name: "New" }],
      [`${site}/apps/${world.appid}`, "Rotate", { Overlap: "0" }],
      [`${site}/apps/${world.appid}/revoke`, "Revoke for good", {}],
      [`${site}/agents`, "Add all", { "One agent a line: id, name": "20, Ana" }],
      [`${site}/agents`, "Disable Agent 1", {}],
      [`${site}/first-chat-id?first_chat_id=90`, "Set the chat_id", {}],
      ["/console/homes/apac/restored?lift=5", "It was restored: skip now", {}],
    ];
    for (const [path, button, fill] of forms) {
      const signedOut = new ConsoleVisitor(world);
      const askPage = await signedOut.press(await visitor.open(path), button, fill);
      const back = await signedOut.press(askPage, "Sign in", { Token: ADMIN_TOKEN });
      expect([path, button, back.html.includes(ADMIN_TOKEN)]).toEqual([path, button, false]);
    }
  });

  it("a signature check sent after the sign-in has ended is done after the new sign-in, because it changes nothing", async () => {
    const { world, visitor } = await start("main");
    const form = { "Which call is it?": "create_gd", "Body, as it was sent": "{" };
    const signedOut = new ConsoleVisitor(world);
    const askPage = await signedOut.press(await visitor.open("/console/signature-check"), "Check", form);
    expect(askPage.status).toBe(401);
    const back = await signedOut.press(askPage, "Sign in", { Token: ADMIN_TOKEN });
    expect([back.status, back.path]).toEqual([200, "/console/signature-check?draft=1"]);
    expect(back.value("Body, as it was sent")).toBe("{");
    expect(back.text).toContain("Sent now, the server answers 400");
  });

  it("a single button pressed after the sign-in has ended leads to the page of that button", async () => {
    const { world, visitor, site } = await start("main");
    const pages = [
      [await visitor.open(`${site}/agents`), "Disable Agent 1", `${site}/agents`],
      [
        await visitor.open(`${site}/apps/${world.appid}/revoke`),
        "Revoke for good",
        `${site}/apps/${world.appid}/revoke`,
      ],
      [await visitor.open(`${site}/apps/${world.appid}`), "Rotate", `${site}/apps/${world.appid}/rotate?draft=1`],
      [
        await visitor.open(`${site}/apps/${world.appid}/rotate?overlap_seconds=0`),
        "Rotate now",
        `${site}/apps/${world.appid}/rotate?overlap_seconds=0`,
      ],
    ] as const;
    const before = await world.operated();
    for (const [page, button, path] of pages) {
      const signedOut = new ConsoleVisitor(world);
      const askPage = await signedOut.press(page, button);
      expect([button, askPage.status]).toEqual([button, 401]);
      const back = await signedOut.press(askPage, "Sign in", { Token: ADMIN_TOKEN });
      expect([button, back.status, withParameter(back.path, "done")]).toEqual([button, 200, path]);
      expect(back.notices).toEqual([
        button === "Rotate" ? "Not sent yet: look the form over and send it." : "Nothing was changed: press it again.",
      ]);
      expect(back.has(button)).toBe(true);
    }
    expect(await world.operated()).toEqual(before);
  });
});

describe("an address of the console with a slash at its end", () => {
  it("a console address with a slash at its end redirects to the page without it", async () => {
    const { world, visitor, site } = await start("main");
    for (const [path, to] of [
      ["/console/", "/console"],
      ["/console//", "/console"],
      [`${site}/`, site],
      [`${site}/sessions/?status=waiting&sbs=`, `${site}/sessions?status=waiting&sbs=`],
    ] as const) {
      const answer = await visitor.get(path);
      expect([answer.status, answer.headers.get("location")]).toEqual([301, to]);
    }
    expect((await new ConsoleVisitor(world).open("/console/")).heading).toBe("Sign in to the console");
  });
});
