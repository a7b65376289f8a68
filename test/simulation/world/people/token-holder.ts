import type { World } from "../world.ts";
import { type Asked, askAs, type Badge, type BadgeRole } from "./badge.ts";
import { pause } from "./day.ts";
import { Operator } from "./operator.ts";
import { isDead, TokenKeeper, wake } from "./token-keeper.ts";
import { actOnWebhooks } from "./webhook-day.ts";

/** What the holder of a token tries although its role or its site does not allow it, by its name. */
export const TRIED: Record<string, (about: About) => Asked> = {
  "another site": ({ operator: { chance }, other }) =>
    chance.one([
      read(`/sites/${other.siteId}/${chance.one(["apps", "agents", "sessions", "webhooks", "events", "refusals"])}`),
      read(`/sites/${other.siteId}/sessions/${other.chatIds.at(-1) ?? 1}`),
      read(`/sites/${other.siteId}/webhooks/${other.webhooks[0]?.id ?? "wh_none"}/deliveries`),
      change("PATCH", `/sites/${other.siteId}`, { name: "Taken over" }),
      change("DELETE", `/sites/${other.siteId}`, { name: `Site ${other.siteId}` }),
      read(`/sites/${other.siteId}`),
      read(`/sites/${other.siteId}/export`),
      read(`/sites/${other.siteId}/usage?by=day`),
      change("POST", `/sites/${other.siteId}/agents`, { id: 77, name: "Intruder" }),
      change("POST", `/sites/${other.siteId}/apps`, { name: "Intruder" }),
      change("POST", `/sites/${other.siteId}/webhooks`, { url: "https://hooks.example.org/taken" }),
      change("DELETE", `/sites/${other.siteId}/webhooks/${other.webhooks[0]?.id ?? "wh_none"}`),
      change("POST", `/sites/${other.siteId}/webhooks/${other.webhooks[0]?.id ?? "wh_none"}/ping`),
    ]),
  "no site": ({ operator: { chance } }) => read(`/sites/${chance.one([999_999, 0, "1e3"])}/apps`),
  "another's app": ({ operator: { chance }, other }) => {
    const appid = other.apps.length > 0 ? chance.one(other.apps).appid : "none";
    return chance.one([
      change("POST", `/apps/${appid}/rotate`, { overlap_seconds: 0 }),
      change("POST", `/apps/${appid}/end-overlap`),
      change("DELETE", `/apps/${appid}`),
    ]);
  },
  "another's call": ({ operator, other, site }) => {
    const id = refusedOf(operator.world, other);
    return operator.chance.one([
      read(`/requests/${id}`),
      read(`/requests/${id}`),
      read(`/sites/${site.siteId}/requests/${id}`),
      read(`/sites/${site.siteId}/refusals?cursor=${other.siteId}:${id}`),
    ]);
  },
  "another's log": ({ other }) => read(`/audit?limit=5&site_id=${other.siteId}`),
  "all logs": ({ operator: { chance } }) => read(`/audit?limit=${chance.one([3, 100])}`),
  "all sites": ({ operator: { chance }, other, site }) =>
    read(`/sites${chance.one(["", "?limit=1", `?cursor=${other.siteId - 1}`, `?cursor=${site.siteId}`])}`),
  "the deployment": ({ operator: { chance, world } }) =>
    chance.one([
      read("/homes"),
      read(`/metrics${chance.one(["", "?by=site"])}`),
      read("/homes/main/divergent"),
      read("/tokens"),
      change("POST", "/sites", { name: "Mine" }),
      change("POST", "/reseal"),
      change("POST", "/homes/main/restored", { settling_id: "mine" }),
      change("POST", "/tokens", { name: "Mine", role: "owner" }),
      change("DELETE", `/tokens/${chance.one(world.company.badges).id}`),
    ]),
  "what only owners may": ({ operator: { chance }, site }) =>
    chance.one([
      change("PATCH", `/sites/${site.siteId}`, { retention_days: chance.one([1, null]) }),
      change("DELETE", `/sites/${site.siteId}`, { name: `Site ${site.siteId}` }),
      read(`/sites/${site.siteId}/export`),
    ]),
  // This everybody may who sees the site.
  "the own usage": ({ operator: { chance }, site }) =>
    read(`/sites/${site.siteId}/usage${chance.one(["", "?by=day", "?by=year"])}`),
  "a change": ({ operator: { chance }, site }) =>
    chance.one([
      change("PATCH", `/sites/${site.siteId}`, { name: `Site ${site.siteId}.${chance.integer(1, 99)}` }),
      change("POST", `/sites/${site.siteId}/agents`, { id: chance.integer(500, 505), name: "Agent new" }),
      change("PATCH", `/sites/${site.siteId}/agents/${chance.one(site.agentIds)}`, { name: "Wang Wei" }),
      change("POST", `/apps/${site.apps[0]?.appid ?? "none"}/end-overlap`),
      change("POST", `/sites/${site.siteId}/webhooks/${site.webhooks[0]?.id ?? "wh_none"}/ping`),
    ]),
};

