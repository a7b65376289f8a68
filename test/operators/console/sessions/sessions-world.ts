import type { ConsolePage } from "../../../support/console-page.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { World } from "../../../support/world.ts";

/**
 * A signed-in owner, and the list of a new site's sessions. The site is in another home than the directory, so that a read of the
 * wrong database finds nothing.
 */
export async function start() {
  const world = await World.create({}, "apac");
  const visitor = await ConsoleVisitor.signedIn(world);
  const site = `/console/sites/${world.siteId}`;
  return { world, visitor, site, path: `${site}/sessions` };
}

/** The ids of the sessions in a list, in its order. */
export const idsIn = ({ html }: Pick<ConsolePage, "html">): number[] =>
  [...html.matchAll(/sessions\/(\d+)"/g)].map(([, id]) => Number(id));

/** The texts of the active filters. */
export const chipsOf = ({ html }: ConsolePage): string[] =>
  [...html.matchAll(/<a class="chip" href="[^"]*"><span>(.*?)<\/span>/g)].map(([, chip = ""]) =>
    chip.replace(/<[^>]*>/g, ""),
  );

/** The address of the list without the filter that has this label. */
export const hrefWithout = ({ html }: ConsolePage, label: string): string => {
  const [before = ""] = html.split(`"><span>${label}: <bdi>`);
  return (before.split('<a class="chip" href="').at(-1) ?? "").replaceAll("&amp;", "&");
};
