import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ConsoleVisitor, start } from "../../support/console-visitor.ts";
import { NOW, World } from "../../support/world.ts";

describe("sites", () => {
  it("a site is created and opened, and its name is escaped", async () => {
    const { visitor } = await start("main");
    const name = `<script>alert("1")</script> & 'co'`;
    const page = await visitor.press(await visitor.open("/console"), "Create site", { Name: name });
    expect(page.html).toContain(
      '<h1 id="top" tabindex="-1">&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;co&#39;</h1>',
    );
    expect(page.html).not.toContain("<script>alert");
    expect(page.notices).toEqual(["The site was created."]);
    const sessions = await visitor.open(page.link("Sessions"));
    expect(sessions.html).toContain("<title>Sessions · &lt;script&gt;");
  });

  it("a cut-off address of a site leads to the list of sites", async () => {
    const { visitor } = await start("main");
    expect((await visitor.open("/console/sites")).path).toBe("/console");
  });

  it("a new site needs a visible name: the error is above the form and at the field, and the text stays", async () => {
    const { visitor } = await start("main");
    const before = await env.DB.prepare("SELECT max(id) AS last FROM sites").first("last");
    const name = "Shop\n";
    const page = await visitor.press(await visitor.open("/console"), "Create site", { Name: name });
    expect([page.status, page.notices, page.value("Name")]).toEqual([400, ["Nothing was changed."], "Shop\r\n"]);
    expect(page.html).toMatch(/<input [^>]*aria-invalid="true" aria-describedby="name-error" autofocus/);
    expect(page.error("Name")).toContain("Must be a string of 1 to 100 characters, at least one of them visible");
    expect(page.html.indexOf('id="name-error"')).toBeLessThan(page.html.indexOf("<table"));
    expect(await env.DB.prepare("SELECT max(id) AS last FROM sites").first("last")).toBe(before);
  });

  it("a site with an invisible name from an older version has a link", async () => {
    const { visitor, world } = await start("main");
    await env.DB.prepare("UPDATE sites SET name = ? WHERE id = ?").bind(" \u200b ", world.siteId).run();
    const cursor = world.siteId - 1;
    expect((await visitor.open(`/console?cursor=${cursor}`)).link(`(${world.siteId})`)).toBe(
      `/console/sites/${world.siteId}`,
    );
  });

  it("the overview of a site counts sessions of the reader's day and week, from Monday, by status", async () => {
    const { world, site } = await start("main");
    // Counting expects ids in the order of time, and other tests have left sessions of a later time.
    await env.DB.batch(["messages", "participants", "sessions"].map((table) => env.DB.prepare(`DELETE FROM ${table}`)));
    // 2027-01-15 is a Friday. The reader's time zone is UTC here.
    const at = async (now: number, sender_type: number) => {
      world.clock.now = now;
      await world.chatId({ sender_type });
    };
    const monday = Date.UTC(2027, 0, 11) / 1000;
    await at(monday - 1, 1);
    await at(monday, 1);
    await at(monday + 86_400, 2);
    await at(Date.UTC(2027, 0, 15) / 1000 - 1, 2);
    await at(Date.UTC(2027, 0, 15) / 1000, 1);
    await at(NOW, 2);
    await at(NOW, 2);
    world.clock.now = NOW;
    const signedIn = await ConsoleVisitor.signedIn(world);
    const page = await signedIn.page(site);
    const tiles = [...page.matchAll(/<p class="total">([^<]*)<\/p><dl>.*?<dd>(\d+)<\/dd>.*?<dd>(\d+)<\/dd>/g)];
    expect(tiles.map(([, ...numbers]) => numbers)).toEqual([
      ["3", "1", "2"],
      ["6", "2", "4"],
    ]);
  });
});

