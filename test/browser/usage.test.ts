import { expect } from "vitest";
import type { BuiltWorker } from "../support/built-worker.ts";
import { DESKTOP, PHONE } from "../support/open-browser.ts";
import { it } from "./it.ts";

const DAY = 86_400;

/** The accepted and the refused calls of 14 days, up to today. */
const ACCEPTED = [412, 455, 390, 120, 98, 433, 467, 521, 498, 470, 133, 0, 540, 210];
const REFUSED = [4, 2, 6, 0, 1, 3, 5, 2, 4, 3, 1, 0, 6, 148];

/** Makes a site with these calls, and with an app whose secret was rotated. */
async function provision(worker: BuiltWorker) {
  const { siteId, appid } = await worker.provision();
  await worker.admin("POST", `/admin/apps/${appid}/rotate`, { overlap_seconds: DAY });
  const db = worker.env.DB as D1Database;
  const [[now = 0, old] = []] = await db
    .prepare("SELECT unixepoch(), previous_version FROM apps WHERE appid = ?")
    .bind(appid)
    .raw<[number, string]>();
  const add = db.prepare("INSERT INTO usage VALUES (?, ?, 'create_session', ?, ?, ?, ?, ?, NULL)");
  const today = now - (now % DAY);
  const rows = ACCEPTED.flatMap((acceptedCount, i) => {
    const hour = today - (13 - i) * DAY;
    const row = (outcome: string, secret: string, count: number) =>
      count === 0 ? [] : [add.bind(siteId, appid, outcome, secret, count, hour + 60, hour)];
    return [...row("accepted", String(old), acceptedCount), ...row("timestamp_stale", "", REFUSED[i] ?? 0)];
  });
  const fold = db.prepare("INSERT OR REPLACE INTO folds VALUES (1, ?, ?, 0)").bind(now, now);
  await db.batch([...rows, fold]);
  return { site: `/console/sites/${siteId}`, app: `/console/sites/${siteId}/apps/${appid}` };
}

it.for([
  ["a wide window", { viewport: DESKTOP }],
  ["a phone", { viewport: PHONE, deviceScaleFactor: 2 }],
] as const)(
  "the calls of a site are a picture with a name, and a table of 14 days that fits the screen of %s",
  async ([, options], { worker, signedIn }) => {
    const { site, app } = await provision(worker);
    const page = await signedIn(worker, options);
    await page.goto(site);
    await page.getByRole("img", { name: "Calls in the last 14 days: 4,932, of which 185 were refused." }).waitFor();
    await page.getByRole("link", { name: "The timestamp was too old." }).waitFor();
    await page.getByText("The numbers of each day").click();
    const table = page.getByRole("table", { name: "Calls by day" });
    expect(await table.getByRole("row").count()).toBe(15);
    const [content, screen = 0] = await page.evaluate<number[]>("[document.body.scrollWidth, innerWidth]");
    expect(content).toBeLessThanOrEqual(screen);
    for (const path of [app, `${app}/end-overlap`]) {
      await page.goto(path);
      await page.getByText("The old secret was last used on").waitFor();
    }
  },
);
