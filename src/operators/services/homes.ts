import * as z from "zod/mini";
import { ServiceError } from "../../core/errors.ts";
import { MAIN_HOME } from "../../core/homes.ts";
import { NONCE_SECONDS } from "../../core/signed/kv-nonces.ts";
import { copyRoutesToDirectory, copySitesToDirectory, copySitesToHome } from "../store/copy-sites.ts";
import { countSitesByHome } from "../store/directory/sites.ts";
import { probeHome } from "../store/home/probe.ts";
import {
  type RememberedFloors,
  readFloors,
  readHighestSite,
  writeReconciledFloors,
  writeSiteId,
} from "../store/kv-floors.ts";
import {
  keepInDirectory,
  notCopied,
  noteCopied,
  readingStopped,
  reconciledAt,
  selectFloors,
  skipIds,
  stopReading,
} from "../store/reconciliations.ts";
import { askHomes } from "./ask-homes.ts";
import { deleteAgain, type KeptDeletion, keepDeletionsOf, keptDeletionsSchema } from "./delete-again.ts";
import { eraseAgain, type KeptReceipt, keptReceiptsSchema, type RepeatedErasures } from "./erase-again.ts";
import { listUsablePeople, type Person } from "./people.ts";
import { homeUnknown } from "./refusals.ts";
import { fromKv } from "./remember-floors.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";
import { listUsableTokens, type Token } from "./tokens.ts";

export interface Home {
  name: string;
  /** How many sites the directory has for it. */
  sites: number;
  /** `closed` while a secret closes it; `down` when its database does not answer, is not migrated, or is not bound. */
  status: "open" | "closed" | "down";
}

/**
 * Every bound home, `main` first, then every home that a site names although no database is bound for it.
 *
 * @throws ServiceError `unavailable` when the directory does not answer or is not migrated; the detail says which
 */
export async function listHomes(ctx: ServiceContext): Promise<Home[]> {
  const { config } = ctx;
  const { answers, silentHomes } = await askHomes(ctx, async (db, home) => {
    const [, counts] = await Promise.all([probeHome(db), home === MAIN_HOME ? countSitesByHome(db) : undefined]);
    return counts;
  });
  const sites = answers.get(MAIN_HOME);
  if (sites === undefined) {
    const detail = "The directory, which is in the home main, does not answer or is not migrated.";
    throw new ServiceError("unavailable", { reason: "d1_unavailable", detail, retryAfter: 1 });
  }
  const statusOf = (name: string): Home["status"] => {
    if (config.closedHomes.has(name)) return "closed";
    return config.homes.has(name) && !silentHomes.includes(name) ? "open" : "down";
  };
  const names = new Set([...config.homes.keys(), ...sites.keys()]);
  return [...names].map((name) => ({ name, sites: sites.get(name) ?? 0, status: statusOf(name) }));
}

const SKIP_RULE = "must be an integer from 1 to 1000000000";
const RECONCILIATION_ID_RULE = "must be 1 to 64 of A-Z a-z 0-9 _ -";

const MOST_RECEIPTS = 50;
const RECEIPTS_RULE = `must be a list of up to ${MOST_RECEIPTS} receipts`;

const MOST_DELETIONS = 50;
const DELETIONS_RULE = `must be a list of up to ${MOST_DELETIONS} deletions`;

/** Body of POST /admin/homes/:name/restored. */
export const reconcileSchema = z.strictObject({
  lift: z._default(z.int(SKIP_RULE).check(z.minimum(1, SKIP_RULE), z.maximum(1_000_000_000, SKIP_RULE)), 1_000_000),
  settling_id: z.optional(
    z.string(RECONCILIATION_ID_RULE).check(z.regex(/^[A-Za-z0-9_-]{1,64}$/, RECONCILIATION_ID_RULE)),
  ),
  force: z._default(z.boolean("must be true or false"), false),
  receipts: z.optional(keptReceiptsSchema.check(z.maxLength(MOST_RECEIPTS, RECEIPTS_RULE))),
  deletions: z.optional(keptDeletionsSchema.check(z.maxLength(MOST_DELETIONS, DELETIONS_RULE))),
});

