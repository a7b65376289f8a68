/**
 * Makes the README's pictures: `npm run screenshots`. The clock stands still and the ids are fixed. So on one machine the same code
 * makes the same files, and a changed picture means a changed page.
 *
 * `npm run screenshots -- FOLDER --full [page …]` makes pictures of the console in the big world, for people to look at. It makes the
 * first screen and the whole page, of the named pages or of all. `--width 390`, `--theme dark` and `--lang zh` make fewer pictures.
 */
import { spawnSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Browser, Page } from "playwright-core";
import { startBuiltWorker } from "../support/built-worker.ts";
import { DESKTOP, newPage, openBrowser, signIn } from "../support/open-browser.ts";
import { settled } from "../support/page-settled.ts";
import { startBigWorld } from "./big-world.ts";
import { PAGES } from "./pages.ts";
import { checkSignature, POSTED_PAGES } from "./posted-pages.ts";
import { seedReadmeWorld } from "./readme-world.ts";
import { SHOWN } from "./shown-time.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    full: { type: "boolean", default: false },
    width: { type: "string" },
    theme: { type: "string" },
    lang: { type: "string" },
  },
});
const [folder = join(import.meta.dirname, "../../.github/screenshots"), ...names] = positionals;

// Without such a font the pictures would show boxes instead of Chinese characters.
const fonts = spawnSync("fc-list", [":lang=zh"], { encoding: "utf8" });
if (fonts.error === undefined && fonts.stdout.trim() === "") {
  console.error(
    "There is no font with Chinese. The pictures in the repository are made with Debian's fonts-wqy-zenhei.",
  );
  process.exit(1);
}

await mkdir(folder, { recursive: true });
const browser = await openBrowser();
try {
  await (values.full ? shootBigWorld(browser) : shootReadme(browser));
} finally {
  await browser.close();
}

async function shootReadme(browser: Browser): Promise<void> {
  const worker = await startBuiltWorker({ main: "test/browser/worker-for-pictures.ts" });
  try {
    const { site, app } = await seedReadmeWorld(worker);
    const page = await newPage(browser, worker, { timezoneId: "UTC" });
    await signIn(page, worker.adminToken);
    await page.clock.setFixedTime(SHOWN * 1000);
    const shoot = async (name: string) => {
      await settled(page);
      await page.screenshot({ path: join(folder, `${name}-light.png`) });
    };
    await page.goto(site);
    await shoot("site");
    await checkSignature(page, { apps: { active: [app] } });
    await shoot("signature-check");
    await page.context().close();
  } finally {
    await worker.close();
  }
}

async function shootBigWorld(browser: Browser): Promise<void> {
  const knownPages = [
    ...PAGES.map(({ name, at }) => ({ name, open: (page: Page) => page.goto(at(world)) })),
    ...POSTED_PAGES.map(({ name, open }) => ({ name, open: (page: Page) => open(page, world) })),
  ];
  const badNames = names.filter((name) => !knownPages.some((each) => each.name === name));
  if (badNames.length > 0) {
    console.error(`No such page: ${badNames.join(", ")}. There are: ${knownPages.map(({ name }) => name).join(", ")}.`);
    process.exit(1);
  }
  const pages = names.length === 0 ? knownPages : knownPages.filter(({ name }) => names.includes(name));
  const only = (all: readonly string[], choice: string | undefined) => (choice === undefined ? all : [choice]);
  const world = await startBigWorld();
  try {
    for (const lang of only(["en", "zh"], values.lang)) {
      for (const theme of only(["light", "dark"], values.theme)) {
        for (const width of only(["390", "1280"], values.width)) {
          const isPhone = Number(width) < 700;
          const page = await newPage(browser, world.worker, {
            timezoneId: "UTC",
            locale: lang === "zh" ? "zh-CN" : "en-GB",
            colorScheme: theme === "dark" ? "dark" : "light",
            viewport: { width: Number(width), height: isPhone ? 664 : DESKTOP.height },
            deviceScaleFactor: isPhone ? 2 : 1,
          });
          await signIn(page, world.worker.adminToken);
          await page.clock.setFixedTime(SHOWN * 1000);
          for (const { name, open } of pages) {
            // A wrong page must not stop the pictures of the other pages.
            await open(page).catch((fault) => console.error(`${name}: ${fault}`));
            await settled(page);
            const file = join(folder, `${name}-${width}-${theme}-${lang}`);
            await page.screenshot({ path: `${file}.png` });
            await page.screenshot({ path: `${file}-full.png`, fullPage: true });
          }
          await page.context().close();
        }
      }
    }
  } finally {
    await world.close();
  }
}
