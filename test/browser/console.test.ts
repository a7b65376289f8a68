/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect } from "vitest";
import { AgentSessionClient } from "../../src/client/client.ts";
import { prepare, sign } from "../../src/client/sign.ts";
import { eventually } from "../support/eventually.ts";
import { signIn } from "../support/open-browser.ts";
import { it } from "./it.ts";
import { newShop } from "./new-shop.ts";
import { SCRIPT_MODES } from "./script-modes.ts";
import { faultsOf, heading, press, secretOn, status, unfold } from "./steps.ts";

const openMenu = (page: Page, name: string) =>
  page.locator("details.menu > summary", { hasText: `Actions for ${name}` }).click();

const session = {
  customer: { id: "customer_001", name: "Mei Tanaka", ip: "127.0.0.1" },
  content: "Where is my parcel?",
  title: "Parcel",
  agentIds: [10411, 10427],
  responsibleAgentId: 10411,
};

describe.each(SCRIPT_MODES)("the console, %s", (_, javaScriptEnabled) => {
  it("an operator creates a site and an app, rotates the secret, disables an agent, revokes the app and signs out", async ({
    worker,
    signedIn,
  }) => {
    const page = await signedIn(worker, { javaScriptEnabled });
    const faults = faultsOf(page);

    await unfold(page, "Create a site");
    await page.getByLabel("Name").fill("Northwind Store");
    await press(page, "Create site");
    expect(await heading(page)).toBe("Northwind Store");

    await page.getByRole("link", { name: "Agents", exact: true }).click();
    await page.getByLabel("One agent a line: id, name").fill("10411, Amara Okafor\n10427, Jonas Lindqvist");
    await press(page, "Add all");
    expect(await status(page)).toBe("2 agents were added.");

    await page.getByRole("link", { name: "Apps", exact: true }).click();
    await page.getByLabel("Name").fill("Shop back end");
    await press(page, "Issue app");
    const appid = await page.locator("#appid").innerText();
    const secret = await secretOn(page);
    const client = new AgentSessionClient({ baseUrl: worker.url, appid, secret });
    const { chatId } = await client.createSession(session);

    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    await page.getByRole("link", { name: "Parcel" }).click();
    expect(await heading(page)).toBe(session.title);
    expect(await page.locator(".lead").innerText()).toContain(`Session ${chatId}`);
    expect(await page.locator(".messages .agent .said").innerText()).toBe("Where is my parcel?");
    expect(await page.locator("aside").innerText()).toContain("Jonas Lindqvist (10427)");

    await page.getByRole("link", { name: "Apps", exact: true }).click();
    await page.getByRole("link", { name: "Shop back end" }).click();
    await page.getByLabel("Overlap").selectOption("3600");
    await press(page, "Rotate");
    const next = await secretOn(page);
    expect(next).not.toBe(secret);
    expect(await page.locator("[data-until]").last().innerText()).toMatch(/^\((01:00:00|00:5\d:\d\d)\)$/);
    for (const key of [secret, next]) {
      const caller = new AgentSessionClient({ baseUrl: worker.url, appid, secret: key });
      await caller.addAgents({
        chatId: (await caller.createSession({ ...session, agentIds: [10411] })).chatId,
        agentIds: [10427],
      });
    }

    await page.getByRole("link", { name: "Agents", exact: true }).click();
    await openMenu(page, "Jonas Lindqvist");
    await press(page, "Disable Jonas Lindqvist");
    const refusal = await client.send("create_gd", {
      sbs: "1",
      sbs_mc: "A",
      ip: "127.0.0.1",
      content: "x",
      kefu_id: [10411, 10427],
      fzr_uid: 10411,
    });
    expect([refusal.status, refusal.envelope.msg]).toEqual([400, "参数错误"]);

    await page.getByRole("link", { name: "Apps", exact: true }).click();
    await page.getByRole("link", { name: "Shop back end" }).click();
    await page.getByRole("link", { name: "Revoke this app…" }).click();
    await press(page, "Revoke for good");
    expect(await status(page)).toBe("The app was revoked.");
    expect((await client.send("add_kf", { chat_id: chatId, kefu_ids: "10411" })).status).toBe(401);

    await page.getByRole("navigation", { name: "Site" }).getByRole("link", { name: "Audit log" }).click();
    const actions = page.locator("tbody td .pair > b");
    await eventually(async () =>
      expect(await actions.allInnerTexts()).toEqual([
        "App revoked",
        "Agent disabled",
        "Secret rotated",
        "App issued",
        "Appid kept for the site",
        "Agent added",
        "Site created",
        "Site begun",
      ]),
    );
    expect(await page.content()).not.toContain(secret);

    await press(page, "Sign out");
    expect(await heading(page)).toBe("Sign in to the console");
    await page.goto("/console/audit");
    expect(await heading(page)).toBe("Sign in to the console");
    expect(faults).toEqual([]);
  });
});

