import { homeDatabase } from "../../core/config.ts";
import { readRecords } from "../../core/credentials/kv-records.ts";
import { invalidInput } from "../../core/errors.ts";
import { MAIN_HOME } from "../../core/homes.ts";
import {
  type Route,
  type RoutedApp,
  selectAppsAfter,
  selectAppsOf,
  selectRoutesAfter,
  selectUnroutedOf,
} from "../store/divergent-apps.ts";
import { askHomes } from "./ask-homes.ts";
import { CURSOR_RULE, type Page, type PageInput } from "./page.ts";
import { homeUnknown } from "./refusals.ts";
import type { ServiceContext } from "./service-context.ts";

/** An app about which the directory, its home and KV disagree. */
export interface DivergentApp {
  appid: string;
  siteId: number;
  /**
   * `missing`: the directory has a route to it, and the home does not have it. `revoked`: it was revoked before the restore, and is active
   * now. `rotated`: it had another secret before the restore. `unrouted`: its home has it, and the directory has no route to it.
   */
  why: "missing" | "revoked" | "rotated" | "unrouted";
}

/** How many apps are compared at a time, and in one call at most. A call that found few apps ends there, with a cursor. */
const CHUNK = 1_000;
const MOST_COMPARED = 5_000;
/** No chunk begins after this time, so that the last chunk ends before WHOLE_LIMIT_MS. */
const BEGIN_LIMIT_MS = 3_000;

/** Where a list continues: after an app of the directory's routes, or after an app of another home. */
type ComparisonPlace = { placeAfter: string } | { home: string; placeAfter: Route };

/**
 * A page of the apps that an operator must check after a restore of a home: KV or the directory knows more of them than the home. For
 * `main`, also the apps of other homes that have no route. A page may have fewer items than `limit`, or none, and still have a
 * `nextCursor`. Writes nothing.
 *
 * @throws ServiceError `not_found` for an unknown home; `invalid_input` for a malformed cursor; `unavailable` when the directory, the
 *   home or KV does not answer
 */
export async function listDivergentApps(
  ctx: ServiceContext,
  { home, limit, cursor }: PageInput & { home: string },
): Promise<Page<DivergentApp> & { homesDown: string[] }> {
  const { runtime, config } = ctx;
  if (!config.homes.has(home)) throw homeUnknown();
  const otherHomes = home === MAIN_HOME ? [...config.homes.keys()].filter((name) => name !== MAIN_HOME).sort() : [];
  const answerBy = runtime.elapsed() + BEGIN_LIMIT_MS;
  const items: DivergentApp[] = [];
  const homesDown: string[] = [];
  let place: ComparisonPlace | undefined = placeOf(cursor, otherHomes);
  for (let compared = 0; place !== undefined; ) {
    const {
      divergentApps,
      comparedApps,
      lastApp,
      isDown = false,
    }: ComparedChunk = await compareChunk(ctx, home, place);
    if (isDown && "home" in place) homesDown.push(place.home);
    const shown = divergentApps.slice(0, limit - items.length);
    items.push(...shown);
    place =
      shown.length < divergentApps.length
        ? after(place, shown.at(-1) ?? FIRST_ROUTE)
        : nextPlace(place, lastApp, otherHomes);
    compared += comparedApps;
    if (items.length >= limit || compared >= MOST_COMPARED || runtime.elapsed() >= answerBy) break;
  }
  return { items, nextCursor: place === undefined ? null : cursorOf(place), homesDown };
}

/** The result of comparing one chunk of apps. */
interface ComparedChunk {
  divergentApps: DivergentApp[];
  comparedApps: number;
  /** The last app that was compared; undefined when the list ends here. */
  lastApp: Route | undefined;
  isDown?: boolean;
}

const NOTHING_COMPARED: ComparedChunk = { divergentApps: [], comparedApps: 0, lastApp: undefined };

