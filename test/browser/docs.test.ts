import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { WIRE_ERRORS } from "../../src/core/errors.ts";
import { CALLERS, RECEIVERS } from "../../src/tools/docs/programs.ts";
import { DESKTOP, PHONE } from "../support/open-browser.ts";
import { run } from "../support/run-cli.ts";
import { violations } from "../support/violations.ts";
import { it } from "./it.ts";
import { unfoldAll } from "./steps.ts";

const addressOf = (page: Page) => page.url().replace(new URL(page.url()).origin, "");

/** One page of each kind. */
const KINDS = [
  "",
  "integrating/",
  "receiving/",
  "retrying/",
  "errors/",
  "search/#q=kefu_id",
  "reference/",
  "operating/",
  "client/",
  "reference/create_gd/",
  "reference/session.created/",
  "reference/changeWebhook/",
];

it.for([
  ["a desk, light, in English", { viewport: DESKTOP, colorScheme: "light" }, "/docs/"],
  ["a phone, dark, in Chinese", { viewport: PHONE, colorScheme: "dark" }, "/docs/zh/"],
] as const)(
  "each kind of page keeps its policy and its width, has no accessibility violation, and loads nothing from elsewhere, on %s",
  async ([, options, folder], { openDocs }) => {
    const { page, complaints } = await openDocs(folder, options);
    for (const kind of KINDS) {
      await page.goto(folder + kind);
      expect([kind, await page.locator("h1").count()]).toEqual([kind, 1]);
      if (kind.includes("#q=")) await page.locator("#results li").first().waitFor();
      expect([kind, await page.evaluate("document.documentElement.scrollWidth - innerWidth")]).toEqual([kind, 0]);
      await unfoldAll(page);
      expect([kind, await violations(page)]).toEqual([kind, []]);
      expect([kind, complaints]).toEqual([kind, []]);
    }
  },
);