describe("apps", () => {
  it("an issued app gets a secret that signs, and the secret is shown only on its own page", async () => {
    const { world, visitor, site } = await start("main");
    const page = await visitor.press(await visitor.open(`${site}/apps`), "Issue app", { Name: "Shop" });
    expect([page.status, page.heading]).toEqual([200, "The app was issued"]);
    const [appid, secret] = [page.code("appid"), page.code("secret")];
    expect([appid, secret]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
    Object.assign(world, { appid, secret });
    expect((await world.create()).status).toBe(200);
    for (const path of [site, `${site}/apps`, `${site}/apps/${appid}`, `${site}/audit`]) {
      expect(await visitor.page(path)).not.toContain(secret);
    }
  });

  it("an imported app with a taken appid is refused, and no secret comes back in a form", async () => {
    const { visitor, site } = await start("main");
    const appid = crypto.randomUUID();
    const input = { Name: "Moved", appid, Secret: "brought-along-secret" };
    const form = () => visitor.open(`${site}/apps`);
    expect((await visitor.press(await form(), "Issue app", input)).code("secret")).toBe("brought-along-secret");
    const pageAgain = await visitor.press(await form(), "Issue app", { ...input, Secret: "another-secret-of-mine" });
    expect([pageAgain.status, pageAgain.error("appid")]).toEqual([400, "This appid is taken."]);
    expect(pageAgain.html).not.toContain("another-secret-of-mine");
    const bad = await visitor.press(await form(), "Issue app", { Name: " ", appid: "a b", Secret: "short" });
    expect(["Name", "appid", "Secret"].map((label) => bad.error(label))).toEqual([
      expect.stringContaining("at least one of them visible"),
      "Must be 1 to 64 of A-Z a-z 0-9 _ -",
      "Must be 8 to 256 printable ASCII characters",
    ]);
    expect(bad.html.match(/<details [^>]*open|<details open/g)).toHaveLength(2);
    expect(bad.html).not.toContain("short");
    expect([bad.value("Name"), bad.value("appid"), bad.value("Secret")]).toEqual([" ", "a b", ""]);
  });

  it("two pages that rotate an app at the same time rotate it once, and the secret in use stays valid", async () => {
    const { world, visitor, site } = await start("main");
    const path = `${site}/apps/${world.appid}`;
    const [one, two] = [await visitor.open(path), await visitor.open(path)];
    const next = (await visitor.press(one, "Rotate", { Overlap: "3600" })).code("secret");
    for (const overlap of ["3600", "0"]) {
      const pageAgain = await visitor.press(two, "Rotate", { Overlap: overlap });
      expect([pageAgain.path.split("?")[0], pageAgain.notices]).toEqual([
        path,
        ["The secret was rotated since this form was shown. Nothing was changed now."],
      ]);
      expect(pageAgain.html).not.toContain('id="secret"');
    }
    for (const secret of [world.secret, next]) {
      world.secret = secret;
      expect((await world.create()).status).toBe(200);
    }
  });

  it("an app is rotated during an overlap only after a page that says which secret stops at once", async () => {
    const { world, visitor, site } = await start("main");
    const path = `${site}/apps/${world.appid}`;
    const first = (await visitor.press(await visitor.open(path), "Rotate", { Overlap: "86400" })).code("secret");
    const app = await visitor.open(path);
    expect(app.text).toContain("An overlap is running: the old secret works until 16 Jan 2027, 08:00.");
    const before = await world.operated();
    const withoutChoice = await visitor.press(app, "Rotate", { Overlap: "3600" });
    expect([withoutChoice.status, withoutChoice.error("Which secret stops")]).toEqual([
      400,
      "Choose which secret ends.",
    ]);
    // The form itself never sends these values: Number() would read an empty field as 0, which means no overlap.
    for (const overlap_seconds of ["", "604801"]) {
      const query = new URLSearchParams({ overlap_seconds });
      expect((await visitor.get(`${path}/rotate?${query}`)).status).toBe(303);
      const answer = await visitor.post(`${path}/rotate`, { overlap_seconds });
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('"overlap_seconds-error"')]);
    }
    expect((await visitor.open(`${path}/rotate?overlap_seconds=3600`)).path).toBe(path);
    const askPage = await visitor.press(app, "Rotate", { Overlap: "3600", "Which secret stops": "previous" });
    expect([askPage.path, askPage.heading]).toEqual([
      `${path}/rotate?overlap_seconds=3600&ends=previous`,
      "Rotate the secret?",
    ]);
    expect(askPage.text).toContain(
      "The old secret Stops at once. Without this rotation it works until 16 Jan 2027, 08:00.",
    );
    expect(askPage.text).toContain("The secret in use Works until 15 Jan 2027, 09:00.");
    expect(await world.operated()).toEqual(before);
    expect((await world.create()).status).toBe(200);
    const next = (await visitor.press(askPage, "Rotate now")).code("secret");
    const statuses = [];
    for (const secret of [world.secret, first, next]) {
      world.secret = secret;
      statuses.push((await world.create()).status);
    }
    expect(statuses).toEqual([401, 200, 200]);
  });

  it("a secret that nobody received is replaced, and the previous secret works as long as before", async () => {
    const { world, visitor, site } = await start("main");
    const path = `${site}/apps/${world.appid}`;
    const lostSecret = (await visitor.press(await visitor.open(path), "Rotate", { Overlap: "86400" })).code("secret");
    const app = await visitor.open(path);
    const none = await visitor.press(app, "Rotate", { Overlap: "0", "Which secret stops": "current" });
    expect([none.status, none.text.includes("Without an overlap both stop")]).toEqual([400, true]);
    const askPage = await visitor.press(app, "Rotate", { Overlap: "3600", "Which secret stops": "current" });
    expect(askPage.text).toContain("The old secret Works until 16 Jan 2027, 08:00, as before.");
    expect(askPage.text).toContain("The secret made last, which nobody received Stops at once.");
    const next = await visitor.press(askPage, "Rotate now");
    expect([next.heading, next.text.includes("16 Jan 2027, 08:00")]).toEqual(["The secret was rotated", true]);
    const statuses = [];
    for (const secret of [world.secret, lostSecret, next.code("secret")]) {
      world.secret = secret;
      statuses.push((await world.create()).status);
    }
    expect(statuses).toEqual([200, 401, 200]);
  });

  it("a secret rotation keeps the secret in use when the overlap has ended since the form was shown", async () => {
    const { world, visitor, site } = await start("main");
    const path = `${site}/apps/${world.appid}`;
    await visitor.submit(await visitor.open(path), "Rotate", { Overlap: "86400" });
    const app = await visitor.open(path);
    const askPage = await visitor.press(app, "Rotate", { Overlap: "3600", "Which secret stops": "current" });
    await world.admin("POST", `/admin/apps/${world.appid}/end-overlap`);
    const before = await world.operated();
    const late = await visitor.press(askPage, "Rotate now");
    expect(late.notices).toEqual(["The overlap is over by now, so the secret in use goes on. Nothing was changed."]);
    expect(await world.operated()).toEqual(before);
  });

  it("ending a secret's overlap does nothing when another rotation came after its page was shown", async () => {
    const { world, visitor, site } = await start("main");
    const path = `${site}/apps/${world.appid}`;
    await visitor.submit(await visitor.open(path), "Rotate", { Overlap: "86400" });
    const askPage = await visitor.open(`${path}/end-overlap`);
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { ends: "previous" });
    const before = await world.operated();
    expect((await visitor.press(askPage, "The old secret stops now")).notices).toEqual([
      "The secret was rotated since this form was shown. Nothing was changed now.",
    ]);
    expect(await world.operated()).toEqual(before);
  });

  it("an app is rotated without an overlap only after a page that says that the secret in use stops at once", async () => {
    const { world, visitor, site } = await start("main");
    const path = `${site}/apps/${world.appid}`;
    const askPage = await visitor.press(await visitor.open(path), "Rotate", { Overlap: "0" });
    expect(askPage.text).toContain("The secret in use Stops at once.");
    expect(askPage.text).not.toContain("The old secret");
    expect((await world.create()).status).toBe(200);
    expect(askPage.link("Cancel")).toBe(path);
    const rotatedPage = await visitor.press(askPage, "Rotate now");
    expect(rotatedPage.heading).toBe("The secret was rotated");
    const next = rotatedPage.code("secret");
    expect((await world.create()).status).toBe(401);
    world.secret = next;
    expect((await world.create()).status).toBe(200);
  });

  it("a secret rotation must be confirmed again when another rotation came first", async () => {
    const { world, visitor, site } = await start("main");
    const path = `${site}/apps/${world.appid}`;
    const askPage = await visitor.press(await visitor.open(path), "Rotate", { Overlap: "0" });
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 60 });
    const before = await world.operated();
    expect((await visitor.press(askPage, "Rotate now")).notices).toEqual([
      "The secret was rotated since this form was shown. Nothing was changed now.",
    ]);
    expect(await world.operated()).toEqual(before);
  });

  it("an app is revoked only by the form of a page that asks for confirmation", async () => {
    const { world, visitor, site } = await start("main");
    const path = `${site}/apps/${world.appid}`;
    const app = await visitor.open(path);
    const askPage = await visitor.open(app.link("Revoke this app…"));
    expect((await world.create()).status).toBe(200);
    const page = await visitor.press(askPage, "Revoke for good");
    expect([page.path.split("?")[0], page.notices]).toEqual([path, ["The app was revoked."]]);
    // A revoked app needs no confirmation.
    expect((await visitor.open(`${path}/revoke`)).path).toBe(path);
    expect((await world.create()).status).toBe(401);
    expect(page.text).toContain("Revoked on");
    expect(page.has("Rotate")).toBe(false);
    const late = await visitor.press(app, "Rotate", { Overlap: "0" });
    expect(late.notices).toEqual(["The app is revoked."]);
  });

  it("the pages of an app of another site are 404", async () => {
    const { world, visitor, site } = await start("main");
    const other = await World.create();
    const path = `/console/sites/${other.siteId}/apps/${world.appid}`;
    const token = (await visitor.open(`${site}/agents`)).value("form");
    const statuses = await Promise.all([
      visitor.get(path),
      visitor.get(`${path}/rotate?overlap_seconds=0`),
      visitor.get(`${path}/secret`),
      visitor.post(`${path}/revoke`, { form: token }),
      visitor.post(`${path}/rotate`, { form: token, overlap_seconds: "0" }),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect((await world.create()).status).toBe(200);
  });
});

