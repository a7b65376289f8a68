import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { newPage, signIn } from "../support/open-browser.ts";
import { settled } from "../support/page-settled.ts";
import { violations } from "../support/violations.ts";
import { it } from "./it.ts";
import { OVERLAPS } from "./overlaps.ts";
import { PAGES } from "./pages.ts";
import { POSTED_PAGES } from "./posted-pages.ts";
import { unfoldAll } from "./steps.ts";

/** The pages that mainly show a list. */
const LISTS = [
  "sites",
  "homes",
  "people",
  "tokens",
  "audit",
  "audit-all",
  "sessions",
  "sessions-filtered",
  "apps",
  "agents",
  "webhooks",
  "refusals",
  "refusals-filtered",
];

/** The rows of this list have a bar for the size, and so three lines on a phone. */
const WITH_BARS = "homes";

const PHONE = { width: 390, height: 664 };
const DESKTOP = { width: 1280, height: 800 };
const WINDOWS = [DESKTOP, { width: 768, height: 1024 }, PHONE, { width: 320, height: 568 }];
/** The windows in which an unfolded page has the least room for parts beside each other. */
const TIGHT_WINDOWS = [
  { width: 900, height: 800 },
  { width: 700, height: 800 },
  { width: 320, height: 568 },
];

/** The views cover each language, a desk and a phone. All windows are measured. axe looks at the view's window, in both themes. */
const VIEWS = [
  { locale: "en-GB", colorScheme: "light", viewport: DESKTOP },
  { locale: "zh-CN", colorScheme: "dark", viewport: PHONE },
] as const;

/** The rules of axe that a theme can break. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];

interface Row {
  height: number;
  /** Whether a cell has two small lines. */
  isPair: boolean;
  text: string;
}

/** The measures of a page, in pixels. */
interface MeasuredPage {
  name: string;
  locale: string;
  width: number;
  /** The end of the first complete row; null without rows. */
  firstRowEnds: number | null;
  rows: Row[];
  navigations: number[];
  /** How far the page extends beyond the window, and the text that does. */
  beyond: number;
  widest: string;
  /** The left ends of the links of the header, and of the tabs of a site. */
  links: string;
  tabs: string;
  /** The texts that stand over each other. */
  overlaps: string[];
}

/** Code that runs in the page. It is a text, because a compiled function would use names that the page does not have. */
const MEASURE = `(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const boxOf = (element) => element.getBoundingClientRect();
  const lefts = (selector) => all(selector).map((link) => Math.round(boxOf(link).left)).join(" ");
  const rows = all("table:not(.numbers) tbody tr").filter((row) => row.offsetParent !== null);
  const { clientWidth, scrollWidth } = document.documentElement;
  const widest = scrollWidth > clientWidth
    ? all("body *").filter((each) => boxOf(each).right > clientWidth).at(-1) : undefined;
  return {
    firstRowEnds: rows[0] ? Math.ceil(boxOf(rows[0]).bottom) : null,
    rows: rows.map((row) => ({
      height: Math.round(boxOf(row).height),
      isPair: row.querySelector(".pair") !== null,
      text: row.innerText.slice(0, 60),
    })),
    links: lefts(".bar nav a"),
    tabs: lefts("nav.tabs a"),
    navigations: all(".bar nav, nav.tabs").map((nav) => boxOf(nav).height),
    beyond: scrollWidth - clientWidth,
    widest: widest ? widest.outerHTML.slice(0, 120) : "",
  };
})()`;

/** The measures of every page in every window and language. They are taken once, because opening all pages takes long. */
const measured: MeasuredPage[] = [];
/** How far each unfolded page extends beyond a window, and which of its texts stand over each other. */
const unfolded: Pick<MeasuredPage, "name" | "locale" | "width" | "beyond" | "widest" | "overlaps">[] = [];
/** The violations that axe finds on each page when it is unfolded. */
const findings: [name: string, locale: string, violations: string[]][] = [];

async function lookFor(page: Page, name: string, { locale, colorScheme }: (typeof VIEWS)[number]): Promise<void> {
  const own = await violations(page);
  const other = colorScheme === "light" ? "dark" : "light";
  await page.emulateMedia({ colorScheme: other });
  const colours = await violations(page, OF_COLOURS);
  await page.emulateMedia({ colorScheme });
  findings.push([name, locale, [...own, ...colours.map((fault) => `when it is ${other}: ${fault}`)]]);
}

