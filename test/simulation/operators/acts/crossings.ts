import { pathOf, WebhookKeeper } from "../../deliveries/acts/operator-webhooks.ts";
import type { Chance } from "../../machine/chance.ts";
import type { Answer } from "../../world/call.ts";
import type { KnownSite } from "../../world/company.ts";
import { pause } from "../../world/day.ts";
import type { OnItsWay } from "../../world/moments.ts";
import type { World } from "../../world/world.ts";
import { Operator } from "./operator.ts";

/** A call of the admin API: its method, its path and its body. */
type OperatorRequest = [method: string, path: string, body?: object];

interface Crossing {
  /** The call whose transaction or answer is held. */
  first: OperatorRequest;
  /** The change of another operator meanwhile. `answer` is the first call's, from a further try of it. */
  second: (operator: Operator, answer: Answer | undefined) => Promise<Answer | undefined>;
  /** Work after the crossing, so that the run can go on. */
  tidy?: (operator: Operator) => Promise<unknown>;
  /** Whether `second` needs the answer of the first call. */
  isAfter?: boolean;
  /** "there" holds the first call's transaction, "back" holds its answer. Chance decides when it is undefined. */
  way?: OnItsWay["way"];
}

/** The most sites that are made only for crossings. */
const MOST_SITES = 4;

/** What two operators change at the same time. */
export const CROSSINGS = {
  "a site": siteCrossing,
  "a site's end": siteEnd,
  "a site's first webhook": firstWebhook,
  "an agent": agentCrossing,
  "a webhook": webhookCrossing,
  "a new webhook": newWebhook,
  "a secret": secretCrossing,
  "a token": tokenCrossing,
  "a person": personCrossing,
  "a sending again": sendAgain,
} satisfies Record<string, (operator: Operator, site: KnownSite) => Promise<Crossing | undefined>>;

/**
 * Holds one operator's transaction on its way to D1, or D1's answer on its way back, until another operator's change of
 * the same thing was answered.
 */
export async function crossAtOneThing(world: World): Promise<void> {
  const chance = world.chance.fork();
  const [first, second] = [new Operator(world), new Operator(world)];
  const kinds = Object.keys(CROSSINGS) as (keyof typeof CROSSINGS)[];
  const mainKind = chance.one(kinds);
  while (!world.closing) {
    await pause(world, chance, chance.between(100, 2_500));
    const sites = world.company.sitesAtWork;
    if (sites.length === 0 || world.closing) continue;
    const kind = chance.happens(0.4) ? mainKind : chance.one(kinds);
    const crossing = await CROSSINGS[kind](second, chance.one(sites));
    if (crossing !== undefined && (await crossCalls(first, second, chance, crossing)))
      world.count(`moment: late at ${kind}`);
  }
}

/** @returns whether the second call was answered while the first one was held */
async function crossCalls(a: Operator, b: Operator, chance: Chance, crossing: Crossing): Promise<boolean> {
  const { world } = a;
  const way = crossing.way ?? (crossing.isAfter || chance.happens(0.5) ? "there" : "back");
  // Often holds the transaction that changes the home, and sometimes a step between home and directory.
  const nth = crossing.way === undefined && chance.happens(0.3) ? chance.integer(1, 5) : undefined;
  let tripCount = 0;
  const { onHold, letGo } = world.moments.keep((trip) => {
    if (trip.call !== a.latest || trip.way !== way) return false;
    return nth === undefined ? trip.method === "batch" : ++tripCount === nth;
  });
  const firstCall = a.call(...crossing.first);
  const isCaught = await Promise.race([onHold.then(() => true), firstCall.then(() => false)]);
  let isCrossed = false;
  if (isCaught) {
    if (crossing.isAfter) await firstCall;
    else if (chance.happens(0.3)) await Promise.race([firstCall, world.sleep(chance.between(0, 10_000))]);
    const secondCall = crossing.second(b, crossing.isAfter ? await firstCall : undefined);
    // The hold ends after 20 s, so that nothing is still held at a restore of its home.
    const answer = await Promise.race([secondCall, world.sleep(20_000).then(() => undefined)]);
    isCrossed = answer !== undefined && answer.status < 300;
    // The first call's next try comes within 3 s.
    if (way === "back") await Promise.race([firstCall, world.sleep(chance.between(3_000, 12_000))]);
  }
  letGo();
  await firstCall;
  await crossing.tidy?.(b);
  return isCrossed;
}

async function siteCrossing({ chance }: Operator, knownSite: KnownSite): Promise<Crossing> {
  const { siteId, chatIds } = knownSite;
  const path = `/sites/${siteId}`;
  const first_chat_id = Math.max(0, ...chatIds) + chance.integer(10, 60);
  const changes = [{ status: "closed" }, { status: "closed", first_chat_id }, { name: `Site ${siteId}, late` }];
  const otherChanges = [
    { status: "open", name: `Site ${siteId}` },
    { status: "open", retention_days: 30, name: "Kept" },
  ];
  return {
    first: ["PATCH", path, chance.one(changes)],
    second: (operator) => operator.insist("PATCH", path, chance.one(otherChanges)),
    tidy: (operator) => operator.setSite(knownSite, { status: "open" }),
  };
}

async function agentCrossing({ chance }: Operator, { siteId, agentIds }: KnownSite): Promise<Crossing | undefined> {
  if (agentIds.length === 0) return undefined;
  const path = `/sites/${siteId}/agents/${chance.one(agentIds)}`;
  const change = chance.one([{ status: "disabled" }, { status: "disabled" }, { status: "disabled", name: "Late" }]);
  // A change that sets the present values also stops a change that was sent before.
  return { first: ["PATCH", path, change], second: (operator) => operator.insist("PATCH", path, { status: "normal" }) };
}