describe("the signature check in a browser", () => {
  it("the signature check names each cause of a refused signature, also line ends that the form changed", async ({
    worker,
    signedIn,
  }) => {
    const { app } = await newShop(worker);
    const page = await signedIn(worker);
    await page.goto("/console/signature-check");
    const fields = { sbs: "1", sbs_mc: "客户", ip: "127.0.0.1", content: "a", kefu_id: [10411], fzr_uid: 10411 };
    const { body, signature } = await prepare(app, fields);
    const pretty = JSON.stringify(JSON.parse(body), null, 2);
    const stale = await prepare(app, { ...fields, timestamp: 1_700_000_000 });
    const late = await prepare(app, { ...fields, timestamp: Date.now() });
    const unknown = await prepare({ ...app, appid: "nobody" }, fields);
    const reserialised = `{${Object.entries(JSON.parse(body))
      .map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`)
      .join(", ")}}`;
    const cases: [string, string, string][] = [
      [body, signature, "Sent now, the server accepts this request"],
      [body, await sign("wrong", body), "No secret of this app makes this signature"],
      [body, await sign(app.secret, `${body}\n`), "What was signed ends with a line end, LF"],
      [`${body}\n`, signature, "has no line end at its end, the pasted body does"],
      [pretty, await sign(app.secret, pretty), "the signature fits LF (\\n)"],
      [pretty, await sign(app.secret, pretty.replaceAll("\n", "\r\n")), "the signature fits CRLF (\\r\\n)"],
      [body, await sign(app.secret, reserialised), "a space after each comma and colon"],
      [body, Buffer.from(signature, "hex").toString("base64"), "It is base64. Send hex"],
      [body, `sha256=${signature}`, "without a prefix"],
      [stale.body, stale.signature, "300 s are allowed"],
      [late.body, late.signature, "It is in milliseconds"],
      [unknown.body, unknown.signature, "There is no app nobody here"],
    ];
    await page.getByLabel("Which call is it?").selectOption("create_gd");
    for (const [pastedBody, hash, text] of cases) {
      await page.getByLabel("Body, as it was sent").fill(pastedBody);
      await page.getByLabel("Signature (x-chat-signature)").fill(hash);
      await Promise.all([page.waitForNavigation(), press(page, "Check")]);
      expect((await page.locator("main").innerText()).replaceAll(/\s+/g, " ")).toContain(text);
      expect(await page.getByLabel("Body, as it was sent").inputValue()).toBe(pastedBody);
    }
    const client = new AgentSessionClient({ baseUrl: worker.url, ...app });
    expect((await client.send("create_gd", JSON.parse(body))).status).toBe(200);
    expect(worker.logs().join("\n")).not.toContain(signature);
  });

  it.for(SCRIPT_MODES)(
    "the signature check keeps the request and its verdict when the language changes, and checks on Enter, %s",
    async ([, javaScriptEnabled], { worker, signedIn }) => {
      const { app } = await newShop(worker);
      const page = await signedIn(worker, { javaScriptEnabled });
      await page.goto("/console/signature-check");
      const { body } = await prepare(app, { sbs: "1", content: "multiple\nlines" });
      const pretty = JSON.stringify(JSON.parse(body), null, 2);
      const readFields = async () => [
        await page.locator("#operation").inputValue(),
        await page.locator("#body").inputValue(),
        await page.locator("#signature").inputValue(),
      ];
      await Promise.all([page.waitForNavigation(), press(page, "中文")]);
      expect(await page.locator("html").getAttribute("lang")).toBe("zh-CN");
      await page.locator("#body").fill(pretty);
      await page.locator("#operation").selectOption("create_gd");
      await page.locator("#signature").fill(await sign(app.secret, pretty));
      await Promise.all([page.waitForNavigation(), page.locator("#signature").press("Enter")]);
      const verdict = await page.locator(".notice").innerText();
      expect(verdict).toContain("现在发送，服务器会返回 400 参数错误");
      const before = await readFields();
      await Promise.all([page.waitForNavigation(), press(page, "English")]);
      expect(await page.locator(".notice").innerText()).toContain("Sent now, the server answers 400 参数错误");
      expect([await readFields(), new URL(page.url()).search]).toEqual([before, "?draft=1"]);
    },
  );
});

describe("safety in a browser", () => {
  it("a message that is a script is shown as text and does not run", async ({ worker, signedIn }) => {
    const { site, createSession } = await newShop(worker);
    const page = await signedIn(worker);
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      return dialog.dismiss();
    });
    const content = `<script>alert("message")</script><img src=x onerror="alert('image')">`;
    const chatId = await createSession({ content, title: content });
    await page.goto(`${site}/sessions/${chatId}`);
    expect(await page.locator(".said").innerText()).toBe(content);
    await page.goto(`${site}/sessions`);
    expect(await page.locator("tbody th a").first().innerText()).toBe(content);
    expect(dialogs).toEqual([]);
    // The policy must stop an inline script that gets into a page.
    await page.evaluate(`const script = document.createElement("script");
      script.textContent = "document.title = 'ran'";
      document.body.append(script);`);
    expect(await page.title()).not.toBe("ran");
  });

  it("a form that another site sends to the console changes nothing", async ({ worker, signedIn }) => {
    const { siteId } = await newShop(worker);
    const page = await signedIn(worker);
    const target = `${worker.url}/console/sites/${siteId}/agents/10411`;
    await page.route("http://elsewhere.example/", (route) =>
      route.fulfill({
        contentType: "text/html",
        body: `<form method="post" action="${target}"><input name="status" value="disabled"><button>Win</button></form>`,
      }),
    );
    await page.goto("http://elsewhere.example/");
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url() === target),
      page.getByRole("button", { name: "Win" }).click(),
    ]);
    expect(answer.status()).toBe(403);
    expect(await heading(page)).toBe("This form came from elsewhere");
    const { items } = await worker.admin<{ items: { status: string }[] }>("GET", `/admin/sites/${siteId}/agents`);
    expect(items.map(({ status }) => status)).toEqual(["normal", "normal", "normal"]);
  });

  it("scripts cannot read the session cookie, and a copy of the cookie opens nothing after the sign-out", async ({
    worker,
    open,
  }) => {
    const startTime = Math.floor(Date.now() / 1000);
    const page = await open(worker);
    await signIn(page, worker.adminToken);
    // A script sees only the cookie of the time zone.
    expect(await page.evaluate("document.cookie")).toMatch(/^__Host-zone=[\w/+-]+$/);
    const [cookie] = (await page.context().cookies()).filter(({ name }) => name === "__Host-console");
    expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: "Lax", path: "/" });
    const lasts = (cookie?.expires ?? 0) - 43_200;
    expect([lasts >= startTime, lasts <= Date.now() / 1000 + 1]).toEqual([true, true]);
    const copy = await open(worker);
    await copy.context().addCookies([cookie as never]);
    await copy.goto("/console/audit");
    expect(await heading(copy)).toBe("Audit log");
    await press(page, "Sign out");
    for (const each of [page, copy]) {
      await each.context().addCookies([cookie as never]);
      await each.goto("/console/audit");
      expect(await heading(each)).toBe("Sign in to the console");
    }
  });

  it("an operator stays signed in after a click on a link in a mail or on another site", async ({
    worker,
    signedIn,
  }) => {
    const { site } = await newShop(worker);
    const page = await signedIn(worker);
    await page.route("http://elsewhere.example/", (route) =>
      route.fulfill({ contentType: "text/html", body: `<a href="${worker.url}${site}/agents">Agents</a>` }),
    );
    await page.goto("http://elsewhere.example/");
    await page.getByRole("link", { name: "Agents" }).click();
    expect(await heading(page)).toBe("Agents");
  });

  it("a sign-in over plain http lasts at localhost, and at another host the page says why it cannot last", async ({
    worker,
    open,
  }) => {
    const { port } = new URL(worker.url);
    const signInAt = async (host: string) => {
      const page = await open({ url: `http://${host}:${port}` });
      await page.goto("/console/sign-in");
      await page.getByLabel("Token", { exact: true }).fill(worker.adminToken);
      await press(page, "Sign in");
      return page;
    };
    await (await signInAt("desk.localhost")).waitForURL("**/console");
    const page = await signInAt("desk.test");
    expect(await page.locator("#token-error").innerText()).toBe("Nobody can stay signed in here");
    expect(await page.getByRole("alert").innerText()).toContain(`http://localhost:${port}/console`);
  });

  it("a wrong token is refused, and the sign-in page stays", async ({ worker, open }) => {
    const page = await open(worker);
    await page.goto("/console/audit");
    await page.getByLabel("Token", { exact: true }).fill("not-the-token");
    await press(page, "Sign in");
    expect(await page.locator(".error").innerText()).toBe("This token opens nothing here.");
    await page.getByLabel("Token", { exact: true }).fill(worker.adminToken);
    await press(page, "Sign in");
    expect(await heading(page)).toBe("Audit log");
  });
});