interface ReconcileHome {
  home: string;
  /** How many chat ids and event seqs each site skips. */
  skip: number;
  /** Each restore needs a new id; a retry of its reconciliation sends the same id. Default: a random one. */
  reconciliationId?: string | undefined;
  /** Reconciles also an open home. Sessions that it opens during the call may get ids that were already given before the restore. */
  force?: boolean;
  /** Receipts of erasures that the operator kept, for a deployment without KV. */
  receipts?: readonly KeptReceipt[] | undefined;
  /** Deletions of sites that the operator kept, for a deployment without KV. */
  deletions?: readonly KeptDeletion[] | undefined;
}

export interface ReconciledHome {
  reconciliationId: string;
  /** How many sites the home has. */
  sites: number;
  /** How many chat ids this call made each site skip: 0 when an earlier try did it. */
  skippedBy: number;
  /** Unix seconds. By then every request from before the restore is too old to be accepted a second time. */
  reopenAfter: number;
  /** What the home has erased again. The home must stay closed until `left` is 0, which also counts sites that are back: call again. */
  erasures: RepeatedErasures;
  /** How many deleted sites the restore brought back: they are deleted once more. */
  sitesDeletedAgain: number;
  /** For a restored directory: homes that did not answer, so their sites and routes are missing. Keep `main` closed and call again. */
  homesDown: string[];
  /** For a restored directory: the tokens that it has now. Tokens that were deleted after the restored time are back. */
  tokens: Token[];
  /** For a restored directory: the people who may come in now. Whose access was ended after the restored time is back. */
  people: Person[];
}

/** The deadline of copies from other homes, from the start of the call. It is below WHOLE_LIMIT_MS, so the answer can name late homes. */
const HOMES_LIMIT_MS = 7_000;

/** How long a call reads KV's floors. A call to KV takes less, so each call makes progress. The rest of the time is for D1. */
const READ_LIMIT_MS = 4_000;

/** A random id of a reconciliation, for {@link reconcileHome}. */
export const newReconciliationId = ({ runtime }: ServiceContext): string => runtime.bytes(16).toHex();

/**
 * Reconciles a home, after D1's Time Travel restored it, with the other databases and KV. The home gets its lost sites back, and every
 * site skips all ids that may have been given. The directory and KV keep the new floors for the next restore. A restored directory also
 * gets back the sites and routes of the other homes. Close the home first, and open it at `reopenAfter`. The same call sent again skips
 * no more ids and continues where it stopped.
 *
 * @throws ServiceError `not_found` for an unknown home; `conflict`, reason `home_open`, for a home that is not closed, unless forced, or
 *   `settling_ended`, for an id whose reconciliation ended too long ago for a retry; `unavailable` when the directory, the home or KV does not
 *   answer, or, reason `floors_unread`, when KV holds more than one call reads: send it again
 */
