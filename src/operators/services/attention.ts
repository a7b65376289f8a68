import type { Site } from "../store/directory/sites.ts";
import {
  type RisenReason,
  type RunningOverlap,
  selectRisenReasons,
  selectRunningOverlaps,
  selectTroubledWebhooks,
  type TroubledWebhook,
} from "../store/home/attention.ts";
import { askHomes } from "./ask-homes.ts";
import type { Health, HomeTrouble } from "./health.ts";
import { type ServiceContext, urlFor } from "./service-context.ts";
import { TROUBLE_SECONDS } from "./webhooks.ts";

export type { RisenReason, RunningOverlap, TroubledWebhook } from "../store/home/attention.ts";

/** How long a page waits for this when it shows other things too. */
export const LIMIT_MS = 1_000;

/** What needs an operator at some sites. Each list begins with the most urgent. */
export interface Attention {
  webhooks: TroubledWebhook[];
  overlaps: RunningOverlap[];
  risen: RisenReason[];
  /** Homes with trouble. What a silent home holds is not known. */
  homes: Map<string, HomeTrouble>;
  /** Other homes whose refused calls could not be read in time. */
  notCompared: string[];
}

/**
 * What needs an operator at these sites. Waits a second at most. A closed home is asked too: its webhooks fail like any others.
 *
 * @param health of the sites' homes, read before this call: its silent homes are not asked again. If both were read at the same time, their
 *   calls would wait for each other behind silent homes
 */
export async function readAttention(
  ctx: ServiceContext,
  sites: readonly Site[],
  health: Pick<Health, "homes">,
): Promise<Attention> {
  const { config, now, runtime } = ctx;
  const byHome = new Map<string, number[]>();
  for (const { id, home, status } of sites) {
    if (!["open", "closed"].includes(status)) continue;
    byHome.set(home, [...(byHome.get(home) ?? []), id]);
  }
  const troubles = new Map(
    Object.entries(health.homes).flatMap(([home, state]) => (state === "ok" ? [] : [[home, state] as const])),
  );
  const homes = [...config.homes].filter(([home]) => byHome.has(home) && troubles.get(home) !== "silent");
  const answerBy = runtime.elapsed() + LIMIT_MS;
  const askKnownHomes = <T>(askedHomes: typeof homes, read: (db: D1Database, ids: number[]) => Promise<T>) =>
    askHomes(ctx, (db, home) => read(db, byHome.get(home) ?? []), askedHomes, answerBy);
  const { answers, silentHomes } = await askKnownHomes(
    homes,
    async (db, ids) =>
      [
        await selectTroubledWebhooks(db, ids, now - TROUBLE_SECONDS),
        await selectRunningOverlaps(db, ids, now),
      ] as const,
  );
  for (const home of silentHomes) if (!troubles.has(home)) troubles.set(home, "silent");
  // Reading usage takes long and must not hold back the rest.
  const risen = await askKnownHomes(
    homes.filter(([home]) => answers.has(home)),
    selectRisenReasons,
  );
  const answersOfHomes = [...answers.values()];
  return {
    webhooks: answersOfHomes
      .flatMap(([webhooks]) => webhooks.map((each) => ({ ...each, url: urlFor(ctx, each.url) })))
      .sort((a, b) => rankOfTrouble(a) - rankOfTrouble(b) || b.since - a.since),
    overlaps: answersOfHomes
      .flatMap(([, overlaps]) => overlaps)
      .map((each) => (each.kind === "webhook" ? { ...each, name: urlFor(ctx, each.name) } : each))
      .sort((a, b) => a.endsAt - b.endsAt),
    risen: [...risen.answers.values()].flat().sort((a, b) => b.count - a.count),
    homes: troubles,
    notCompared: risen.silentHomes,
  };
}

const rankOfTrouble = ({ disabledReason }: TroubledWebhook) => (disabledReason === null ? 1 : 0);
