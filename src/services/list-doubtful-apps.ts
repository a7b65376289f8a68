import { homeDatabase } from "../config.ts";
import { readRecords } from "../credentials/kv-records.ts";
import { MAIN_HOME } from "../homes.ts";
import { type RestoredApp, restoredApps, unroutedApps } from "../store/reconcile.ts";
import { askHomes } from "./ask-homes.ts";
import type { ServiceContext } from "./service-context.ts";

/** An app whose restored row says less than what is known elsewhere. */
export interface DoubtfulApp {
  appid: string;
  siteId: number;
  /**
   * `missing`: the home does not have it any more. `revoked`: it was revoked, and now is not. `rotated`: it had another secret, and now
   * has an older one. `unrouted`: the directory was restored, and its site's id belongs to another site by now.
   */
  why: "missing" | "revoked" | "rotated" | "unrouted";
}

export interface DoubtfulApps {
  apps: DoubtfulApp[];
  /** Of a restored directory: homes that do not answer. */
  homesDown: string[];
}

/**
 * The apps of a home that was restored which an operator must look at: KV or the directory knows more of them than the home. Changes
 * nothing.
 *
 * @throws ServiceError `unavailable` when a database or KV does not answer, or no database is bound for the home
 */
export async function listDoubtfulApps(ctx: ServiceContext, { home }: { home: string }): Promise<DoubtfulApps> {
  const { directory, homes } = ctx.config;
  const doubtful: DoubtfulApp[] = [];
  for await (const apps of restoredApps(directory, home, homeDatabase(ctx.config, home))) {
    doubtful.push(...(await compare(ctx, apps)));
  }
  if (home !== MAIN_HOME) return { apps: doubtful, homesDown: [] };
  const others = [...homes].filter(([name]) => name !== MAIN_HOME);
  const { answers, down } = await askHomes(
    ctx,
    (db, name) => Array.fromAsync(unroutedApps(directory, name, db)),
    others,
  );
  const unrouted = [...answers.values()].flat(2).map((app) => ({ ...app, why: "unrouted" as const }));
  return { apps: [...doubtful, ...unrouted], homesDown: down };
}

async function compare({ config }: ServiceContext, apps: RestoredApp[]): Promise<DoubtfulApp[]> {
  const appids = apps.map(({ appid }) => appid);
  const remembered = await readRecords(config.credentials, appids);
  return apps.flatMap(({ appid, siteId, version, revokedAt }) => {
    const record = remembered.get(appid);
    if (version === null) return { appid, siteId, why: "missing" as const };
    if (record === undefined) return [];
    if (record.revokedAt !== null && revokedAt === null) return { appid, siteId, why: "revoked" as const };
    return record.version !== version && revokedAt === null ? { appid, siteId, why: "rotated" as const } : [];
  });
}