describe("with scripts", () => {
  it.for([
    [
      "English",
      "en-GB",
      "Docs",
      "Open a session from your program",
      "The guide for callers",
      "/docs/",
      "Show placeholders",
    ],
    ["Chinese", "zh-CN", "文档", "从您的程序创建会话", "调用方指南", "/docs/zh/", "改回占位符"],
  ] as const)(
    "a newcomer comes from the console in %s to an accepted call, with commands that hold the newcomer's app",
    async ([, locale, docs, program, guide, folder, forget], { worker, signedIn }) => {
      const { siteId, appid, secret } = await worker.provision([10411]);
      const page = await signedIn(worker, { locale });
      await page.goto(`/console/sites/${siteId}/apps/${appid}`);
      await page.getByText(program).click();
      const [address = ""] = await page
        .getByRole("link", { name: guide })
        .evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
      expect(address).toBe(`${folder}integrating/?appid=${appid}&agent=10411`);
      await page.getByRole("link", { name: guide }).click();
      await page.locator("[data-own]").waitFor();
      expect(addressOf(page)).toBe(`${folder}integrating/`);

      // The values stay from page to page.
      await page.locator("header .brand").click();
      await page.waitForURL(`**${folder}`);
      const commands = (await page.locator("main pre code").first().textContent()) ?? "";
      expect(commands).toContain(`BASE_URL=${worker.url} APPID=${appid} `);
      const result = await run("sh", [], { input: commands.replace("SECRET=YOUR_SECRET", `SECRET=${secret}`) });
      expect(result.stdout).toBe('{"code":1,"msg":"ok","data":{"chat_id":1}}');
      const { items } = await worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${siteId}/sessions`);
      expect(items).toHaveLength(1);

      await page.getByRole("button", { name: forget }).click();
      expect(await page.locator("main pre code").first().textContent()).toContain("APPID=YOUR_APPID");
      await page
        .locator("header")
        .getByRole("link", { name: locale === "en-GB" ? "Console" : "控制台" })
        .click();
      await page.locator("header").getByRole("link", { name: docs, exact: true }).waitFor();
    },
  );

  it.for([
    ["en", "token验证失败!", "401 token验证失败! Wrong signature, timestamp or ranstr", "/docs/errors/#token_invalid"],
    [
      "en",
      "kefu_id: 90001 unknown",
      "kefu_id: 777 unknown, 10430 disabled",
      "/docs/errors/#kefu_id-777-unknown-10430-disabled",
    ],
    [
      "en",
      "timestamp: must be within 300 s of 1799999999, Unix seconds",
      "timestamp: must be within",
      "/docs/errors/#timestamp-must-be-within-300-s-of-1795319350-unix-seconds",
    ],
    ["zh", "ranstr: was already used", "ranstr: was already used", "/docs/zh/errors/#ranstr-was-already-used"],
    [
      "zh",
      '{"code":-1,"msg":"当前状态不允许操作","data":""}',
      "409 当前状态不允许操作",
      "/docs/zh/errors/#state_forbids",
    ],
  ] as const)(
    "the search in %s for the error %s leads to its cure, and sends nothing of the text",
    async ([language, error, title, target], { openDocs }) => {
      const path = language === "en" ? "/docs/integrating/" : "/docs/zh/integrating/";
      const { page, complaints, urls } = await openDocs(path);
      await page.keyboard.press("/");
      await page.keyboard.type(error);
      await page.keyboard.press("Enter");
      const first = page.locator("#results li a").first();
      await first.waitFor();
      expect(await first.textContent()).toContain(title);
      await first.click();
      await page.waitForURL(`**${target}`);
      expect(urls.filter((address) => new URL(address).search !== "" || /90001|799999999/.test(address))).toEqual([]);
      expect(complaints).toEqual([]);
    },
  );

  it("the search keeps its words after a pause in typing, in an address typed by hand, and in the other language", async ({
    openDocs,
  }) => {
    const { page } = await openDocs("/docs/search/");
    await page.locator("#find").focus();
    await page.keyboard.type("state ");
    // The address follows the typed text after a pause.
    await page.waitForURL(({ hash }) => hash.startsWith("#q=state"));
    await page.keyboard.type("forbids");
    await page.waitForURL(({ hash }) => hash === "#q=state%20forbids");
    await page.locator("#results li").first().waitFor();
    expect(await page.locator("#find").inputValue()).toBe("state forbids");
    await page.locator("[data-language]").click();
    await page.waitForURL(({ pathname, hash }) => pathname === "/docs/zh/search/" && hash === "#q=state%20forbids");
    await page.locator("#results li").first().waitFor();

    const byHand = await openDocs("/docs/search/#q=100%");
    await byHand.page.locator("#count:not(:empty)").waitFor();
    const searchDocs = await openDocs("/docs/search/?q=kefu_id");
    await searchDocs.page.locator("#results li").first().waitFor();
    expect(addressOf(searchDocs.page)).toBe("/docs/search/#q=kefu_id");
    expect([...byHand.complaints, ...searchDocs.complaints]).toEqual([]);
  });

  it("a search without results says so, and offers the other language", async ({ openDocs }) => {
    const { page } = await openDocs("/docs/search/#q=吊销");
    await page.getByText("Nothing was found for “吊销”.").waitFor();
    await page.getByText("Search the pages in 中文").click();
    await page.locator("#results li a").first().waitFor();
    expect(addressOf(page)).toBe(`/docs/zh/search/#q=${encodeURIComponent("吊销")}`);
  });

  it.for([
    ["/docs/integrating/", "#retry", "/docs/zh/integrating/#retry"],
    ["/docs/zh/receiving/", "#when-an-attempt-fails", "/docs/receiving/#when-an-attempt-fails"],
    ["/docs/errors/", "#too_many_requests", "/docs/zh/errors/#too_many_requests"],
    ["/docs/zh/reference/add_kf/", "#refusals", "/docs/reference/add_kf/#refusals"],
    ["/docs/zh/operating/data-and-restore/", "#pruning", "/docs/operating/data-and-restore/#pruning"],
  ])(
    "the link to the other language on %s at %s opens the same place",
    async ([path = "", anchor = "", target = ""], { openDocs }) => {
      const { page } = await openDocs(path);
      await page.locator(anchor).evaluate((heading) => heading.scrollIntoView());
      await page.locator("[data-language]").click();
      await page.waitForURL(`**${target}`);
      const top = await page.locator(anchor).evaluate((heading) => heading.getBoundingClientRect().top);
      expect(top).toBeGreaterThanOrEqual(0);
      expect(top).toBeLessThan(DESKTOP.height / 2);
    },
  );

  it("a button copies whole commands, with the address of this deployment", async ({ worker, openDocs }) => {
    const { page } = await openDocs("/docs/", { permissions: ["clipboard-read", "clipboard-write"] });
    await page.locator(".frame").first().hover();
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copiedText = String(await page.evaluate("navigator.clipboard.readText()"));
    expect(copiedText.split("\n").slice(0, 1)).toEqual([
      `export BASE_URL=${worker.url} APPID=YOUR_APPID SECRET=YOUR_SECRET`,
    ]);
    expect(copiedText).toContain("openssl dgst -sha256 -hmac");
  });
});