const compareChunk = (ctx: ServiceContext, home: string, place: ComparisonPlace): Promise<ComparedChunk> =>
  "home" in place ? compareUnrouted(ctx, place.home, place.placeAfter) : compareRouted(ctx, home, place.placeAfter);

async function compareRouted(ctx: ServiceContext, home: string, after: string): Promise<ComparedChunk> {
  const { config } = ctx;
  const routes = await selectRoutesAfter(config.directory, home, after, CHUNK);
  if (routes.length === 0) return NOTHING_COMPARED;
  const apps = await selectAppsOf(homeDatabase(config, home), routes);
  const records = await readRecords(
    config.credentials,
    apps.filter(({ version }) => version !== null).map(({ appid }) => appid),
  );
  const divergentApps = apps.flatMap((app) => {
    const why = whyDivergent(app, records.get(app.appid));
    return why === undefined ? [] : [{ appid: app.appid, siteId: app.siteId, why }];
  });
  return { divergentApps, comparedApps: routes.length, lastApp: routes.length < CHUNK ? undefined : routes.at(-1) };
}

function whyDivergent(
  { version, revokedAt }: RoutedApp,
  record: { version: string; revokedAt: number | null } | undefined,
): DivergentApp["why"] | undefined {
  if (version === null) return "missing";
  if (record === undefined || revokedAt !== null) return undefined;
  if (record.revokedAt !== null) return "revoked";
  return record.version === version ? undefined : "rotated";
}

async function compareUnrouted(ctx: ServiceContext, home: string, after: Route): Promise<ComparedChunk> {
  const { config } = ctx;
  const only: [string, D1Database][] = [[home, homeDatabase(config, home)]];
  const { answers } = await askHomes(ctx, (db) => selectAppsAfter(db, after, CHUNK), only);
  const apps = answers.get(home);
  if (apps === undefined) return { ...NOTHING_COMPARED, isDown: true };
  const unrouted = apps.length === 0 ? [] : await selectUnroutedOf(config.directory, home, apps);
  const divergentApps = unrouted.map((app) => ({ ...app, why: "unrouted" as const }));
  return { divergentApps, comparedApps: apps.length, lastApp: apps.length < CHUNK ? undefined : apps.at(-1) };
}

const FIRST_ROUTE: Route = { siteId: 0, appid: "" };

const after = (place: ComparisonPlace, { appid, siteId }: Route): ComparisonPlace =>
  "home" in place ? { home: place.home, placeAfter: { siteId, appid } } : { placeAfter: appid };

/** Where the comparison continues after a chunk: after its last app, or in the next home. */
function nextPlace(place: ComparisonPlace, last: Route | undefined, otherHomes: string[]): ComparisonPlace | undefined {
  if (last !== undefined) return after(place, last);
  const home = otherHomes["home" in place ? otherHomes.indexOf(place.home) + 1 : 0];
  return home === undefined ? undefined : { home, placeAfter: FIRST_ROUTE };
}

const cursorOf = (place: ComparisonPlace): string =>
  "home" in place ? `${place.home}/${place.placeAfter.siteId}/${place.placeAfter.appid}` : place.placeAfter;

/** Either an appid, or `home/site/appid`. */
export const DIVERGENT_CURSOR = /^(?:([a-z0-9-]{1,31})\/(\d{1,16})\/([A-Za-z0-9_-]{0,64})|([A-Za-z0-9_-]{1,64}))$/;

function placeOf(cursor: string | undefined, otherHomes: string[]): ComparisonPlace {
  if (cursor === undefined) return { placeAfter: "" };
  const [, home, siteId, appid = "", own] = DIVERGENT_CURSOR.exec(cursor) ?? [];
  if (own !== undefined) return { placeAfter: own };
  if (home === undefined || !otherHomes.includes(home)) throw invalidInput([{ field: "cursor", message: CURSOR_RULE }]);
  return { home, placeAfter: { siteId: Number(siteId), appid } };
}
