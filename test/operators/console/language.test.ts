import { describe, expect, it } from "vitest";
import chinese from "../../../src/assets/console/zh.json";
import { ADMIN_TOKEN_FAULTS } from "../../../src/config.ts";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { RULES as RULES_OF_CALLS, type RuleName, SENT_AS, wordsOf } from "../../../src/core/rules.ts";
import { NAMED_DETAILS } from "../../../src/operators/console/audit/audit-texts.ts";
import { DONE, NOT_DONE } from "../../../src/operators/console/forms/messages.ts";
import { ERRORS } from "../../../src/operators/console/on-error.tsx";
import { REASONS } from "../../../src/operators/console/reasons.ts";
import { languageOf, localTime, secondsOf, startOfDayAndWeek } from "../../../src/operators/console/view.ts";
import { ALL_TEXTS } from "../../../src/operators/diagnosis/all-texts.ts";
import { DRILL_CASES } from "../../../src/operators/services/drill-webhook.ts";
import { DELIVERY_STATUSES, FAILURE_WORDS, REDELIVERED_STATUSES } from "../../../src/operators/services/events.ts";
import { SESSION_STATUSES } from "../../../src/operators/services/sessions.ts";
import { TOKEN_NAME_RULE } from "../../../src/operators/services/token-names.ts";
import { ConsoleVisitor, start } from "../../support/console-visitor.ts";
import { World } from "../../support/world.ts";