it("commands show the app of a link, but no value that a shell would run", async ({ openDocs }) => {
  const docs = await openDocs("/docs/?appid=another-shop&agent=7");
  expect(await docs.page.locator("main pre").first().textContent()).toContain("APPID=another-shop SECRET=YOUR_SECRET");
  expect(await docs.page.locator("[data-own]").textContent()).toContain("another-shop");
  const bad = encodeURIComponent("$(touch pwned)");
  const { page } = await openDocs(`/docs/?appid=${bad}&agent=${encodeURIComponent("1; ls")}`);
  expect(await page.locator("main").textContent()).not.toContain("pwned");
  expect(new Set(await page.locator("[data-agent]").allTextContents())).toEqual(new Set(["10411"]));
  expect(await page.locator("[data-own]").isVisible()).toBe(false);
  expect(addressOf(page)).toBe("/docs/");
});

it("each old address of the guide leads to the page that has the text now", async ({ openDocs }) => {
  const { page } = await openDocs("/docs/");
  for (const [old, now] of [
    ["/docs/#sign", "/docs/integrating/"],
    ["/docs/#examples", "/docs/integrating/"],
    ["/docs/#retry", "/docs/retrying/"],
    ["/docs/#events", "/docs/receiving/"],
    ["/docs/#refusals", "/docs/errors/"],
    ...Object.keys(WIRE_ERRORS).map((code) => [`/docs/#${code}`, `/docs/errors/#${code}`] as const),
  ] as const) {
    // A blank page comes first, because the browser does not reload a page when only its "#" changes.
    await page.goto("about:blank");
    await page.goto(old);
    await page.waitForURL(`**${now}`);
  }
});

describe("without scripts", () => {
  it("without a script, the programs show the chosen language", async ({ openDocs }) => {
    for (const [path, kind, programs] of [
      ["/docs/integrating/", "opens a session", CALLERS],
      ["/docs/receiving/", "receives events", RECEIVERS],
    ] as const) {
      const { page } = await openDocs(path, { javaScriptEnabled: false });
      const shownPanel = () => page.locator(".panels section:visible").getAttribute("aria-label");
      const [first, ...others] = programs.map(({ language }) => language);
      expect(await shownPanel()).toBe(`${first}, ${kind}`);
      for (const language of others) {
        await page.locator(".labels").getByText(language, { exact: true }).click();
        expect(await shownPanel()).toBe(`${language}, ${kind}`);
      }
    }
  });

  it("without a script, links lead to the reference, the errors and the other language, and the search lists all pages", async ({
    openDocs,
  }) => {
    const { page } = await openDocs("/docs/integrating/", { javaScriptEnabled: false });
    await page.locator("[data-language]").click();
    await page.waitForURL("**/docs/zh/integrating/");
    await page.locator("header nav").getByText("接口参考").click();
    await page.getByText("POST /openapi/chat/create_gd").click();
    expect(await page.getByText("只序列化一次").count()).toBeGreaterThan(0);
    await page.locator("#find").fill("错误");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/docs/zh/search/**");
    expect(await page.locator(".all a").count()).toBeGreaterThan(60);
  });
});
