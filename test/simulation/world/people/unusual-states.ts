import type { KnownApp, KnownSite } from "./company.ts";
import type { Operator } from "./operator.ts";

/**
 * Each function changes one property of a row that is in an unusual state; all other properties must stay as they are.
 */

/** Renames a disabled agent, and adds it once more. */
export async function touchDisabledAgent(operator: Operator, site: KnownSite): Promise<void> {
  const { chance } = operator;
  const id = chance.one(site.agentIds);
  await operator.setAgent(site, id, { status: "disabled" });
  if (chance.happens(0.3)) await operator.setAgent(site, id, { status: "disabled" });
  if (chance.happens(0.8)) await operator.setAgent(site, id, { name: `Agent ${id}.${chance.integer(1, 99)}` });
  if (chance.happens(0.4)) await operator.call("POST", `/sites/${site.siteId}/agents`, { id, name: "Somebody new" });
  if (chance.happens(0.7)) await operator.setAgent(site, id, { status: "normal" });
}

/** Gives a closed site a new name or other ids, or turns its events on or off. */
export async function touchClosedSite(operator: Operator, site: KnownSite): Promise<void> {
  const { chance, world } = operator;
  world.count("site closed");
  await operator.setSite(site, { status: "closed" });
  const first_chat_id = Math.max(0, ...site.chatIds) + chance.one([10, 900]) + 1;
  const changes = [
    { name: `Site ${site.siteId}.${chance.integer(1, 99)}` },
    { first_chat_id },
    { events: chance.happens(0.5) },
    { status: "closed" as const },
  ];
  for (const change of chance.some(changes)) await operator.setSite(site, change);
  await world.sleep(chance.between(100, 8_000));
  await operator.setSite(site, { status: "open" });
  if (world.weather.events > 0) await operator.setSite(site, { events: true });
}

/** Rotates a secret while the previous one is still valid, or revokes the app then, and rotates or ends the overlap once more. */
export async function touchOverlap(operator: Operator, site: KnownSite, app: KnownApp): Promise<void> {
  const { chance, world } = operator;
  await operator.rotate(app, 86_400);
  await world.sleep(chance.between(0, 5_000));
  await operator.rotate(app, chance.one([0, 30, 600]));
  if (site.apps.length === 1 || chance.happens(0.7)) return;
  await operator.revoke(app);
  await world.sleep(chance.between(1_000, 4_000));
  await operator.call("DELETE", `/apps/${app.appid}`);
  await operator.call("POST", `/apps/${app.appid}/end-overlap`);
  await operator.call("POST", `/apps/${app.appid}/rotate`, {});
}