describe("agents", () => {
  it("an agent is added, renamed, disabled and enabled in the console", async () => {
    const { world, visitor, site } = await start("main");
    const path = `${site}/agents`;
    const addedPage = await visitor.press(await visitor.open(path), "Add agent", { ID: "10", Name: "Ana, née Souza" });
    expect(addedPage.notices).toEqual(["The agent was added."]);
    expect(addedPage.path).toMatch(/#agent-10$/);
    const form = await visitor.open(addedPage.link("Rename Ana, née Souza"));
    expect(form.value("Name")).toBe("Ana, née Souza");
    const renamedPage = await visitor.press(form, "Rename", { Name: "Ana Costa" });
    expect([renamedPage.path.split("?")[0], renamedPage.notices]).toEqual([path, ["The agent was renamed."]]);
    const disabledPage = await visitor.press(renamedPage, "Disable Ana Costa");
    expect(disabledPage.notices).toEqual(["The agent was disabled."]);
    expect((await world.create({ kefu_id: [10], fzr_uid: 10 })).status).toBe(400);
    expect((await visitor.press(disabledPage, "Enable Ana Costa")).notices).toEqual(["The agent was enabled."]);
    expect((await world.create({ kefu_id: [10], fzr_uid: 10 })).status).toBe(200);
    const { agents } = await world.operated();
    expect(agents.at(-1)).toEqual({ site_id: world.siteId, id: 10, name: "Ana Costa", status: "normal", revision: 3 });
  });

  it("an agent with a wrong id or name is not added, and the field says why", async () => {
    const { world, visitor, site } = await start("main");
    const before = await world.operated();
    const form = await visitor.open(`${site}/agents`);
    for (const [fill, label, message] of [
      [{ ID: "", Name: "Ana" }, "ID", "Must be an integer from 1 to 9007199254740991"],
      [{ ID: "1", Name: "Ana" }, "ID", "The site has an agent of this id."],
      [{ ID: "10", Name: "Ben\u202e" }, "Name", "Must be a string of 1 to 100 characters"],
    ] as const) {
      const page = await visitor.press(form, "Add agent", fill);
      expect([page.status, page.value("ID"), page.value("Name")]).toEqual([400, fill.ID, fill.Name]);
      expect(page.error(label)).toContain(message);
      expect(page.html.indexOf("-error")).toBeLessThan(page.html.indexOf("<table"));
    }
    expect(await world.operated()).toEqual(before);
  });

  it("a pasted list adds all its agents or none, and every bad line is named", async () => {
    const { world, visitor, site } = await start("main");
    const before = await world.operated();
    const paste = async (list: string) =>
      visitor.press(await visitor.open(`${site}/agents`), "Add all", { "One agent a line: id, name": list });
    const list = "20, Ana\r\nten, Ben\r\n1, Taken\r\n20, Twice\r\n\r\n21\r\n22, \u3000\r\n23;Cem;;team";
    const page = await paste(list);
    expect(page.status).toBe(400);
    const lines = [...page.html.matchAll(/<li>Line (\d) <code>([^<]*)<\/code>: ([^<]*)<\/li>/g)];
    expect(lines.map(([, ...texts]) => texts)).toEqual([
      ["2", "ten, Ben", "The id must be a whole number from 1 to 9007199254740991."],
      ["3", "1, Taken", "The site has an agent of this id."],
      ["4", "20, Twice", "The id stands on an earlier line too."],
      ["6", "21", "Is not “id, name”."],
      [
        "7",
        "22,",
        "The name must have 1 to 100 characters, some visible, and no control character or direction override.",
      ],
      [
        "8",
        "23;Cem;;team",
        "Has more than an id and a name. A name that holds a comma, a semicolon or a tab must stand in quotes.",
      ],
    ]);
    expect(page.html).toContain('id="lines-error">Lines that cannot be used: 6.</p>');
    expect(page.text).toContain("Right lines: 1. Wrong lines: 6. No agent was added yet.");
    expect(page.value("The wrong lines")).toBe("ten, Ben\r\n1, Taken\r\n20, Twice\r\n21\r\n22,\r\n23;Cem;;team");
    expect(page.value("They are added too")).toBe("20, Ana");
    expect(await world.operated()).toEqual(before);
    expect((await paste("20, Ana\r\n1, Taken")).status).toBe(400);
    expect((await paste("\n \n")).html).toContain('id="lines-error">Enter at least one line.</p>');
    expect(await world.operated()).toEqual(before);
    expect((await paste("20, Ana\r\n21, Ben")).notices).toEqual(["2 agents were added."]);
    const { agents, audit } = await world.operated();
    expect(agents.slice(-2).map((agent) => agent.name)).toEqual(["Ana", "Ben"]);
    const details = JSON.stringify({ ids: [20, 21], names: ["Ana", "Ben"] });
    expect(audit.slice(before.audit.length)).toMatchObject([{ action: "agent.added", subject: "", details }]);
  });

  it("a long pasted list names its first bad lines and the number of the others", async () => {
    const { visitor, site } = await start("main");
    const form = await visitor.open(`${site}/agents`);
    const page = await visitor.press(form, "Add all", { "One agent a line: id, name": "x\n".repeat(60) });
    expect(page.html.match(/<li>Line /g)).toHaveLength(50);
    expect(page.text).toContain("And 10 more.");
    const long = await visitor.press(form, "Add all", { "One agent a line: id, name": "y".repeat(250_000) });
    expect(long.text).toContain("The list is too long to come back whole: its end is cut off here.");
    expect(long.html.length).toBeLessThan(300_000);
  });

  it("the pages of an unknown agent are 404", async () => {
    const { visitor, site } = await start("main");
    const form = (await visitor.open(`${site}/agents`)).value("form");
    expect((await visitor.get(`${site}/agents/99`)).status).toBe(404);
    expect((await visitor.post(`${site}/agents/99`, { form, name: "Nobody" })).status).toBe(404);
    expect((await visitor.post(`${site}/agents/1`, { form, status: "asleep" })).status).toBe(400);
  });
});