export async function reconcileHome(
  ctx: ServiceContext,
  {
    home,
    skip,
    reconciliationId = newReconciliationId(ctx),
    force = false,
    receipts = [],
    deletions = [],
  }: ReconcileHome,
): Promise<ReconciledHome> {
  const { runtime, now } = ctx;
  const { directory, homes, closedHomes, credentials } = ctx.config;
  const answerBy = runtime.elapsed() + HOMES_LIMIT_MS;
  const db = homes.get(home);
  if (db === undefined) throw homeUnknown();
  if (!closedHomes.has(home) && !force) throw homeIsOpen(home);
  const reconciliation = { id: reconciliationId, home, skip };
  const askKv = fromKv(ctx);
  const begunAt = await reconciledAt(db, reconciliation);
  const otherHomes = [...homes].filter(([name]) => home === MAIN_HOME && name !== MAIN_HOME);
  const homesNotCopied = await notCopied(directory, reconciliationId, otherHomes);
  if (begunAt !== undefined && now >= begunAt + NONCE_SECONDS && homesNotCopied.length === 0)
    throw reconciliationEnded();
  // `skipIds` skips once for each reconciliation. A site that only a retry copies gets `skip` here.
  if (home !== MAIN_HOME) await copySitesToHome(directory, home, db, begunAt === undefined ? 0 : skip);
  const remembered = begunAt === undefined ? await recallTokens(ctx, db, reconciliation) : NO_FLOORS;
  const { skipped, sites, at, siteIdFloor } = await skipIds(db, reconciliation, remembered, authorOf(ctx));
  const floors = await selectFloors(db);
  if (home !== MAIN_HOME) await keepInDirectory(directory, reconciliation, floors, authorOf(ctx));
  await askKv(() => writeReconciledFloors(credentials, home, reconciliationId, floors));
  if (home === MAIN_HOME) await askKv(() => writeSiteId(credentials, siteIdFloor));
  const copyHome = async (other: D1Database, name: string) => {
    await copySitesToDirectory(directory, name, other);
    await copyRoutesToDirectory(directory, name, other);
    await keepDeletionsOf(ctx, name, other);
    await noteCopied(directory, reconciliationId, name, now);
  };
  // The copy of a large home may take longer than the answer can wait. The copy continues after the answer, and a retry finds it done.
  const copyAndGoOn = (other: D1Database, name: string) => {
    const copying = copyHome(other, name);
    ctx.waitUntil(copying.catch(() => {}));
    return copying;
  };
  const [tokens, people] =
    home === MAIN_HOME ? await Promise.all([listUsableTokens(ctx), listUsablePeople(ctx)]) : [[], []];
  const { silentHomes } = await askHomes(ctx, copyAndGoOn, homesNotCopied, answerBy);
  const {
    ended,
    deletedAgain: sitesDeletedAgain,
    uncheckedBack: sitesLeft,
  } = await deleteAgain(ctx, { home, db }, deletions);
  // This comes last, because it may use up the queries of this invocation, and because its events to receivers take new seqs.
  const siteIds = new Set(floors.map(({ siteId }) => siteId).filter((siteId) => !ended.has(siteId)));
  const erasures = await eraseAgain(ctx, { home, db, siteIds }, receipts, answerBy);
  erasures.left += sitesLeft;
  const skippedBy = skipped ? skip : 0;
  const reopenAfter = at + NONCE_SECONDS;
  return {
    reconciliationId,
    sites,
    skippedBy,
    reopenAfter,
    erasures,
    sitesDeletedAgain,
    homesDown: silentHomes,
    tokens,
    people,
  };
}

/** The floors for a reconciliation that skipped ids in an earlier call. That call read KV's floors, and the home has them since. */
const NO_FLOORS: RememberedFloors = { floors: [], highestSite: 0 };

/**
 * Reads the floors that KV has for a home whose sites are back. A floor is raised in D1 before it is written to KV. So it does not matter
 * when KV gets a key that this reading has already passed.
 *
 * @throws ServiceError `unavailable`, reason `floors_unread`, when there is more than a call can read: the home's floors have risen to what
 *   was read, and the same reconciliation continues from there
 */
async function recallTokens(
  ctx: ServiceContext,
  db: D1Database,
  { id, home }: { id: string; home: string },
): Promise<RememberedFloors> {
  const { runtime, config, now } = ctx;
  const askKv = fromKv(ctx);
  const from = await readingStopped(db, id, now - NONCE_SECONDS);
  // The last call to KV and the call to D1 after it must end in time.
  const until = Math.min(runtime.elapsed() + READ_LIMIT_MS, ctx.answerBy - READ_LIMIT_MS);
  const { floors, rest } = await readFloors(config.credentials, home, askKv, () => runtime.elapsed() >= until, from);
  if (rest !== undefined) {
    await stopReading(db, id, { floors, rest, now });
    throw floorsUnread(id);
  }
  return { floors, highestSite: await readHighestSite(config.credentials, askKv) };
}

const floorsUnread = (id: string) =>
  new ServiceError("unavailable", {
    reason: "floors_unread",
    detail: `KV holds more floors of chat ids than this call could read, so no ids were skipped yet. Send the same call again, with "settling_id":"${id}": it goes on where this one stopped.`,
    retryAfter: 1,
  });

const reconciliationEnded = () =>
  new ServiceError("conflict", {
    reason: "settling_ended",
    detail:
      "settling_id: was settled more than 31 minutes ago, and nothing was changed now. For another restore send another settling_id.",
  });

const homeIsOpen = (home: string) =>
  new ServiceError("conflict", {
    reason: "home_open",
    detail: `The home ${home} is open: close it first, with npm run deploy -- --close ${home}. "force": true settles an open home.`,
  });