it.beforeAll(async ({ browser, world }) => {
  const look = async (view: (typeof VIEWS)[number]) => {
    const page = await newPage(browser, world.worker, view);
    await signIn(page, world.worker.adminToken);
    const { locale, viewport } = view;
    const measure = async (list: object[], name: string, windows: typeof WINDOWS) => {
      for (const window of windows) {
        await page.setViewportSize(window);
        const overlaps = await page.evaluate<string[]>(OVERLAPS);
        list.push({ name, locale, width: window.width, overlaps, ...(await page.evaluate<object>(MEASURE)) });
      }
      await page.setViewportSize(viewport);
    };
    for (const { name, at } of PAGES) {
      await page.goto(at(world));
      await settled(page);
      await measure(measured, name, WINDOWS);
      await unfoldAll(page);
      await measure(unfolded, name, TIGHT_WINDOWS);
      await lookFor(page, name, view);
    }
    return { page, view };
  };
  // Pages behind forms are opened in one view after the other, because the forms change the world.
  for (const { page, view } of await Promise.all(VIEWS.map(look))) {
    for (const { name, open } of POSTED_PAGES) {
      await open(page, world);
      await lookFor(page, name, view);
    }
    await page.context().close();
  }
}, 900_000);

const inWindow = ({ width }: { width: number }) => measured.filter((each) => each.width === width);

/** The wrong rows of each page: their number and the first one. */
const wrongRows = (window: { width: number }, isRight: (row: Row, name: string) => boolean) =>
  inWindow(window)
    .map(({ name, locale, rows }) => ({ name, locale, wrong: rows.filter((row) => !isRight(row, name)) }))
    .filter(({ wrong }) => wrong.length > 0)
    .map(({ name, locale, wrong: [first, ...more] }) =>
      [name, locale, `${first?.height} px`, `and ${more.length} more`, JSON.stringify(first?.text)].join(" "),
    );

describe("on a phone of 390 × 664", () => {
  it("on a phone, the first complete row of each list is in the first screen", () => {
    const lists = inWindow(PHONE).filter(({ name }) => LISTS.includes(name));
    expect(lists.map(({ name }) => name).sort()).toEqual([...LISTS, ...LISTS].sort());
    const late = lists.filter(({ firstRowEnds }) => firstRowEnds === null || firstRowEnds > PHONE.height);
    expect(late.map(({ name, locale, firstRowEnds }) => `${name} ${locale} ${firstRowEnds}`)).toEqual([]);
  });

  it("on a phone, each row of a list has two lines at most", () => {
    expect(wrongRows(PHONE, ({ height }, name) => height <= (name === WITH_BARS ? 100 : 76))).toEqual([]);
  });
});

it("in a window of 1280 px, each row of a list is 44 to 48 px high, or 56 px with two small lines", () => {
  expect(wrongRows(DESKTOP, ({ height, isPair }) => height >= 44 && height <= (isPair ? 56 : 48))).toEqual([]);
});

it("each navigation of a page is one line, in any window", () => {
  const high = measured.filter(({ navigations }) => navigations.some((height) => height > 48));
  expect(high.map(({ name, locale, width, navigations }) => `${name} ${locale} ${width} ${navigations}`)).toEqual([]);
});

it("in a window of 1280 px, the tabs of a site keep their places on every page and in both languages", () => {
  const whole = inWindow(DESKTOP).filter(({ tabs }) => tabs.split(" ").length > 2);
  expect(whole.length).toBeGreaterThan(20);
  expect([...new Set(whole.map(({ tabs }) => tabs))]).toHaveLength(1);
});

it("in a window of 1280 px, the links of the header keep their places on every page of a language", () => {
  const places = inWindow(DESKTOP).map(({ locale, links }) => `${locale} ${links}`);
  expect([...new Set(places)]).toHaveLength(VIEWS.length);
});

it("no page scrolls sideways, folded or unfolded, in any window", () => {
  const wide = [measured, unfolded].flat().filter(({ beyond }) => beyond > 0);
  expect(
    wide.map(({ name, locale, width, beyond, widest }) => `${name} ${locale} ${width} +${beyond} ${widest}`),
  ).toEqual([]);
});

it("on no page a text stands over another, folded or unfolded, in any window", () => {
  const bad = [measured, unfolded].flat().filter(({ overlaps }) => overlaps.length > 0);
  expect(bad.map(({ name, locale, width, overlaps }) => `${name} ${locale} ${width} ${overlaps[0]}`)).toEqual([]);
});

it("no page has an accessibility violation, also no page that a form leads to", () => {
  expect(findings).toHaveLength(VIEWS.length * (PAGES.length + POSTED_PAGES.length));
  expect(findings.filter(([, , faults]) => faults.length > 0)).toEqual([]);
});
