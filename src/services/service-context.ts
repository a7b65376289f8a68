import { type Config, homeClosed, homeDatabase } from "../config.ts";
import type { AppRecord } from "../credentials/find-app.ts";
import type { CredentialResolver } from "../credentials/resolve-credentials.ts";
import type { Keyring } from "../credentials/sealed-secret.ts";
import { ServiceError } from "../errors.ts";
import { MAIN_HOME } from "../homes.ts";
import type { Runtime } from "../runtime.ts";
import type { Actor, Author } from "../store/audit.ts";
import type { Site } from "../store/directory/sites.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { notifyQueue } from "../webhooks/notify-queue.ts";

/**
 * The first argument of every service, a function `verbEntity(ctx, input)`. A service refuses by throwing a ServiceError; errors of D1 pass
 * through. A service with a `site` expects what `findSite` found.
 */
export interface ServiceContext {
  runtime: Runtime;
  telemetry: Telemetry;
  config: Config;
  credentials: CredentialResolver;
  /** The face that the operator uses, for the audit log. */
  actor: Actor;
  /** Unix seconds. */
  now: number;
  /** When the operator is answered at the latest, by the runtime's `elapsed`: no change over another one is begun after that. */
  answerBy: number;
  /** Keeps the Worker alive for work that continues after the answer. */
  waitUntil: (work: Promise<unknown>) => void;
}

/** Who makes a change and when, for the audit log. */
export const authorOf = ({ actor, now }: ServiceContext): Author => ({ actor, now });

export const keyringOf = ({ credentials, config }: ServiceContext): Promise<Keyring> => credentials.keyring(config);

/**
 * The database of a site's own data.
 *
 * @throws ServiceError `unavailable` when no database is bound for the home; `conflict` when the site was begun and its home does not
 *   have it yet
 */
export function homeOf({ config }: ServiceContext, { home, status }: Pick<Site, "home" | "status">): D1Database {
  const db = homeDatabase(config, home);
  if (status !== "creating") return db;
  const detail = `The home ${home} does not have this site yet: create a site of the same name in the same home, which finishes this one.`;
  throw new ServiceError("conflict", { reason: "site_unfinished", detail });
}

/**
 * Refuses to give out a new site id or appid while the directory may be under restore: it has forgotten some, and would give them twice.
 *
 * @throws ServiceError `unavailable`, reason `home_closed`
 */
export function requireOpenDirectory({ config }: ServiceContext): void {
  if (config.closedHomes.has(MAIN_HOME)) throw new ServiceError("unavailable", homeClosed(MAIN_HOME));
}

/** Tells the caches of a changed app: this isolate at once, KV after the answer. */
export function publishApp({ credentials, config, waitUntil }: ServiceContext, app: AppRecord): void {
  credentials.publish(config, app, waitUntil);
}

/** Has what is due for a webhook delivered, after the answer. */
export function notifyQueueOf(
  ctx: ServiceContext,
  { home, id: site }: Pick<Site, "home" | "id">,
  webhook: string,
): void {
  ctx.waitUntil(notifyQueue(ctx, [{ home, site, webhook }]));
}
