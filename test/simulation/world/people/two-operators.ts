import type { World } from "../world.ts";
import type { KnownSite } from "./company.ts";
import { pause } from "./day.ts";
import { Operator } from "./operator.ts";
import { WebhookKeeper } from "./operator-webhooks.ts";

/** The rows that two operators may work on. */
const SUBJECTS = ["site", "agent", "webhook", "secret"] as const;

type Change = (operator: Operator) => Promise<unknown>;

interface Work {
  /** The next change of one of them: the opposite of the other's, or the same. */
  draw: () => Change;
  /** Undoes a closing or disabling at the end, so that the run goes on. */
  tidy: Change;
}

/**
 * Two operators change the same row again and again. A change that D1 applies late may come after the other operator's
 * change was answered.
 */
export async function workAtOneThing(world: World): Promise<void> {
  const chance = world.chance.fork();
  const both = [new Operator(world, "operator"), new Operator(world, "operator")];
  const subjects = [chance.one(SUBJECTS), chance.one(SUBJECTS)];
  // A slow D1 applies a change up to 15 s late.
  const longest = world.weather.database.slow > 0 ? 35_000 : 12_000;
  while (!world.closing) {
    await pause(world, chance, chance.between(1_000, 40_000));
    const sites = world.company.sitesAtWork;
    if (sites.length === 0 || world.closing) continue;
    const site = chance.one(sites);
    const { draw, tidy } = workAt(chance.one(subjects), site, both[0] as Operator);
    const until = world.scheduler.now + chance.between(longest / 2, longest);
    world.count("two operators at one thing");
    await Promise.all(both.map((operator) => workUntil(operator, site, draw, until)));
    await tidy(both[0] as Operator);
  }
}

async function workUntil(operator: Operator, site: KnownSite, draw: () => Change, until: number): Promise<void> {
  const { chance, world } = operator;
  while (!world.closing && world.scheduler.now < until && world.company.sitesAtWork.includes(site)) {
    await draw()(operator);
    await world.sleep(chance.one([0, chance.between(0, 300), chance.between(300, 3_000)]));
  }
}

function workAt(subject: (typeof SUBJECTS)[number], site: KnownSite, { chance, world }: Operator): Work {
  const path = `/sites/${site.siteId}`;
  const patch = (of: string, change: object) => (operator: Operator) => operator.call("PATCH", `${path}${of}`, change);
  const webhook = site.webhooks.length > 0 ? chance.one(site.webhooks) : undefined;
  if (subject === "webhook" && webhook !== undefined) {
    const set = (status: "enabled" | "disabled") => (operator: Operator) =>
      new WebhookKeeper(operator).setStatus(webhook, status);
    const change = (operator: Operator) => new WebhookKeeper(operator).change(webhook);
    return { draw: () => chance.one([change, change, set("enabled"), set("disabled")]), tidy: set("enabled") };
  }
  if (subject === "secret" && webhook !== undefined && chance.happens(0.5)) {
    const rotate = (operator: Operator) => new WebhookKeeper(operator).rotate(webhook, chance.one([0, 30, 600]));
    const end = (operator: Operator) => new WebhookKeeper(operator).endOverlap(webhook);
    return { draw: () => chance.one([rotate, end]), tidy: end };
  }
  const app = site.apps.find(({ revoked }) => !revoked);
  if (subject === "secret" && app !== undefined) {
    const rotate = (operator: Operator) => operator.rotate(app, chance.one([0, 30, 600]));
    const end = (operator: Operator) => operator.endOverlap(app);
    return { draw: () => chance.one([rotate, end]), tidy: end };
  }
  if (subject === "agent") {
    const id = chance.one(site.agentIds);
    const changes = [{ status: "disabled" }, { status: "normal" }, { name: "Li Na" }, { name: "Wang Wei" }];
    const tidy = (operator: Operator) => operator.setAgent(site, id, { status: "normal" });
    return { draw: () => patch(`/agents/${id}`, chance.one(changes)), tidy };
  }
  const draw = () => {
    const name = { name: `Site ${site.siteId}.${chance.integer(1, 9)}` };
    const ids = { first_chat_id: Math.max(0, ...site.chatIds) + chance.integer(10, 60) };
    const status = { status: chance.one(["open", "closed"]) };
    return patch("", chance.one([name, name, ids, ids, status, world.weather.events > 0 ? { events: true } : name]));
  };
  return { draw, tidy: (operator) => operator.setSite(site, { status: "open" }) };
}
