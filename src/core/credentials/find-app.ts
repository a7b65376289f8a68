import type { Config } from "../config.ts";
import { homeClosed, homeDatabase } from "../config.ts";
import { ServiceError } from "../errors.ts";
import { MAIN_HOME } from "../homes.ts";
import type { Runtime } from "../runtime.ts";
import { type Route, selectRoute } from "../store/app-routes.ts";
import { type AppRow, selectApp } from "../store/apps.ts";
import { hereOrElsewhere } from "../store/here-or-elsewhere.ts";

/** An app as stored, with sealed secrets, and its home. KV keeps it in this form. */
export type AppRecord = AppRow & { home: string };

type Databases = Pick<Config, "directory" | "homes">;

interface SearchOptions {
  /** Deadline in milliseconds of the runtime's `elapsed`. */
  answerBy?: number | undefined;
  /** Homes that must not be asked. */
  closed?: ReadonlySet<string> | undefined;
  /** Called as soon as the directory names the app's place, even when the home then fails or does not have the app. */
  onRoute?: ((place: KnownPlace) => void) | undefined;
}

/** The site and the home where an app was found the last time. */
export type KnownPlace = Pick<AppRecord, "appid" | "siteId" | "home">;

/**
 * Finds an app through the directory. This takes one round trip when the app's home is the directory's own database, otherwise two.
 *
 * @throws ServiceError `unavailable` when the directory or the home does not answer, or the home is unbound or closed
 */
export async function findApp(
  runtime: Runtime,
  databases: Databases,
  appid: string,
  search: SearchOptions = {},
): Promise<AppRecord | null> {
  const route = await selectRoute(runtime, databases.directory, appid, search.answerBy);
  if (route === undefined) return null;
  return follow(runtime, databases, appid, route, search);
}

/**
 * Reads again an app that may have moved. `trust` says which database is asked first:
 * - `home`: the known home is asked first, so a rotated secret works at once even while the directory is down. When the home does
 *   not have the app, has revoked it or does not answer a try, the directory is asked where the app is now.
 * - `directory`: the known home is not asked. Null when the directory names no other place.
 *
 * @throws as {@link findApp}
 */
export async function findKnownApp(
  runtime: Runtime,
  databases: Databases,
  knownPlace: KnownPlace,
  trust: "home" | "directory",
  search: SearchOptions,
): Promise<AppRecord | null> {
  const { appid, home } = knownPlace;
  const findElsewhere = () => findRouteElsewhere(runtime, databases, knownPlace, search);
  const followRoute = (route: Route) => follow(runtime, databases, appid, route, search);
  if (trust === "directory") {
    // The closed or silent home is the directory itself, so there is no other database to ask.
    const route = home === MAIN_HOME ? undefined : await findElsewhere();
    return route === undefined ? null : followRoute(route);
  }
  const db = databases.homes.get(home);
  if (home === MAIN_HOME || db === undefined) return findApp(runtime, databases, appid, search);
  const answerOrRoute = await hereOrElsewhere(
    (watch) => selectApp(runtime, db, knownPlace, search.answerBy, watch),
    findElsewhere,
  );
  if ("elsewhere" in answerOrRoute) return followRoute(answerOrRoute.elsewhere);
  const app = answerOrRoute.answer ?? null;
  if (app !== null && app.revokedAt === null) return { ...app, home };
  const route = await findElsewhere();
  return route === undefined ? app && { ...app, home } : followRoute(route);
}

/** The place of an app in the directory. Undefined when it is the known place, or the directory has no route. */
async function findRouteElsewhere(
  runtime: Runtime,
  { directory }: Databases,
  knownPlace: KnownPlace,
  { answerBy, onRoute }: SearchOptions,
): Promise<Route | undefined> {
  const route = await selectRoute(runtime, directory, knownPlace.appid, answerBy);
  if (route === undefined) return undefined;
  if (!isAt(route, knownPlace)) return route;
  onRoute?.(knownPlace);
  return undefined;
}

const isAt = (route: Route, { siteId, home }: KnownPlace): boolean => route.siteId === siteId && route.home === home;

async function follow(
  runtime: Runtime,
  databases: Databases,
  appid: string,
  { siteId, home, app }: Route,
  { answerBy, closed, onRoute }: SearchOptions,
): Promise<AppRecord | null> {
  onRoute?.({ appid, siteId, home });
  if (closed?.has(home)) throw new ServiceError("unavailable", homeClosed(home));
  const appRow =
    home === MAIN_HOME ? app : await selectApp(runtime, homeDatabase(databases, home), { siteId, appid }, answerBy);
  return appRow ? { ...appRow, home } : null;
}
