import type { Config } from "../../config.ts";
import { homeClosed, homeDatabase } from "../../core/config.ts";
import type { AppRecord } from "../../core/credentials/find-app.ts";
import type { CredentialResolver } from "../../core/credentials/resolve-credentials.ts";
import type { Keyring } from "../../core/credentials/sealed-secret.ts";
import { ServiceError } from "../../core/errors.ts";
import { MAIN_HOME } from "../../core/homes.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { Telemetry } from "../../core/telemetry/telemetry.ts";
import { notifyQueue } from "../../events/notify-queue.ts";
import { LONGEST_DELAY_SECONDS } from "../../events/target.ts";
import { isAtLeast, type Role } from "../access/role.ts";
import type { Actor, Author } from "../store/audit.ts";
import type { Site } from "../store/directory/sites.ts";
import type { Identity } from "./identity.ts";
import type { OperatorMemory } from "./operator-memory.ts";
import { roleTooLow } from "./refusals.ts";

/**
 * The first argument of every service. A service is a function `verbEntity(ctx, input)`. It refuses by throwing a ServiceError; an error
 * of D1 is thrown as it is. Its `site`, if it takes one, comes from `findSite`.
 */
export interface ServiceContext {
  runtime: Runtime;
  telemetry: Telemetry;
  config: Config;
  credentials: CredentialResolver;
  /** The surface that the operator uses, for the audit log. */
  actor: Actor;
  /** Undefined until the operator is known. */
  identity: Identity | undefined;
  /** The client's network, for the audit log. */
  address: string | null;
  memory: OperatorMemory;
  /** The id of the operator's call, for the audit log. */
  requestId: string;
  /** Unix seconds. */
  now: number;
  /** The deadline of the operator's call, by the runtime's `elapsed`: no try of a change begins after it. */
  answerBy: number;
  /** Whether the call's work in D1 is done, and it posts to a receiver: then its deadline is over. */
  isPosting?: true;
  /** Keeps the Worker running for work that continues after the answer. */
  waitUntil: (work: Promise<unknown>) => void;
}

/** Who makes a change, when, by which call and from where, for the audit log. */
export const authorOf = ({ actor, now, requestId, identity, address }: ServiceContext): Author => ({
  actor,
  now,
  requestId,
  who: identity?.who ?? null,
  address,
});

/** Whether the operator sees a site. Access was checked before, but meanwhile the appid may have gone to another site. */
export const seesSite = ({ identity }: ServiceContext, siteId: number): boolean =>
  identity?.onlySite === undefined || identity.onlySite === siteId;

/**
 * A webhook's URL as the operator may see it. Path and query may hold a token of the receiver. So operators who may not change webhooks see
 * only the scheme and the host.
 */
export function urlFor({ identity }: ServiceContext, url: string): string {
  if (identity !== undefined && isAtLeast(identity.role, "operator")) return url;
  return URL.parse(url)?.origin ?? "";
}

/** Refuses what only a higher role may do. @throws ServiceError `forbidden`, reason `role_too_low` */
export function requireRole({ identity }: ServiceContext, role: Role): void {
  if (identity === undefined || !isAtLeast(identity.role, role)) throw roleTooLow(role, identity?.role ?? "viewer");
}

/** The part of the context that the cron has too, for services that no operator calls. */
export type KeyringTools = Pick<ServiceContext, "runtime" | "config" | "credentials" | "now" | "answerBy">;

export const keyringOf = ({ credentials, config }: Pick<KeyringTools, "credentials" | "config">): Promise<Keyring> =>
  credentials.keyring(config);

/**
 * The database of a site's own data.
 *
 * @throws ServiceError `unavailable` when no database is bound for the home; `conflict` for an unfinished site, which its home does not
 *   have yet
 */
export function homeOf({ config }: ServiceContext, { home, status }: Pick<Site, "home" | "status">): D1Database {
  const db = homeDatabase(config, home);
  if (status !== "creating") return db;
  const detail = `The home ${home} does not have this site yet: create a site of the same name in the same home, which finishes this one.`;
  throw new ServiceError("conflict", { reason: "site_unfinished", detail });
}

/**
 * Refuses to give a new site id or appid while the directory is closed: it may be under restore, and could give the same id twice.
 *
 * @throws ServiceError `unavailable`, reason `home_closed`
 */
export function requireOpenDirectory({ config }: Pick<KeyringTools, "config">): void {
  if (config.closedHomes.has(MAIN_HOME)) throw new ServiceError("unavailable", homeClosed(MAIN_HOME));
}

/**
 * Refuses to delete anything of a home, or to post to a webhook of it, while it or the directory is closed: a restore may have brought
 * somebody back.
 *
 * @throws ServiceError `unavailable`, reason `home_closed`
 */
export function requireOpenHome(ctx: Pick<KeyringTools, "config">, home: string): void {
  if (ctx.config.closedHomes.has(home)) throw new ServiceError("unavailable", homeClosed(home));
  requireOpenDirectory(ctx);
}

/** Puts a changed app into the caches: into this isolate's at once, into KV after the answer. */
export function publishApp({ credentials, config, waitUntil }: ServiceContext, app: AppRecord): void {
  credentials.publish(config, app, waitUntil);
}

/**
 * Notifies the queue of a webhook's due events, after the answer: now, in each of the next `seconds` seconds in which events are due, and
 * at the next retry, in Unix seconds.
 */
export function notifyQueueOf(
  ctx: ServiceContext,
  { home, id: site }: Pick<Site, "home" | "id">,
  webhook: string,
  seconds = 0,
  nextRetry?: number,
): void {
  const delays = Array.from({ length: seconds + 1 }, (_, second) => second);
  if (nextRetry !== undefined) delays.push(Math.min(nextRetry - ctx.now, LONGEST_DELAY_SECONDS));
  const notices = delays.map((delaySeconds) => ({ home, site, webhook, delaySeconds }));
  ctx.waitUntil(notifyQueue(ctx, notices));
}