async function webhookCrossing({ chance }: Operator, { webhooks }: KnownSite): Promise<Crossing | undefined> {
  if (webhooks.length === 0) return undefined;
  const path = pathOf(chance.one(webhooks));
  const change = chance.one([{ status: "disabled" }, { status: "disabled", events: ["session.created"] }]);
  return {
    first: ["PATCH", path, change],
    second: (operator) => operator.insist("PATCH", path, { status: "enabled" }),
  };
}

async function newWebhook(_: Operator, { siteId }: KnownSite): Promise<Crossing> {
  const path = `/sites/${siteId}/webhooks`;
  const first: OperatorRequest = ["POST", path, { url: `https://hooks-${siteId}.example.com/in/hook-token-1` }];
  return { first, isAfter: true, second: (operator, answer) => remove(operator, path, answer) };
}

async function tokenCrossing(): Promise<Crossing> {
  const first: OperatorRequest = ["POST", "/tokens", { name: "Nightly", role: "viewer" }];
  return { first, isAfter: true, second: (operator, answer) => remove(operator, "/tokens", answer) };
}

async function personCrossing(): Promise<Crossing> {
  const first: OperatorRequest = ["POST", "/people", { name: "Mei", role: "viewer" }];
  return { first, isAfter: true, second: (operator, answer) => remove(operator, "/people", answer) };
}

/** Deletes what a call has made. */
async function remove(operator: Operator, path: string, answer: Answer | undefined): Promise<Answer | undefined> {
  if (answer?.status !== 201) return undefined;
  const { id } = JSON.parse(answer.body) as { id: string };
  return operator.insist("DELETE", `${path}/${id}`);
}

/** Each rotation shows its secret only once. Another rotation at the end gives the callers a secret again. */
async function secretCrossing(operator: Operator, { apps, webhooks }: KnownSite): Promise<Crossing | undefined> {
  const { chance } = operator;
  const app = apps.find(({ isRevoked }) => !isRevoked);
  const [hook] = webhooks;
  const isOfWebhook = hook !== undefined && (app === undefined || chance.happens(0.5));
  const path = isOfWebhook ? pathOf(hook) : `/apps/${app?.appid}`;
  if (!isOfWebhook && app === undefined) return undefined;
  const rotate = (body: object): OperatorRequest => ["POST", `${path}/rotate`, body];
  const end: OperatorRequest = ["POST", `${path}/end-overlap`, {}];
  await operator.insist(...rotate({ overlap_seconds: 600, ends: "previous" }));
  const secondRotation = rotate({ overlap_seconds: 600, ends: "previous" });
  const [first, second] = chance.one<[OperatorRequest, OperatorRequest]>([
    [end, secondRotation],
    [rotate({ ends: "current" }), end],
    [rotate({ ends: "current" }), secondRotation],
    [secondRotation, secondRotation],
    [secondRotation, end],
    [end, rotate({ overlap_seconds: 600, ends: "current" })],
  ]);
  const tidy = async (another: Operator) => {
    for (let i = 0; i < 2; i++) {
      if (isOfWebhook) await new WebhookKeeper(another).rotate(hook, 0);
      else if (app !== undefined) await another.rotate(app, 0);
    }
  };
  return { first, second: (another) => another.insist(...second), tidy };
}

async function sendAgain({ chance, world }: Operator, site: KnownSite): Promise<Crossing | undefined> {
  const { siteId, home, webhooks } = site;
  const events = world.cloud.home(home).database.rows("events");
  const seqs = events.filter((row) => row.site_id === siteId && row.data !== null).map(({ seq }) => seq);
  if (webhooks.length === 0 || seqs.length === 0) return undefined;
  const path = `${pathOf(chance.one(webhooks))}/deliveries/${chance.one(seqs)}/redeliver`;
  const name = `Site ${siteId}.${chance.integer(1, 99)}`;
  return {
    first: ["POST", path],
    way: "back",
    second: (operator) => operator.insist("PATCH", `/sites/${siteId}`, { name }),
  };
}

/** Makes a site without events that no other actor uses. */
async function spareSite(operator: Operator, home: string): Promise<number | undefined> {
  const { seen } = operator.world;
  if ((seen["spare site"] ?? 0) >= MOST_SITES) return undefined;
  operator.world.count("spare site");
  const answer = await operator.insist("POST", "/sites", { name: operator.newName("Spare"), home });
  return answer?.status === 201 ? (JSON.parse(answer.body) as { id: number }).id : undefined;
}

async function firstWebhook(operator: Operator, { home }: KnownSite): Promise<Crossing | undefined> {
  const siteId = await spareSite(operator, home);
  if (siteId === undefined) return undefined;
  const url = `https://hooks-${siteId}.example.com/in/hook-token-1`;
  const first: OperatorRequest = ["PATCH", `/sites/${siteId}`, { name: "Spare" }];
  return { first, way: "there", second: (another) => another.insist("POST", `/sites/${siteId}/webhooks`, { url }) };
}

async function siteEnd(operator: Operator, { home }: KnownSite): Promise<Crossing | undefined> {
  const siteId = await spareSite(operator, home);
  if (siteId === undefined) return undefined;
  const path = `/sites/${siteId}`;
  const name = "Spare, closed";
  await operator.insist("PATCH", path, { name, status: "closed" });
  const change = operator.chance.one([{ status: "open" }, { name: "Spare, late" }, { retention_days: 30 }]);
  return {
    first: ["PATCH", path, change],
    way: "there",
    second: (another) => another.insist("DELETE", path, { name }),
  };
}
