import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import { ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { NOW, World } from "../../../support/world.ts";

/** A repeated form waits up to two seconds for the first try, in steps. Until the test ends these steps take no time. */
function withoutPauses(): void {
  const real = globalThis.setTimeout;
  const spy = vi.spyOn(globalThis, "setTimeout");
  spy.mockImplementation(((run: () => void, ms = 0) => real(run, ms === 200 ? 0 : ms)) as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
}

const NOT_KNOWN =
  "This form was sent before, and it is not known what came of it. It is never done twice; look here whether it was done.";

describe("a form that is sent again", () => {
  it("a repeated form issues one app and redirects to the same place", async () => {
    const { world, visitor, site } = await start("main");
    const before = await world.operated();
    const form = await visitor.open(`${site}/apps`);
    const first = await visitor.submit(form, "Issue app", { Name: "Shop" });
    expect(first.status).toBe(303);
    for (let i = 0; i < 2; i++) {
      const pageAgain = await visitor.submit(form, "Issue app", { Name: "Shop" });
      expect([pageAgain.status, pageAgain.headers.get("location")]).toEqual([303, first.headers.get("location")]);
    }
    const { apps, audit } = await world.operated();
    expect(apps).toHaveLength(before.apps.length + 1);
    expect(audit.slice(before.audit.length).map(({ action }) => action)).toEqual(["app.routed", "app.issued"]);
  });

  it("a form that is sent five times together through several isolates does its work once", async () => {
    const { world, visitor, site } = await start("main");
    const form = await visitor.open(`${site}/apps`);
    const others = [1, 2, 3, 4].map(() => visitor.through(world.anotherIsolate()));
    const answers = await Promise.all(
      [visitor, ...others].map((each) => each.submit(form, "Issue app", { Name: "Shop" })),
    );
    const locations = new Set(answers.map((answer) => answer.headers.get("location")));
    expect([answers.map(({ status }) => status), locations.size]).toEqual([[303, 303, 303, 303, 303], 1]);
    expect((await world.operated()).apps).toHaveLength(2);
  });

  it("an edited form counts as another form", async () => {
    const { world, visitor, site } = await start("main");
    const form = await visitor.open(`${site}/agents`);
    await visitor.submit(form, "Add agent", { ID: "10", Name: "Ana" });
    expect((await visitor.press(form, "Add agent", { ID: "11", Name: "Ben" })).notices).toEqual([
      "The agent was added.",
    ]);
    expect((await world.operated()).agents.map(({ id }) => id)).toEqual([1, 2, 3, 4, 10, 11]);
  });

  it("a form may be sent again after it was refused", async () => {
    const { world, visitor, site } = await start("main");
    const form = await visitor.open(`${site}/agents`);
    const fill = { ID: "10", Name: "Ana" };
    await world.admin("POST", `/admin/sites/${world.siteId}/agents`, { id: 10, name: "Earlier" });
    expect((await visitor.press(form, "Add agent", fill)).text).toContain("The site has an agent of this id.");
    await env.DB.prepare("DELETE FROM agents WHERE site_id = ? AND id = 10").bind(world.siteId).run();
    expect((await visitor.press(form, "Add agent", fill)).notices).toEqual(["The agent was added."]);
  });

  it.each([
    ["a home is closed", closedHomeVars("main"), "A home is closed, so this cannot be done now"],
    ["the home of its site has no database", { HOME_APAC: undefined }, "The home apac has no database"],
  ])(
    "a form that changed nothing because %s does its work when it is sent again later",
    async (_, bindings, heading) => {
      const { world, visitor, site } = await start();
      const form = await visitor.open(`${site}/apps`);
      const before = await world.operated();
      const closed = visitor.through(world.anotherIsolate(bindings));
      const refused = await closed.press(form, "Issue app", { Name: "Shop" });
      expect([refused.status, refused.heading]).toEqual([503, heading]);
      expect(await world.operated()).toEqual(before);
      expect((await visitor.press(form, "Issue app", { Name: "Shop" })).heading).toBe("The app was issued");
      expect((await world.operated()).apps).toHaveLength(before.apps.length + 1);
    },
  );

  it("a rotation that the master key did not allow does its work when it is sent again with the right key", async () => {
    const { world, visitor, app } = await start("main");
    const form = await visitor.open(app);
    const wrongKey = visitor.through(world.anotherIsolate({ MASTER_KEY: btoa("another master key of 32 bytes!!") }));
    const before = await world.operated();
    expect((await wrongKey.press(form, "Rotate", { Overlap: "3600" })).status).toBe(500);
    expect(await world.operated()).toEqual(before);
    expect((await visitor.press(form, "Rotate", { Overlap: "3600" })).heading).toBe("The secret was rotated");
  });

  it("a repeated form creates one site, and does not enable an agent that was disabled since", async () => {
    const { world, visitor, site } = await start("main");
    const sites = await visitor.open("/console");
    const madePage = async () => (await visitor.press(sites, "Create site", { Name: `Twice ${world.siteId}` })).path;
    expect(await madePage()).toBe(await madePage());
    const agents = await visitor.open(`${site}/agents`);
    await visitor.submit(agents, "Enable Agent 4");
    await world.admin("PATCH", `/admin/sites/${world.siteId}/agents/4`, { status: "disabled" });
    await visitor.submit(agents, "Enable Agent 4");
    expect((await world.operated()).agents.at(-1)).toMatchObject({ id: 4, status: "disabled" });
  });

  it.each(["before", "after"] as const)(
    "a repeated form says that its result is unknown when the first try failed %s its work",
    async (fault) => {
      const { world, visitor, site } = await start("main");
      const form = await visitor.open(`${site}/apps`);
      // The first batch claims the form, and the second makes the route. Every try to issue the app comes later.
      const faults = new Faults(({ name, nth }) => (name === "DB.batch" && nth >= 2 ? fault : undefined));
      const brokenVisitor = visitor.through(world.anotherIsolate({ DB: faultyD1(env.DB, faults) }));
      const failedPage = await brokenVisitor.press(form, "Issue app", { Name: "Shop" });
      expect([failedPage.status, failedPage.heading]).toEqual([503, "The app is not finished"]);
      const { apps } = await world.operated();
      expect(apps).toHaveLength(fault === "after" ? 2 : 1);
      withoutPauses();
      const pageAgain = await visitor.press(form, "Issue app", { Name: "Shop" });
      expect([pageAgain.path.split("?")[0], pageAgain.notices]).toEqual([`${site}/apps`, [NOT_KNOWN]]);
      expect((await world.operated()).apps).toEqual(apps);
    },
  );

  it("a form does nothing when the console cannot know whether the form was sent before", async () => {
    const { world, visitor, site } = await start("main");
    const form = await visitor.open(`${site}/apps`);
    const faults = new Faults(({ name, nth }) => (name === "DB.batch" && nth === 0 ? "after" : undefined));
    const brokenVisitor = visitor.through(world.anotherIsolate({ DB: faultyD1(env.DB, faults) }));
    expect((await brokenVisitor.press(form, "Issue app", { Name: "Shop" })).status).toBe(503);
    withoutPauses();
    expect((await visitor.press(form, "Issue app", { Name: "Shop" })).notices).toEqual([NOT_KNOWN]);
    expect((await world.operated()).apps).toHaveLength(1);
  });

  it("a form from another console session is shown again filled in, and does nothing until it is sent there", async () => {
    const { world, visitor, site } = await start("main");
    const form = await visitor.open(`${site}/agents`);
    const list = { "One agent a line: id, name": "20, Ana\r\n21, Ben" };
    const other = await ConsoleVisitor.signedIn(world);
    const before = await world.operated();
    const draft = await other.press(form, "Add all", list);
    expect([draft.status, draft.notices]).toEqual([200, ["Not sent yet: look the form over and send it."]]);
    expect(draft.value("One agent a line: id, name")).toBe("20, Ana\r\n21, Ben");
    expect(await world.operated()).toEqual(before);
    expect((await other.press(draft, "Add all")).notices).toEqual(["2 agents were added."]);
    expect((await world.operated()).agents).toHaveLength(6);
  });
});

describe("a new secret", () => {
  async function startRotated() {
    const { world, visitor, site } = await start("main");
    const path = `${site}/apps/${world.appid}`;
    const page = await visitor.press(await visitor.open(path), "Rotate", { Overlap: "3600" });
    const secret = page.code("secret");
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    return { world, visitor, path, page, secret };
  }

  it("a new secret stays on its page for ten minutes: after a reload, in the other language, and after going back", async () => {
    const { world, visitor, path, page, secret } = await startRotated();
    expect(page.html).toMatch(new RegExp(`data-until="${NOW + 600}"[^>]*>\\(00:10:00\\)`));
    expect(page.headers.get("refresh")).toBe("600");
    expect((await visitor.open(page.path)).html).toContain(secret);
    const chinese = await visitor.press(page, "中文");
    expect([chinese.path, chinese.heading]).toEqual([page.path, "密钥已轮换"]);
    expect(chinese.html).toContain(secret);
    await visitor.submit(chinese, "English");
    expect((await visitor.open(page.link("I have saved it"))).path).toBe(path);
    world.clock.now = NOW + 599;
    expect((await visitor.open(page.path)).html).toContain(secret);
    world.clock.now = NOW + 600;
    const gonePage = await visitor.open(page.path);
    expect([gonePage.status, gonePage.heading]).toEqual([410, "This secret is no longer shown"]);
    expect(gonePage.html).not.toContain(secret);
    expect(gonePage.link("Rotate the secret")).toBe(`${path}#rotate`);
  });

  it("a new secret is not shown to another session, or to the same person after signing out", async () => {
    const { world, visitor, page, secret } = await startRotated();
    const other = await ConsoleVisitor.signedIn(world);
    expect((await other.open(page.path)).status).toBe(410);
    await visitor.submit(page, "Sign out");
    const askPage = await visitor.open(page.path);
    expect(askPage.heading).toBe("Sign in to the console");
    const back = await visitor.press(askPage, "Sign in", { Token: env.ADMIN_TOKEN });
    expect([back.path, back.status]).toEqual([page.path, 410]);
    expect(back.html).not.toContain(secret);
  });

  it("a new secret is not shown on another app's page, or after the app is rotated again or revoked", async () => {
    const { world, visitor, path, page } = await startRotated();
    const other = await World.create();
    const elsewhere = page.path.replace(path, `/console/sites/${other.siteId}/apps/${other.appid}`);
    expect((await visitor.open(elsewhere)).status).toBe(410);
    const forged = page.path.replace(/\.(.)/, (_, first) => (first === "A" ? ".B" : ".A"));
    expect((await visitor.open(forged)).status).toBe(410);
    const [, query] = page.path.split("=");
    expect((await visitor.open(page.path.replace(/=\d+/, `=${NOW + 10_000}`))).status).toBe(410);
    expect(query).toMatch(/^\d+\.[\w-]{43}$/);
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { ends: "current" });
    expect((await visitor.open(page.path)).status).toBe(410);
    const next = await visitor.press(await visitor.open(path), "Rotate", { "Which secret stops": "previous" });
    const shownPage = await visitor.press(next, "Rotate now");
    expect(shownPage.status).toBe(200);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    expect((await visitor.open(shownPage.path)).status).toBe(410);
  });

  it("a new secret is in no address, no cookie and no row of the console", async () => {
    const { visitor, page, secret } = await startRotated();
    const forms = await env.DB.prepare("SELECT * FROM console_forms").all();
    const sessions = await env.DB.prepare("SELECT * FROM console_sessions").all();
    const texts = [page.path, ...visitor.cookies.values(), JSON.stringify([forms.results, sessions.results])];
    for (const text of texts) expect(text).not.toContain(secret);
  });
});

describe("a finished change", () => {
  it("a finished change is announced on the page that it redirects to, but not by a forged link", async () => {
    const { world, visitor, site } = await start("main");
    const app = `${site}/apps/${world.appid}`;
    const path = `${site}/agents`;
    const disabledPage = await visitor.press(await visitor.open(path), "Disable Agent 1");
    expect(disabledPage.notices).toEqual(["The agent was disabled."]);
    const forgedPaths = ["revoked", "toString", "revoked.1800000600.x"].map((done) => `${app}?done=${done}`);
    for (const page of [...forgedPaths, "/console?done=site"]) {
      expect((await visitor.open(page)).notices).toEqual([]);
    }
    const query = disabledPage.path.split("?")[1];
    expect((await visitor.open(`${site}?${query}`)).notices).toEqual([]);
    expect((await (await ConsoleVisitor.signedIn(world)).open(disabledPage.path)).notices).toEqual([]);
    world.clock.now = NOW + 600;
    expect((await visitor.open(disabledPage.path)).notices).toEqual([]);
  });

  it("a change in a list leads back to the page of the list with the form", async () => {
    const { visitor, site } = await start("main");
    const agents = Array.from({ length: 60 }, (_, i) => `${100 + i}, Person ${i}`).join("\n");
    const list = await visitor.press(await visitor.open(`${site}/agents`), "Add all", {
      "One agent a line: id, name": agents,
    });
    const second = await visitor.open(list.link("Next page"));
    const disabledPage = await visitor.press(second, "Disable Person 59");
    expect(disabledPage.text).toContain("Person 59 159 Disabled");
    // The link also names the row, so that the page scrolls to it and marks it.
    expect(disabledPage.path).toMatch(/#agent-159$/);
    expect(disabledPage.html).toContain('<tr id="agent-159">');
    expect(disabledPage.notices).toEqual(["The agent was disabled."]);
    expect((await visitor.open(disabledPage.link("Previous page"))).text).toContain("Person 1 101");
    const rename = await visitor.open(disabledPage.link("Rename Person 58"));
    expect(rename.link("Cancel")).toBe(second.path);
    const renamedPage = await visitor.press(rename, "Rename", { Name: "Renamed" });
    expect(renamedPage.text).toContain("Renamed 158 Normal");
    // The console ignores a return address that it did not make.
    const answer = await visitor.post(`${site}/agents/1`, {
      form: list.value("form"),
      status: "disabled",
      back: "https://evil.example/",
    });
    expect(answer.headers.get("location")).toMatch(new RegExp(`^${site}/agents\\?done=`));
  });
});

describe("the language switch", () => {
  it("a change of language keeps the fields and errors of a refused form", async () => {
    const { world, visitor, site } = await start("main");
    const before = await world.operated();
    const cases: [string, string, Record<string, string>, string, string][] = [
      [`${site}/agents`, "Add agent", { ID: "1", Name: "Ana" }, "ID", "站点已有该 ID 的客服。"],
      [`${site}/agents`, "Add all", { "One agent a line: id, name": "1, A\r\nx" }, "有误的行", "有 2 行无法使用。"],
      [`${site}/agents/1`, "Rename", { Name: " " }, "名称", "至少有一个可见字符"],
      [`${site}/apps`, "Issue app", { Name: "N", appid: world.appid }, "appid", "该 appid 已被使用。"],
      [
        "/console",
        "Create site",
        { "First chat_id": "x", Name: "N", Home: "apac" },
        "首个 chat_id",
        "须为 1 到 1000000000000 的整数",
      ],
      [`${site}/settings`, "Rename", { Name: "x".repeat(101) }, "名称", "须为 1 到 100 个字符"],
      [`${site}/settings`, "Set the chat_id…", { "Next chat_id": "x" }, "下一个 chat_id", "须为 1 到 1000000000000"],
    ];
    for (const [path, button, fill, field, message] of cases) {
      const wrong = await visitor.press(await visitor.open(path), button, fill);
      expect([path, wrong.status, wrong.notices]).toEqual([path, 400, ["Nothing was changed."]]);
      const chinese = await visitor.press(wrong, "中文");
      expect(chinese.html).toContain('<html lang="zh-CN">');
      expect(chinese.text).toContain(message);
      const input = Object.values(fill)[0];
      expect([path, chinese.value(field)]).toEqual([path, field === "appid" ? world.appid : input]);
      visitor.cookies.set("__Host-language", "en");
    }
    expect(await world.operated()).toEqual(before);
  });
});