const SOURCES = Object.values(
  import.meta.glob("../../../src/operators/console/**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true }),
);

/** Rules of the schemas that a form can break, in the console's words. */
const RULES = [
  "Is required",
  "Must be a string of {0} to {1} characters, at least one of them visible and none a control character or direction override",
  "Must be an integer from {0} to {1}",
  "Must be above {0}, the highest chat_id that the site has given or skipped",
  "Must be {0} to {1} of A-Z a-z {2}-{3} _ -",
  "Must be {0} to {1} printable ASCII characters",
  "Must be a list of at least one type of event",
  "A site has at most {0} webhooks",
  "Must be a site's id",
  "Must be the name of this site",
  "Must be viewer or operator for a token of one site",
  "Must be metrics or viewer or operator or owner",
  "Must be viewer or operator or owner",
  "Must be viewer or operator for a person of one site",
  "Must be one e-mail address such as ada@example.com, without characters that nobody sees",
  "Nobody comes by Cloudflare Access: CONSOLE_SIGN_IN is token",
  "Nobody comes in with a token: CONSOLE_SIGN_IN is access",
];

/** Rules of a webhook's URL. An attempt can break them too, when the URL was changed in the database. */
const URL_RULES = [
  "must be an absolute https URL",
  "must have at most {0} characters",
  "must hold no user and no password",
  "must have no fragment",
  "must name a host, not an IP address",
  "must have a public host name",
  "must use port {0}",
];

/** The other reasons of a failed attempt, without the receiver's own texts. */
const FAILURES = [
  "No answer in {0} s",
  "No connection",
  "Redirects are not followed",
  "The secret does not open: MASTER_KEY",
  "The webhook is disabled",
  ...FAILURE_WORDS.map((words) => {
    let numbers = 0;
    return words.replaceAll(/\d+/g, () => `{${numbers++}}`);
  }),
];

const capitalised = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** The text of a status is its name. */
const STATUSES = [...SESSION_STATUSES, ...DELIVERY_STATUSES, ...REDELIVERED_STATUSES].map(capitalised);

/** The reasons of refusals, in the words that stand beside the rule. */
const REFUSALS = OPERATIONS.flatMap(({ refusals }) => Object.values(refusals).map(({ past }) => past));

const texts = new Set([
  ...RULES,
  capitalised(TOKEN_NAME_RULE),
  ...URL_RULES.flatMap((rule) => [capitalised(rule), `The URL ${rule}`]),
  ...FAILURES,
  ...STATUSES,
  ...NAMED_DETAILS.map((name) => `${name} {0}`),
  ...REFUSALS,
  ...ADMIN_TOKEN_FAULTS.map((fault) => `ADMIN_TOKEN ${fault}, so nobody can sign in.`),
  ...Object.values(ERRORS).flatMap((words) => words.filter((text) => text !== undefined)),
  ...Object.values(REASONS).flat(),
  ...Object.values({ ...DONE, ...NOT_DONE }),
  ...Object.values(DRILL_CASES).flatMap(({ posted, fault }) => [posted, fault]),
  ...(Object.keys(RULES_OF_CALLS) as RuleName[]).map(wordsOf).filter((words) => words !== ""),
  ...Object.values(SENT_AS).map(({ words }) => words),
  ...ALL_TEXTS,
  ...SOURCES.flatMap((source) =>
    [...source.matchAll(/\bt\(\s*("(?:[^"\\]|\\.)*")/g)].map(([, text = ""]) => JSON.parse(text)),
  ),
]);

describe("the Chinese texts", () => {
  it("each English text of the console has a Chinese one, and there are no others", () => {
    expect(texts.size).toBeGreaterThan(150);
    expect(Object.keys(chinese).sort()).toEqual([...texts].sort());
  });

  it("each Chinese text takes the same values as the English text", () => {
    const values = (text: string) => [...new Set(text.match(/\{\d\}/g))].sort();
    for (const [english, text] of Object.entries(chinese))
      expect([text, values(text)]).toEqual([text, values(english)]);
  });
});

describe("the language of a page", () => {
  it.each([
    ["zh-CN,zh;q=0.9,en;q=0.8", "zh"],
    ["en-US,en;q=0.9,zh-CN;q=0.8", "en"],
    ["de, zh;q=0.5, en;q=0.4", "zh"],
    ["zh;q=0, en;q=0.1", "en"],
    ["de", "en"],
    ["", "en"],
  ])("the language of a page follows Accept-Language: %s", (header, language) => {
    expect(languageOf(new Request("https://worker", { headers: { "accept-language": header } }))).toBe(language);
  });

  it("a page declares its language, and the switch wins over Accept-Language", async () => {
    const { world, visitor } = await start("main");
    const inChinese = await (await visitor.get("/console", { "accept-language": "zh-CN" })).text();
    expect(inChinese).toContain('<html lang="zh-CN">');
    expect(inChinese).toContain("创建站点");
    expect(inChinese).toMatch(/lang="en">English</);
    const back = `/console/sites/${world.siteId}/sessions?status=waiting`;
    const answer = await visitor.submit(await visitor.open(back), "中文");
    expect([answer.status, answer.headers.get("location")]).toEqual([303, back]);
    expect(answer.headers.getSetCookie()[0]).toMatch(/^__Host-language=zh; .*Secure; HttpOnly; SameSite=Lax$/);
    expect(await (await visitor.get("/console", { "accept-language": "en" })).text()).toContain('<html lang="zh-CN">');
    for (const path of [
      "/console/language",
      "/console/language?draft=https://evil.example&language=en",
      "/console/language?draft=/console/sign-out&language=en",
    ]) {
      const redirect = await visitor.post(path, { language: "en", back: "https://evil.example" });
      expect(redirect.headers.get("location")).toMatch(/^\/console(\?draft=1)?$/);
    }
    expect(await (await visitor.get("/console", { "accept-language": "zh" })).text()).toContain('<html lang="en">');
  });

  it("the language switch leads to the same page: further pages of lists, a rename, a refusal", async () => {
    const { world, visitor, site } = await start("main");
    const second = `${site}/agents?cursor=2&trail=`;
    for (const path of [
      second,
      `${site}/agents/3?${new URLSearchParams({ back: second })}`,
      `${site}/apps?cursor=${world.appid}&trail=`,
      `${site}/apps/${world.appid}`,
      "/console?cursor=1&trail=",
      "/console/nothing",
      `${site}/agents?cursor=x`,
    ]) {
      const switchedPage = await visitor.press(await visitor.open(path), "中文");
      expect(switchedPage.path).toBe(path);
      visitor.cookies.set("__Host-language", "en");
    }
  });
});

describe("?lang=", () => {
  it("?lang= shows any page in that language and remembers it, like the switch", async () => {
    const { world, visitor } = await start("main");
    const list = `/console/sites/${world.siteId}/sessions?status=waiting`;
    const other = `/console/sites/${world.siteId}/agents`;
    for (const [path, language] of [
      [list, "zh-CN"],
      ["/console/nothing?x=1", "ZH"],
      ["/console/sign-in?next=/console/audit", "zh"],
    ] as const) {
      const answer = await visitor.get(`${path}&lang=${language}`);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.getSetCookie()).toContainEqual(expect.stringMatching(/^__Host-language=zh; Path/));
      if (answer.status !== 303) expect(await answer.text()).toContain('<html lang="zh-CN">');
      expect(await visitor.page(other)).toContain('<html lang="zh-CN">');
      await visitor.open(`${other}?lang=en`);
      expect(await (await visitor.get(other, { "accept-language": "zh" })).text()).toContain('<html lang="en">');
    }
    const switchedPage = await visitor.press(await visitor.open(`${list}&lang=zh`), "English");
    expect([switchedPage.path, switchedPage.html.includes('<html lang="en">')]).toEqual([list, true]);
  });

  it("?lang= works without a sign-in, and no other value or method changes the language", async () => {
    const world = await World.create();
    const visitor = new ConsoleVisitor(world);
    const answer = await visitor.get("/console/sign-in?lang=zh");
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('<html lang="zh-CN">')]);
    const redirect = await visitor.get("/console/audit?lang=en&who=x");
    expect(redirect.headers.get("location")).toBe("/console/sign-in?next=%2Fconsole%2Faudit%3Fwho%3Dx");
    for (const path of ["/console/sign-in?lang=de", "/console/sign-in?lang="]) {
      const answer = await visitor.get(path);
      expect([answer.headers.getSetCookie(), await answer.text()]).toEqual([
        [],
        expect.stringContaining('<html lang="en">'),
      ]);
    }
    const postAnswer = await visitor.post("/console/sign-in?lang=zh", { token: "x" });
    expect([postAnswer.headers.getSetCookie(), await postAnswer.text()]).toEqual([
      [],
      expect.stringContaining('<html lang="en">'),
    ]);
  });
});