type Site = World["company"]["sites"][number];

interface About {
  operator: Operator;
  /** The holder's own site, or any for who sees all. */
  site: Site;
  other: Site;
}

const read = (path: string): Asked => ({ method: "GET", path });
const change = (method: string, path: string, body?: object): Asked => ({ method, path, body });

/** The request id of the newest refused call of a site, or one that no call has. */
function refusedOf({ captured }: World, { apps }: Site): string {
  const isOfSite = (body: string) => apps.some(({ appid }) => body.includes(`"${appid}"`));
  const call = captured.findLast(({ answer, wire }) => (answer?.status ?? 200) !== 200 && isOfSite(wire.body));
  return call?.answer?.headers.get("x-request-id") ?? "019b76da-b182-7052-af66-000000000000";
}

/** Who holds a token that may little: a viewer, or a tenant's developer. No token here may change other sites. */
const HOLDERS: readonly { role: BadgeRole; ofSite: boolean }[] = [
  { role: "viewer", ofSite: false },
  { role: "viewer", ofSite: true },
  { role: "operator", ofSite: true },
  { role: "operator", ofSite: true },
];

/** Works with a token until it ends, goes on trying it for a while, and asks for another one. */
export async function holdTokens(world: World): Promise<void> {
  const operator = new Operator(world);
  const { chance } = operator;
  const keeper = new TokenKeeper(new Operator(world));
  while (!world.closing) {
    await pause(world, chance, chance.between(100, 3_000));
    const sites = world.company.sitesAtWork;
    if (sites.length === 0 || world.closing) continue;
    const site = chance.one(sites);
    const { role, ofSite } = chance.one(HOLDERS);
    const days = chance.happens(0.5) ? { expires_in_days: 1 } : {};
    const badge = await keeper.make({ role, ...days, ...(ofSite && { site_id: site.siteId }) });
    operator.badge = badge;
    for (let acts = chance.integer(5, 40); badge !== undefined && acts > 0 && !world.closing; acts--) {
      await pause(world, chance, chance.between(100, 2_500));
      const isThere = world.company.sitesAtWork.includes(site);
      if (isThere && !world.closing) await actWith(operator, badge, site);
    }
    if (badge !== undefined) await wake(world, operator, badge);
    if (badge !== undefined && !isDead(world, badge) && chance.happens(0.6)) await keeper.delete(badge);
    operator.badge = undefined;
  }
}

async function actWith(operator: Operator, badge: Badge, site: Site): Promise<void> {
  const { world, chance } = operator;
  const mayChange = badge.role === "operator" && operator.badge === badge;
  if (mayChange && chance.happens(0.4)) return workAt(operator, site);
  const others = world.company.sites.filter((each) => each !== site);
  const what = chance.one(Object.keys(TRIED));
  const asked = TRIED[what]?.({ operator, site, other: others.length > 0 ? chance.one(others) : site });
  if (asked === undefined) return;
  world.count(`tried: ${what}`);
  await askAs(world, chance, badge, asked);
}

/** A tenant's developer works at the own site. */
async function workAt(operator: Operator, site: Site): Promise<void> {
  const { chance, world } = operator;
  world.count("developer at work");
  const app = site.apps.find(({ revoked }) => !revoked);
  if (chance.happens(0.3) && app !== undefined) return operator.rotate(app, chance.one([30, 600]));
  if (site.webhooks.length > 0 && chance.happens(0.6)) {
    return actOnWebhooks(operator, site, chance.one(["ping", "redeliver", "sendAgain"]));
  }
  await operator.setAgent(site, chance.one(site.agentIds), { name: `Agent ${chance.integer(1, 99)}` });
}