describe.each(SCRIPT_MODES)("input and secrets, %s", (_, javaScriptEnabled) => {
  it("a secret that was just shown is still there after a reload, in another language, and after a click and back", async ({
    worker,
    signedIn,
  }) => {
    const { site, siteId } = await newShop(worker);
    const page = await signedIn(worker, { javaScriptEnabled });
    await page.goto(`${site}/apps`);
    await unfold(page, "Issue an app");
    await page.getByLabel("Name").fill("Shown");
    await press(page, "Issue app");
    const secret = await secretOn(page);
    await page.reload();
    expect(await secretOn(page)).toBe(secret);
    await press(page, "中文");
    expect([await heading(page), await secretOn(page)]).toEqual(["应用已签发", secret]);
    await press(page, "English");
    await page.getByRole("link", { name: "I have saved it" }).click();
    await page.getByRole("heading", { name: "Shown" }).waitFor();
    await page.waitForLoadState();
    await page.goBack();
    expect(await secretOn(page)).toBe(secret);
    expect(page.url()).not.toContain(secret);
    const { items } = await worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${siteId}/apps`);
    expect(items).toHaveLength(2);
    await press(page, "Sign out");
    // The browser's protocol fails when a test goes back while the page still changes.
    await page.getByRole("heading", { name: "Sign in to the console" }).waitFor();
    await page.waitForLoadState();
    await page.goBack();
    expect(await page.content()).not.toContain(secret);
  });

  it("a second rotation says which secret stops, and happens only after a confirmation", async ({
    worker,
    signedIn,
  }) => {
    const { site, app } = await newShop(worker);
    const page = await signedIn(worker, { javaScriptEnabled });
    await page.goto(`${site}/apps/${app.appid}`);
    await press(page, "Rotate");
    expect(await heading(page)).toBe("The secret was rotated");
    await page.goto(`${site}/apps/${app.appid}`);
    await page.locator("select[name=ends]").selectOption("previous");
    await press(page, "Rotate");
    expect(await heading(page)).toBe("Rotate the secret?");
    expect(await page.locator("main").innerText()).toContain("Stops at once.");
    await press(page, "中文");
    expect(await heading(page)).toBe("轮换密钥？");
    await press(page, "English");
    const caller = new AgentSessionClient({ baseUrl: worker.url, ...app });
    const body = { sbs: "1", sbs_mc: "A", ip: "127.0.0.1", content: "x", kefu_id: [10411], fzr_uid: 10411 };
    expect((await caller.send("create_gd", body)).status).toBe(200);
    await press(page, "Rotate now");
    expect(await heading(page)).toBe("The secret was rotated");
    expect((await caller.send("create_gd", body)).status).toBe(401);
  });

  it("a pasted list is kept when the sign-in has ended meanwhile", async ({ worker, signedIn }) => {
    const { site, siteId } = await newShop(worker);
    const page = await signedIn(worker, { javaScriptEnabled });
    await page.goto(`${site}/agents`);
    await unfold(page, "Add agents");
    await page.getByLabel("One agent a line: id, name").fill("20, Ana\n21, Ben");
    const cookies = (await page.context().cookies()).filter(({ name }) => name !== "__Host-console");
    await page.context().clearCookies();
    await page.context().addCookies(cookies);
    await press(page, "Add all");
    expect(await heading(page)).toBe("Sign in to the console");
    await page.getByLabel("Token", { exact: true }).fill(worker.adminToken);
    await press(page, "Sign in");
    expect(await page.getByLabel("One agent a line: id, name").inputValue()).toBe("20, Ana\n21, Ben");
    const agents = () => worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${siteId}/agents`);
    expect((await agents()).items).toHaveLength(3);
    await press(page, "Add all");
    expect(await status(page)).toBe("2 agents were added.");
    expect((await agents()).items).toHaveLength(5);
  });

  it("a wrong field of a form has its error beside it, has the focus and is in view", async ({ worker, signedIn }) => {
    const { site, siteId } = await newShop(worker);
    const agents = Array.from({ length: 60 }, (_, i) => `${100 + i}, Person ${i}`).join("\n");
    const page = await signedIn(worker, { javaScriptEnabled });
    await page.goto(`${site}/agents`);
    await unfold(page, "Add agents");
    await page.getByLabel("One agent a line: id, name").fill(agents);
    await press(page, "Add all");
    await unfold(page, "Add agents");
    await page.getByLabel("ID", { exact: true }).fill("100");
    await page.getByLabel("Name", { exact: true }).fill("Twice");
    // Enter must send the form, although the page has other buttons.
    await page.getByLabel("Name", { exact: true }).press("Enter");
    const id = page.getByLabel("ID", { exact: true });
    await page.getByRole("alert").waitFor();
    expect([await id.getAttribute("aria-invalid"), await id.inputValue()]).toEqual(["true", "100"]);
    const ids = (await id.getAttribute("aria-describedby")) ?? "";
    expect(await page.locator(`#${ids.split(" ").at(-1)}`).innerText()).toBe("The site has an agent of this id.");
    expect(await page.evaluate("document.activeElement.id")).toBe("id");
    expect(await page.evaluate("document.activeElement.getBoundingClientRect().bottom < innerHeight")).toBe(true);
    await page.getByRole("alert").getByRole("link", { name: "ID" }).click();
    expect(await page.evaluate("document.activeElement.id")).toBe("id");
    await press(page, "中文");
    expect(await page.locator("#id-error").innerText()).toBe("站点已有该 ID 的客服。");
    expect(await page.locator("#name").inputValue()).toBe("Twice");
    await press(page, "English");

    await page.getByRole("link", { name: "Agents", exact: true }).click();
    await page.getByRole("link", { name: "Next page" }).click();
    await openMenu(page, "Person 59");
    await press(page, "Disable Person 59");
    expect(await status(page)).toBe("The agent was disabled.");
    expect(await page.locator("tr", { hasText: "Person 59" }).innerText()).toContain("Disabled");
    // The changed row is marked and in view, and the next Tab goes on from there.
    const changedRow = page.locator("tr:target");
    expect(await changedRow.innerText()).toContain("Person 59");
    const { y = -1 } = (await changedRow.boundingBox()) ?? {};
    expect(y >= 0 && y < (page.viewportSize()?.height ?? 0)).toBe(true);
    await page.keyboard.press("Tab");
    expect(await page.locator("tr:focus-within").innerText()).toContain("Person 59");
    await page.getByRole("link", { name: "Previous page" }).click();
    await eventually(async () => expect(await page.locator("tbody tr").count()).toBe(50));
    const { items } = await worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${siteId}/agents?limit=100`);
    expect(items).toHaveLength(63);
  });
});

describe("second submits", () => {
  it("a form that is clicked twice is carried out once, also without scripts", async ({ worker, signedIn }) => {
    const { site, siteId } = await newShop(worker);
    const page = await signedIn(worker, { javaScriptEnabled: false });
    await page.goto(`${site}/apps`);
    await unfold(page, "Issue an app");
    await page.getByLabel("Name").fill("Once");
    const { x, y } = (await page.locator("form button", { hasText: "Issue app" }).boundingBox()) ?? { x: 0, y: 0 };
    await page.mouse.dblclick(x + 5, y + 5);
    await page.locator("#secret").waitFor();
    const { items } = await worker.admin<{ items: { name: string }[] }>("GET", `/admin/sites/${siteId}/apps`);
    expect(items.filter(({ name }) => name === "Once")).toHaveLength(1);
  });

  it("a form that the browser sends again after Back is carried out once", async ({ worker, signedIn }) => {
    const { site, siteId } = await newShop(worker);
    const page = await signedIn(worker);
    await page.goto(`${site}/apps`);
    await unfold(page, "Issue an app");
    await page.getByLabel("Name").fill("Once");
    const [request] = await Promise.all([
      page.waitForRequest((each) => each.method() === "POST"),
      press(page, "Issue app"),
    ]);
    await page.locator("#secret").waitFor();
    const shownUrl = page.url();
    const answer = await page.request.post(request.url(), {
      data: request.postData() ?? "",
      headers: { "content-type": "application/x-www-form-urlencoded", origin: worker.url },
    });
    expect(answer.url()).toBe(shownUrl);
    const { items } = await worker.admin<{ items: { name: string }[] }>("GET", `/admin/sites/${siteId}/apps`);
    expect(items.filter(({ name }) => name === "Once")).toHaveLength(1);
  });
});

describe("scripts", () => {
  it("a script sends a form once when it is clicked twice", async ({ worker, signedIn }) => {
    const { site, app } = await newShop(worker);
    const page = await signedIn(worker);
    let posts = 0;
    let clickedAgain = () => {};
    const secondClick = new Promise<void>((resolve) => {
      clickedAgain = resolve;
    });
    await page.route("**/rotate", async (route) => {
      posts++;
      await secondClick;
      await route.continue().catch(() => {});
    });
    await page.goto(`${site}/apps/${app.appid}`);
    // The mouse clicks here, because a locator would wait for the answer before its second click.
    const button = page.locator("form[action$=rotate] button");
    await button.scrollIntoViewIfNeeded();
    const { x, y } = (await button.boundingBox()) ?? { x: 0, y: 0 };
    await page.mouse.click(x + 5, y + 5);
    await eventually(() => expect(posts).toBe(1));
    await page.mouse.click(x + 5, y + 5);
    clickedAgain();
    await page.locator("#secret").waitFor();
    expect(posts).toBe(1);
  });

  it("times are in the reader's zone from the first page on, and in UTC without scripts", async ({
    worker,
    signedIn,
  }) => {
    const { site } = await newShop(worker);
    const footer = async (options: BrowserContextOptions) => {
      const page = await signedIn(worker, options);
      await page.goto(`${site}/audit`);
      return page.locator("footer").innerText();
    };
    expect(await footer({ timezoneId: "Asia/Shanghai" })).toBe("Times are in Asia/Shanghai.");
    expect(await footer({ timezoneId: "Asia/Shanghai", javaScriptEnabled: false })).toBe("Times are in UTC.");
  });

  it("a button copies a new secret, and the time of its overlap counts down", async ({ worker, signedIn }) => {
    const { site, app } = await newShop(worker);
    const page = await signedIn(worker, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(`${site}/apps/${app.appid}`);
    await press(page, "Rotate");
    await page.locator("button[data-copy=secret]").click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copiedText = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(copiedText).toBe(await secretOn(page));
    const until = page.locator("[data-until]").last();
    const timeLeft = await until.innerText();
    await eventually(async () => expect(await until.innerText()).not.toBe(timeLeft));
  });

  it("a page without scripts shows no copy button", async ({ worker, signedIn }) => {
    const { site, app } = await newShop(worker);
    const page = await signedIn(worker, { javaScriptEnabled: false });
    await page.goto(`${site}/apps/${app.appid}`);
    const buttons = page.locator("button[data-copy]");
    expect(await buttons.count()).toBeGreaterThan(0);
    for (const button of await buttons.all()) expect(await button.isVisible()).toBe(false);
  });
});

describe("the look of the console", () => {
  it("the console is in the reader's language, and in the other language after a click", async ({
    worker,
    signedIn,
  }) => {
    const { site } = await newShop(worker);
    const page = await signedIn(worker, { locale: "zh-CN" });
    await page.goto(`${site}/agents`);
    expect([await heading(page), await page.locator("html").getAttribute("lang")]).toEqual(["客服", "zh-CN"]);
    await press(page, "English");
    expect([await heading(page), await page.locator("html").getAttribute("lang")]).toEqual(["Agents", "en"]);
    expect(new URL(page.url()).pathname).toBe(`${site}/agents`);
    await press(page, "中文");
    expect(await heading(page)).toBe("客服");
  });

  it("the console is dark when the reader's system is dark", async ({ worker, signedIn }) => {
    const { site } = await newShop(worker);
    const background = async (colorScheme: "light" | "dark") => {
      const page = await signedIn(worker, { colorScheme });
      await page.goto(site);
      return page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    };
    expect(await background("light")).toBe("rgb(247, 249, 248)");
    expect(await background("dark")).toBe("rgb(16, 18, 17)");
  });

  it("the skip link comes first for the keyboard, and the focus is always visible", async ({ worker, signedIn }) => {
    const page = await signedIn(worker);
    await page.goto("/console");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await page.evaluate(`document.activeElement.closest("main") !== null`)).toBe(true);
    // What adds something comes before the list, which may be long.
    const parts = page.locator("main :is(.fold > summary, #list)");
    expect((await parts.allInnerTexts()).map((text) => text.split("\n")[0])[0]).toBe("Create a site");
    const outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle");
    expect(outline).toBe("solid");
  });
});
