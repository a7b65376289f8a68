import { findApp } from "../../core/credentials/find-app.ts";
import { openSecrets } from "../../core/credentials/open-secrets.ts";
import { UnsealError } from "../../core/credentials/sealed-secret.ts";
import { isRefusedFor } from "../../core/errors.ts";
import { selectSimilarRoutes } from "../store/directory/app-routes.ts";
import { type AppidDifference, believableSlips, compareAppids, foldedAppid } from "./compare-appids.ts";
import { keyringOf, type ServiceContext, seesSite } from "./service-context.ts";

export type { AppidPart } from "./compare-appids.ts";

/** An existing app whose appid is nearly the given appid. */
export interface SimilarApp extends AppidDifference {
  appid: string;
  siteId: number;
  siteName: string;
  /** Whether a secret of this app makes the pasted signature: then the caller meant this app. */
  signs: boolean;
}

const MOST_SHOWN = 3;

/**
 * Finds the apps that an unknown appid may mean: their appids differ by blanks, letter case or look-alikes, or by up to two slips. An app
 * whose secret makes the signature comes first. Apps of sites that the operator does not see are left out.
 *
 * @param guess the appid that the operator expected. Its app is found only when its secret makes the signature
 * @param signs says whether one of these secrets makes the signature
 */
export async function findSimilarApps(
  ctx: ServiceContext,
  { appid, guess }: { appid: string; guess: string },
  signs: (secrets: Awaited<ReturnType<typeof openSecrets>>) => Promise<boolean>,
): Promise<SimilarApp[]> {
  const folded = foldedAppid(appid);
  const slips = believableSlips(folded);
  const { directory } = ctx.config;
  const routes = folded === "" ? [] : await selectSimilarRoutes(directory, folded, slips);
  const isSeen = ({ siteId }: { siteId: number }) => seesSite(ctx, siteId);
  const guessed = guess === "" ? [] : await selectSimilarRoutes(directory, foldedAppid(guess), 0);
  const guessedRoutes = guessed.filter((route) => route.appid === guess && isSeen(route));
  const nearest = routes
    .filter(isSeen)
    .map((route) => ({ ...route, ...compareAppids(appid, route.appid) }))
    .filter((route) => route.slips <= slips)
    .sort((a, b) => a.slips - b.slips || countDifferences(a) - countDifferences(b))
    .slice(0, MOST_SHOWN);
  const similarApps: SimilarApp[] = [];
  for (const route of nearest) similarApps.push({ ...route, signs: await signs(await secretsOf(ctx, route.appid)) });
  for (const route of guessedRoutes) {
    if (similarApps.some((each) => each.appid === guess) || !(await signs(await secretsOf(ctx, guess)))) continue;
    similarApps.push({ ...route, ...compareAppids(appid, guess), signs: true });
  }
  return similarApps.sort((a, b) => Number(b.signs) - Number(a.signs));
}

const countDifferences = ({ hasForeignCharacters, differsInCase, hasLookalikes }: AppidDifference) =>
  Number(hasForeignCharacters) + Number(differsInCase) + Number(hasLookalikes);

/** The secrets of an app; none when its home does not answer, has no such app, or MASTER_KEY does not open them. */
async function secretsOf(ctx: ServiceContext, appid: string) {
  try {
    const app = await findApp(ctx.runtime, ctx.config, appid);
    return app === null ? [] : await openSecrets(await keyringOf(ctx), app);
  } catch (error) {
    if (error instanceof UnsealError || isRefusedFor(error, "d1_unavailable", "d1_stalled", "home_unbound")) return [];
    throw error;
  }
}
