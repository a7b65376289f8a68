import { Operator } from "../../operators/acts/operator.ts";
import type { Call } from "../../world/call.ts";
import type { KnownApp } from "../../world/company.ts";
import type { MomentEvent } from "../../world/moments.ts";
import type { World } from "../../world/world.ts";
import { Caller } from "./caller.ts";

/** Changes between a commit whose answer is lost and the second try, with their weights. */
export const MEANWHILE = { revoked: 2, rotated: 2, closed: 2, erased: 3, disabled: 2, silenced: 2 };

/** Milliseconds after which the Worker has tried again. */
const SECOND_TRY_MS = 3_500;

/** The app of a signed call; undefined for other calls, and while the app's home is under restore. */
function appOf({ company }: World, { role, wire }: Call): KnownApp | undefined {
  if (role !== "honest" && role !== "attacker") return undefined;
  const [, appid] = /"appid":"([^"]*)"/.exec(wire.body) ?? [];
  return company.sitesAtWork.flatMap(({ apps }) => apps).find((each) => each.appid === appid);
}

/** The signed call that has used up its ranstr now. */
const doneIn = (at: MomentEvent): Call | undefined =>
  at.kind === "commits" && at.changes.some(({ table, before }) => table === "nonces" && before === null)
    ? at.call
    : undefined;

/** Loses the answer of a commit, and changes the app, its site or the session before the Worker's second try. */
export function changeBeforeSecondTries(world: World): void {
  const operator = new Operator(world);
  const { chance } = operator;
  let free = 0;
  world.moments.always((at) => {
    const call = doneIn(at);
    if (world.closing || world.scheduler.now < free || call === undefined || !chance.happens(0.3)) return;
    const app = appOf(world, call);
    if (app === undefined || app.isRevoked) return;
    free = world.scheduler.now + chance.between(3_000, 15_000);
    call.losesAnswer = true;
    world.start(() => changeApp(operator, app, call));
  });
}

async function changeApp(operator: Operator, app: KnownApp, call: Call): Promise<void> {
  const { chance, world } = operator;
  const { site } = app;
  const what = chance.weighted({
    ...MEANWHILE,
    ...(site.apps.length > 1 ? {} : { revoked: 0 }),
    ...(world.weather.events > 0 ? {} : { silenced: 0 }),
  });
  const { sbs, kefu_id } = JSON.parse(call.wire.body) as { sbs?: string; kefu_id?: number[] };
  const agentId = chance.one(kefu_id ?? site.agentIds);
  const changes: Record<typeof what, () => Promise<unknown>> = {
    revoked: () => operator.revoke(app),
    rotated: () => operator.rotate(app, 0),
    closed: () => operator.setSite(site, { status: "closed" }),
    erased: () => operator.call("POST", `/sites/${site.siteId}/customers/erase`, { sbs: sbs ?? "customer_1" }),
    disabled: () => operator.setAgent(site, agentId, { status: "disabled" }),
    silenced: () => operator.setSite(site, { events: false }),
  };
  await changes[what]();
  if (call.alive && call.answer === undefined) world.count(`moment: second try after ${what}`);
  await world.sleep(SECOND_TRY_MS);
  if (what === "closed") await operator.setSite(site, { status: "open" });
  if (what === "silenced") await operator.setSite(site, { events: true });
  if (what === "disabled") await operator.setAgent(site, agentId, { status: "normal" });
  const another = what === "revoked" ? await operator.issueApp(site) : undefined;
  if (another !== undefined) world.start(() => new Caller(world, `of-${another.appid.slice(-8)}`, another).work());
}

/** D1 runs the first try of a call only after the second try was answered. In between, the customer may be erased. */
export function applyFirstTriesLate(world: World): void {
  const operator = new Operator(world);
  const { chance } = operator;
  let free = 0;
  world.moments.always((at) => {
    if (at.kind !== "arrives" || world.closing || world.scheduler.now < free || !chance.happens(0.1)) return;
    const { call } = at;
    const app = appOf(world, call);
    if (app === undefined || !world.cloud.isRough) return;
    free = world.scheduler.now + chance.between(10_000, 40_000);
    holdFirstTry(world, call, async () => {
      if (call.answer?.status === 200) world.count("moment: first try applied after the second");
      const { sbs } = JSON.parse(call.wire.body) as { sbs?: string };
      if (sbs !== undefined && chance.happens(0.6))
        await operator.call("POST", `/sites/${app.site.siteId}/customers/erase`, { sbs });
    });
  });
}

/** Holds the first try of a call back until the call was answered and `before` has ended. */
export function holdFirstTry(world: World, call: Call, before: () => Promise<void> = async () => {}): void {
  const answer = world.moments.when((at) => (at.kind === "answers" && at.call === call ? true : undefined), 9_000);
  let isFirst = true;
  call.gate = async (_, to) => {
    if (!isFirst || !to.endsWith(" batch")) return;
    isFirst = false;
    call.faults.push(`${to.split(" ")[0]}: held in silence`);
    await answer;
    await before();
  };
}

/** Waits for a signed call's commit in a home, and loses its answer. @returns whether there was a commit */
export async function loseNextCommit(world: World, home: string): Promise<boolean> {
  const loss = await world.moments.when((at) => {
    const call = doneIn(at);
    if (call === undefined || at.kind !== "commits" || at.home.name !== home) return undefined;
    call.losesAnswer = true;
    return true;
  }, 5_000);
  return loss === true;
}
