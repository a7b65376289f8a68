import { createHash, createHmac } from "node:crypto";
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { DESKTOP, PHONE } from "../support/open-browser.ts";
import { violations } from "../support/violations.ts";
import { it } from "./it.ts";
import { unfoldAll } from "./steps.ts";

const SECRET = "keep-this-on-your-server";
const sign = (text: string) => createHmac("sha256", SECRET).update(text).digest("hex");
const bodyOf = (change: object = {}) =>
  JSON.stringify({
    appid: "my-shop",
    timestamp: Math.floor(Date.now() / 1000),
    ranstr: "r",
    sbs: "customer_001",
    ip: "127.0.0.1",
    sbs_mc: "王伟",
    content: "Hello",
    kefu_id: [10411],
    fzr_uid: 10411,
    ...change,
  });

/** Fills the form by its labels and presses its button. */
async function check(
  page: Page,
  language: keyof typeof LABELS,
  { body, signature }: { body: string; signature: string },
) {
  const labels = LABELS[language];
  await page.getByLabel(labels.body, { exact: true }).fill(body);
  await page.getByLabel(labels.signature).fill(signature);
  await page.getByLabel(labels.secret, { exact: true }).fill(SECRET);
  await page.getByRole("button", { name: labels.check, exact: true }).click();
  await page.locator("#result h2").waitFor();
  // biome-ignore lint/performance/useDomNodeTextContent: the lines of the page are compared, which textContent joins
  return page.getByRole("status").innerText();
}

const LABELS = {
  en: {
    body: "Body, as it was sent",
    signature: "Signature (x-chat-signature)",
    secret: "Secret of the app",
    check: "Check",
  },
  zh: { body: "请求体（按发送时的原样）", signature: "签名（x-chat-signature）", secret: "应用的密钥", check: "检查" },
};

const PAGES = [
  [
    "en",
    "/docs/check/",
    "The server refuses this request: 401 token验证失败!",
    "Cause: Signature",
    /LF \(\\n\), that was not sent/,
    /^Also: Fields\n+kefu_id: must be an array of 1 to 100 agent ids/m,
  ],
  [
    "zh",
    "/docs/zh/check/",
    "服务器会拒绝此请求：401 token验证失败!",
    "原因：签名",
    /被签名的内容末尾有换行 LF/,
    /^此外：字段\n+kefu_id：须为包含 1 到 100 个客服 ID 的数组。发送的是字符串。\n+x-error-detail: kefu_id: must be/m,
  ],
] as const;

describe.each([
  ["a desk, light", { viewport: DESKTOP, colorScheme: "light" }],
  ["a phone, dark", { viewport: PHONE, colorScheme: "dark" }],
] as const)("on %s", (_, options) => {
  it.for(PAGES)(
    "the check page names the cause first, in %s, and sends nothing",
    async ([language, path, verdict, cause, text, secondText], { openDocs }) => {
      const { page, complaints, urls, headers } = await openDocs(path, options);
      const drawnCount = urls.length;
      expect(headers["content-security-policy"]?.match(/connect-src/g)).toHaveLength(1);
      expect(headers["content-security-policy"]).toMatch(
        /^default-src 'none';.* connect-src 'none';.* form-action 'none';[^,]*$/,
      );
      const body = bodyOf({ kefu_id: "10411" });
      const shownText = await check(page, language, { body, signature: sign(`${body}\n`) });
      expect(shownText.split("\n").filter(Boolean).slice(0, 2)).toEqual([verdict, cause]);
      expect(shownText).toMatch(text);
      expect(shownText).toMatch(secondText);
      expect(shownText).not.toContain(SECRET);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
      await unfoldAll(page);
      expect(await violations(page)).toEqual([]);
      expect([complaints, urls.slice(drawnCount), new URL(page.url()).search]).toEqual([[], [], ""]);
    },
  );
});

it.for([
  ["en", "/docs/check/", "bytes; their SHA-256 is"],
  ["zh", "/docs/zh/check/", "个字节，SHA-256 为"],
] as const)(
  "the check page shows what to compare when it finds no cause, in %s, within the width of a phone",
  async ([language, path, text], { openDocs }) => {
    const { page } = await openDocs(path, { viewport: PHONE });
    const body = bodyOf();
    const shownText = await check(page, language, { body, signature: sign("another body") });
    const digest = createHash("sha256").update(body).digest("hex");
    expect(shownText).toContain(` ${Buffer.byteLength(body)} ${text} ${digest}`);
    expect(shownText).toContain("sha256sum body.json");
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  },
);

it("the check page accepts a right request, and checks the exact bytes of a chosen file", async ({ openDocs }) => {
  const { page, urls } = await openDocs("/docs/check/");
  const drawnCount = urls.length;
  const body = bodyOf();
  expect(await check(page, "en", { body, signature: sign(body) })).toContain("The server accepts this request");
  const buffer = Buffer.from(`${body}\r\n`);
  await page
    .getByLabel("Or the body as a file")
    .setInputFiles({ name: "body.json", mimeType: "application/json", buffer });
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("What was sent ends with a line end, CRLF (\\r\\n)").waitFor();
  expect(urls.slice(drawnCount)).toEqual([]);
});

it("the check page works by keyboard alone, and shows the secret when its reader asks", async ({ openDocs }) => {
  const { page } = await openDocs("/docs/check/");
  const secret = page.getByLabel("Secret of the app", { exact: true });
  await secret.focus();
  await page.keyboard.type(SECRET);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  expect([await secret.getAttribute("type"), await secret.inputValue()]).toEqual(["text", SECRET]);
  expect(await page.getByRole("button", { name: "Hide" }).getAttribute("aria-pressed")).toBe("true");
  await secret.press("Enter");
  await page.getByText("The body is empty.").waitFor();
});

it("the check page checks headers too, and its policy lets it reach no address", async ({ openDocs }) => {
  const { page, complaints } = await openDocs("/docs/check/");
  await page.getByText("Headers and tolerance").click();
  await page.getByLabel("It was not sent").check();
  await page.getByLabel("Idempotency-Key, if it was sent").fill("a b");
  const body = bodyOf();
  const verdict = await check(page, "en", { body, signature: sign(body) });
  expect(verdict).toMatch(
    /^The server refuses this request: 415 参数错误\n+Cause: Content-Type\n+The header is absent/,
  );
  expect(verdict).toContain("It has a blank inside");
  const reached = await page.evaluate("fetch('/healthz').then(() => 'reached', () => 'refused')");
  expect(reached).toBe("refused");
  expect(complaints.join()).toContain("connect-src 'none'");
});
