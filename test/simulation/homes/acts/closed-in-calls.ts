import { Operator } from "../../operators/acts/operator.ts";
import type { Cloud } from "../../world/cloud/cloud.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";

/**
 * Closes a home during an operator's call: after the call's first transaction and before its answer. The call's isolate
 * ends, or goes on with the old settings. Meanwhile the operator repeats the call.
 */
export async function closeInCalls(world: World): Promise<void> {
  const operator = new Operator(world);
  const { chance } = operator;
  const { cloud } = world;
  while (!world.closing) {
    await pause(world, chance, chance.between(10_000, 60_000));
    const sites = world.company.sitesAtWork;
    if (sites.length === 0 || world.closing) continue;
    const site = chance.one(sites);
    const moment = world.moments.when((at) =>
      at.kind === "commits" && at.call !== undefined && at.call === operator.latest ? at.call : undefined,
    );
    const work = chance.happens(0.5)
      ? operator.issueApp(site)
      : operator.setSite(site, { name: `Site ${site.siteId}.${chance.integer(1, 99)}` });
    const isOver = await Promise.race([work.then(() => true), moment.then(() => false)]);
    if (isOver) continue;
    const name = chance.one([site.home, "main"]);
    if (!cloud.settings.closedHomes.includes(name)) closeHomes(cloud, [name]);
    const isolate = operator.latest?.isolate;
    if (isolate !== undefined && chance.happens(0.5)) cloud.kill(isolate);
    for (const each of cloud.isolates) if (chance.happens(0.5)) each.isRetired = true;
    world.count("moment: home closed in the middle of a call");
    await world.sleep(chance.between(500, 15_000));
    if (!world.company.underRestore.has(name)) openHomes(cloud, [name]);
    await work;
  }
}

/** Deploys with more homes closed. */
export const closeHomes = (cloud: Cloud, names: readonly string[]): void =>
  cloud.deploy({ closedHomes: [...cloud.settings.closedHomes, ...names] });

/** Deploys with these homes open. */
export const openHomes = (cloud: Cloud, names: readonly string[]): void =>
  cloud.deploy({ closedHomes: cloud.settings.closedHomes.filter((name) => !names.includes(name)) });
