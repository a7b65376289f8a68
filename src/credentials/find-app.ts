import { type Config, homeClosed, homeDatabase } from "../config.ts";
import { ServiceError } from "../errors.ts";
import { MAIN_HOME } from "../homes.ts";
import type { Runtime } from "../runtime.ts";
import { type Route, selectRoute } from "../store/directory/app-routes.ts";
import { hereOrElsewhere } from "../store/here-or-elsewhere.ts";
import * as apps from "../store/home/apps.ts";

/** An app as stored, with sealed secrets, and its home. KV keeps it in this form. */
export type AppRecord = apps.AppRow & { home: string };

type Databases = Pick<Config, "directory" | "homes">;

/** The site and the home where an app was found the last time. */
export type KnownPlace = Pick<AppRecord, "appid" | "siteId" | "home">;

/**
 * Finds an app: the directory says where it is. One trip when the app's home is the directory's own database, two otherwise.
 *
 * @param answerBy deadline in milliseconds of the runtime's `elapsed`
 * @param closed   homes that must not be asked
 * @throws ServiceError `unavailable` when the directory or the home does not answer, or the home is unbound or closed
 */
export async function findApp(
  runtime: Runtime,
  databases: Databases,
  appid: string,
  answerBy?: number,
  closed?: ReadonlySet<string>,
): Promise<AppRecord | null> {
  const route = await selectRoute(runtime, databases.directory, appid, answerBy);
  if (route === undefined) return null;
  return follow(runtime, databases, appid, route, answerBy, closed);
}

/**
 * Reads an app again that may have moved. `trust` says whose answer is good enough:
 * - `home`: the known home is asked first, so a rotated secret works at once even while the directory is down. When that home does
 *   not have the app, has it revoked, or leaves a try without an answer, the directory is asked where the app is now.
 * - `directory`: the known home is not asked. Null when the directory names no other place.
 *
 * @throws as {@link findApp}
 */
export async function findKnownApp(
  runtime: Runtime,
  databases: Databases,
  known: KnownPlace,
  trust: "home" | "directory",
  answerBy?: number,
  closed?: ReadonlySet<string>,
): Promise<AppRecord | null> {
  const { appid, home } = known;
  const elsewhere = () => findRouteElsewhere(runtime, databases, known, answerBy);
  const followed = (route: Route) => follow(runtime, databases, appid, route, answerBy, closed);
  if (trust === "directory") {
    // The home that is closed or does not answer is the directory itself, so there is no other database to ask.
    const route = home === MAIN_HOME ? undefined : await elsewhere();
    return route === undefined ? null : followed(route);
  }
  const db = databases.homes.get(home);
  if (home === MAIN_HOME || db === undefined) return findApp(runtime, databases, appid, answerBy, closed);
  const found = await hereOrElsewhere((watch) => apps.selectApp(runtime, db, known, answerBy, watch), elsewhere);
  if ("elsewhere" in found) return followed(found.elsewhere);
  const app = found.answer ?? null;
  if (app !== null && app.revokedAt === null) return { ...app, home };
  const route = await elsewhere();
  return route === undefined ? app && { ...app, home } : followed(route);
}

/** The place of an app in the directory. Undefined when it is the known place, or the directory has no route. */
async function findRouteElsewhere(
  runtime: Runtime,
  { directory }: Databases,
  known: KnownPlace,
  answerBy: number | undefined,
): Promise<Route | undefined> {
  const route = await selectRoute(runtime, directory, known.appid, answerBy);
  return route === undefined || isAt(route, known) ? undefined : route;
}

const isAt = (route: Route, { siteId, home }: KnownPlace): boolean => route.siteId === siteId && route.home === home;

async function follow(
  runtime: Runtime,
  databases: Databases,
  appid: string,
  { siteId, home, app }: Route,
  answerBy: number | undefined,
  closed: ReadonlySet<string> | undefined,
): Promise<AppRecord | null> {
  if (closed?.has(home)) throw new ServiceError("unavailable", homeClosed(home));
  const found =
    home === MAIN_HOME
      ? app
      : await apps.selectApp(runtime, homeDatabase(databases, home), { siteId, appid }, answerBy);
  return found ? { ...found, home } : null;
}
