import type { BrowserContext, BrowserContextOptions } from "playwright-core";
import { it as plain } from "vitest";
import { startBuiltWorker } from "../support/built-worker.ts";
import { newPage, openBrowser, signIn } from "../support/open-browser.ts";
import { startBigWorld } from "./big-world.ts";
import { docsPage } from "./docs-page.ts";

/** The Worker that answers a page. */
type Served = Parameters<typeof newPage>[1];
type Cookies = Awaited<ReturnType<BrowserContext["cookies"]>>;

/**
 * A test in a real browser. The first test that uses `browser`, `worker` or `world` starts it, and all files of a run share it. A test
 * makes its own site, and looks only at that site's rows. Everything that a test opened is closed at its end.
 *
 * - `worker` is the Worker as it is deployed. It has the homes `main` and `apac`, and the home `shut`, which is closed.
 * - `world` is another Worker, whose clock stands still. A test may add to it only things that may exist twice.
 * - `open` makes a page of a profile without cookies, `signedIn` signs it in, and `openDocs` opens a page of the docs in it. Tests reuse
 *   profiles, because making one takes longer than everything else.
 */
export const it = plain
  // biome-ignore-start lint/correctness/noEmptyPattern: vitest reads here which other parts a part needs
  .extend("browser", { scope: "worker" }, async ({}, { onCleanup }) => {
    const browser = await openBrowser();
    onCleanup(() => browser.close());
    return browser;
  })
  .extend("worker", { scope: "worker" }, async ({}, { onCleanup }) => {
    const vars = { CLOSED_SHUT: "shut", WEBHOOK_LOOPBACK: "allow" };
    const worker = await startBuiltWorker({ homes: ["DB", "HOME_APAC", "HOME_SHUT"], vars });
    onCleanup(worker.close);
    return worker;
  })
  .extend("world", { scope: "worker" }, async ({}, { onCleanup }) => {
    const world = await startBigWorld();
    onCleanup(world.close);
    return world;
  })
  .extend("profiles", { scope: "worker" }, async ({}) => ({
    idle: new Map<string, BrowserContext[]>(),
    /** The cookies of a sign-in. No two profiles share one, because a test may sign out. */
    cookies: new Map<BrowserContext, Cookies>(),
  }))
  // biome-ignore-end lint/correctness/noEmptyPattern: as above
  .extend("open", async ({ browser, profiles }, { onCleanup }) => {
    const lentContexts: [idle: BrowserContext[], context: BrowserContext][] = [];
    onCleanup(async () => {
      for (const [idle, context] of lentContexts) {
        for (const page of context.pages()) await page.close();
        await context.clearCookies();
        idle.push(context);
      }
    });
    return async (by: Served, options: BrowserContextOptions = {}) => {
      const key = JSON.stringify([by.url, options]);
      const idle = profiles.idle.get(key) ?? [];
      profiles.idle.set(key, idle);
      const page = (await idle.pop()?.newPage()) ?? (await newPage(browser, by, options));
      lentContexts.push([idle, page.context()]);
      return page;
    };
  })
  .extend("signedIn", ({ open, profiles }) => {
    return async (by: Served & { adminToken: string }, options: BrowserContextOptions = {}) => {
      const page = await open(by, options);
      const context = page.context();
      await context.addCookies(profiles.cookies.get(context) ?? []);
      await page.goto("/console");
      if ((await page.locator("input[name=token]").count()) === 0) return page;
      // A profile has no cookies the first time, and after a test that signed out.
      await signIn(page, by.adminToken);
      profiles.cookies.set(context, await context.cookies());
      return page;
    };
  })
  .extend("openDocs", ({ worker, open }) => {
    return async (path: string, options: BrowserContextOptions = {}) =>
      docsPage(await open(worker, options), worker.url, path);
  });