describe("the times of a page", () => {
  it("the times of a page follow the browser's time zone, and are UTC until the browser sent it", async () => {
    const { world, visitor } = await start("main");
    const read = async () => {
      const request = new Request(`https://worker/console/sites/${world.siteId}/audit`, {
        headers: { cookie: [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
        cf: { timezone: "America/New_York" } as never,
      });
      const page = await (await world.fetch(request)).text();
      return [/<time [^>]* title="([^"]*)"/.exec(page)?.[1], /<footer>([^<]*)</.exec(page)?.[1]];
    };
    expect(await read()).toEqual(["15 Jan 2027, 08:00:00", "Times are in UTC."]);
    visitor.cookies.set("__Host-zone", "Asia/Shanghai");
    expect(await read()).toEqual(["15 Jan 2027, 16:00:00", "Times are in Asia/Shanghai."]);
    for (const zone of ["Mars/Olympus", "<b>", "", "x".repeat(5000)]) {
      visitor.cookies.set("__Host-zone", zone);
      expect(await read()).toEqual(["15 Jan 2027, 08:00:00", "Times are in UTC."]);
    }
  });
});

describe("the reader's day and week", () => {
  const seconds = (text: string) => Date.parse(text) / 1000;
  it.each([
    ["UTC", "2027-01-15T08:00:00Z", "2027-01-15T00:00:00Z", "2027-01-11T00:00:00Z"],
    ["Asia/Shanghai", "2027-01-15T18:00:00Z", "2027-01-15T16:00:00Z", "2027-01-10T16:00:00Z"],
    ["America/New_York", "2027-01-11T03:00:00Z", "2027-01-10T05:00:00Z", "2027-01-04T05:00:00Z"],
    ["Asia/Kathmandu", "2027-01-11T00:00:00Z", "2027-01-10T18:15:00Z", "2027-01-10T18:15:00Z"],
    // Clocks went forward on Sunday, 28 March 2027, at 01:00 UTC, and go back on 31 October at 01:00 UTC.
    ["Europe/Berlin", "2027-03-28T12:00:00Z", "2027-03-27T23:00:00Z", "2027-03-21T23:00:00Z"],
    ["Europe/Berlin", "2027-10-31T23:30:00Z", "2027-10-31T23:00:00Z", "2027-10-31T23:00:00Z"],
    ["Europe/Berlin", "2027-10-31T12:00:00Z", "2027-10-30T22:00:00Z", "2027-10-24T22:00:00Z"],
    // Clocks go forward on Sunday, 5 September 2027, at midnight: that day begins at 01:00.
    ["America/Santiago", "2027-09-05T12:00:00Z", "2027-09-05T04:00:00Z", "2027-08-30T04:00:00Z"],
    // Clocks go back on Sunday, 7 November 2027, at 01:00: that day has two midnights, and begins at the first.
    ["America/Havana", "2027-11-07T12:00:00Z", "2027-11-07T04:00:00Z", "2027-11-01T04:00:00Z"],
  ])("the reader's day and week begin at midnight and on Monday in %s at %s", (zone, now, day, week) => {
    expect(startOfDayAndWeek(seconds(now), zone)).toEqual({ day: seconds(day), week: seconds(week) });
  });
});

describe("a time that a reader enters", () => {
  const seconds = (text: string) => Date.parse(text) / 1000;
  it.each([
    ["UTC", "2027-01-15T08:30", "2027-01-15T08:30:00Z", "2027-01-15T08:30:59Z"],
    ["UTC", " 2027-01-15 08:30 ", "2027-01-15T08:30:00Z", "2027-01-15T08:30:59Z"],
    ["Asia/Shanghai", "2027-01-15T08:30:07", "2027-01-15T00:30:07Z", "2027-01-15T00:30:07Z"],
    ["Asia/Kathmandu", "2027-01-15T00:00", "2027-01-14T18:15:00Z", "2027-01-14T18:15:59Z"],
    ["America/New_York", "2027-07-01T12:00", "2027-07-01T16:00:00Z", "2027-07-01T16:00:59Z"],
    // The latest accepted time, in the zone where a day begins first.
    ["Pacific/Kiritimati", "9999-12-31T13:59:59", "9999-12-30T23:59:59Z", "9999-12-30T23:59:59Z"],
    // The clocks go forward at 01:00 UTC.
    ["Europe/Berlin", "2027-03-28T01:59", "2027-03-28T00:59:00Z", "2027-03-28T00:59:59Z"],
    ["Europe/Berlin", "2027-03-28T03:00", "2027-03-28T01:00:00Z", "2027-03-28T01:00:59Z"],
  ])("a typed time is read in the time zone %s: %j", (zone, text, start, end) => {
    expect([secondsOf(text, zone), secondsOf(text, zone, true)]).toEqual([seconds(start), seconds(end)]);
    expect(secondsOf(localTime(seconds(end), zone), zone)).toBe(seconds(end));
  });

  it.each(["", "x", "2027-02-30T08:30", "2027-13-01T08:30", "2027-01-15", "2027-01-15T24:30", "2027-01-15T08:30Z"])(
    "this text is not read as a time: %j",
    (text) => {
      expect([secondsOf(text, "UTC"), secondsOf(text, "UTC", true)]).toEqual([undefined, undefined]);
    },
  );
});
