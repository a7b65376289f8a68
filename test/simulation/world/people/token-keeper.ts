import type { World } from "../world.ts";
import { askAs, type Badge, type BadgeRole } from "./badge.ts";
import { pause, rest } from "./day.ts";
import { Operator } from "./operator.ts";

/** The acts of an owner who keeps the tokens, by their weights. */
export const TOKEN_ACTS = {
  handOut: 5,
  takeAway: 3,
  listTokens: 2,
  ownToken: 1,
  deleteTwice: 1,
  askMalformed: 1,
  silentDirectory: 3,
  wakeTheDead: 3,
};

/** Longer than an isolate may open for a token while the directory does not answer. */
const FORGOTTEN_MS = 300_000;
/** Share of seeds in which a day passes, so that tokens of a day expire. */
const NIGHTS = 0.2;

interface NewToken {
  role: BadgeRole;
  site_id?: number | undefined;
  expires_in_days?: number | undefined;
}

/** Makes and deletes tokens. */
export class TokenKeeper {
  readonly operator: Operator;

  constructor(operator: Operator) {
    this.operator = operator;
  }

  /** @returns undefined when no answer came: then nobody has the token */
  async make(asked: NewToken): Promise<Badge | undefined> {
    const { world, chance } = this.operator;
    const name = `${asked.role} ${chance.integer(1, 99)}`;
    const answer = await this.operator.insist("POST", "/tokens", { name, ...asked });
    if (answer?.status !== 201) return undefined;
    const {
      id,
      token: text,
      expires_at: expiresAt,
    } = JSON.parse(answer.body) as {
      id: string;
      token: string;
      expires_at: number | null;
    };
    const { badges } = world.company;
    const { role, site_id: siteId = null } = asked;
    const badge = { id, text, role, siteId, expiresAt, address: `203.0.113.${(badges.length % 250) + 1}` };
    badges.push(badge);
    world.count(siteId === null ? "token made" : "token of one site made");
    return badge;
  }

  async delete(badge: Badge): Promise<void> {
    const { world } = this.operator;
    world.company.deleted.add(badge);
    const answer = await this.operator.insist("DELETE", `/tokens/${badge.id}`);
    if (answer?.status === 204) world.count("token deleted");
  }

  /** docs/operating.md, "Restoring `main`": deletes the tokens again that the restore brought back. */
  async deleteAgain(): Promise<void> {
    const { world } = this.operator;
    const answer = await this.operator.insist("GET", "/tokens?limit=100");
    if (answer?.status !== 200) return;
    const { items } = JSON.parse(answer.body) as { items: { id: string }[] };
    for (const badge of world.company.deleted) {
      if (!items.some(({ id }) => id === badge.id)) continue;
      world.count("token that a restore brought back deleted again");
      await this.delete(badge);
    }
  }
}

/** An owner makes tokens and takes them away, while their holders work. */
export async function keepTokens(world: World): Promise<void> {
  const keeper = new TokenKeeper(new Operator(world));
  const { chance } = keeper.operator;
  for (const each of world.company.staff) if (chance.happens(0.6)) await handOut(keeper, each);
  const nightAt = chance.happens(NIGHTS) ? chance.integer(4, 12) : -1;
  for (let acts = 0; !world.closing; acts++) {
    await pause(world, chance, chance.between(500, 9_000));
    if (world.closing) return;
    if (acts === nightAt) await useInSilence(keeper, true);
    else await act(keeper, chance.weighted(TOKEN_ACTS));
  }
}

/** Gives an operator a token of the role that the work needs. */
async function handOut(keeper: TokenKeeper, to: Operator): Promise<void> {
  const { chance } = keeper.operator;
  const days = chance.happens(0.4) ? { expires_in_days: chance.one([1, 1, 1, 90]) } : {};
  if (to.needs !== undefined && to.badge === undefined) to.badge = await keeper.make({ role: to.needs, ...days });
}

async function act(keeper: TokenKeeper, what: keyof typeof TOKEN_ACTS): Promise<void> {
  const { operator } = keeper;
  const { world, chance } = operator;
  const { staff, badges, deleted, sites } = world.company;
  world.count(`token keeper: ${what}`);
  const alive = badges.filter((badge) => !deleted.has(badge));
  switch (what) {
    case "handOut":
      return staff.length > 0 ? handOut(keeper, chance.one(staff)) : undefined;
    case "takeAway":
      // The holder is not told, and goes on.
      return alive.length > 0 ? keeper.delete(chance.one(alive)) : undefined;
    case "listTokens":
      return void (await operator.call("GET", `/tokens${chance.one(["", "?limit=2", "?limit=100"])}`));
    case "ownToken":
      operator.badge ??= await keeper.make({ role: "owner" });
      return;
    case "deleteTwice": {
      const badge = await keeper.make({ role: "viewer" });
      if (badge !== undefined) await Promise.all([keeper.delete(badge), keeper.delete(badge)]);
      return;
    }
    case "askMalformed": {
      const siteId = sites[0]?.siteId ?? 1;
      const body = chance.one([
        { name: "Wrong", role: "owner", site_id: siteId },
        { name: "Wrong", role: "viewer", site_id: 999_999 },
        { name: "Wrong", role: "root" },
        { name: "Wrong", role: "viewer", expires_in_days: 0 },
      ]);
      await operator.call("POST", "/tokens", body);
      return void (await operator.call("DELETE", `/tokens/tok_${"0".repeat(32)}`));
    }
    case "silentDirectory":
      return useInSilence(keeper);
    case "wakeTheDead":
      for (const badge of badges.filter((each) => isDead(world, each)).slice(-3)) await wake(world, operator, badge);
  }
}

export const isDead = (world: World, badge: Badge): boolean =>
  world.company.deleted.has(badge) || (badge.expiresAt ?? Number.POSITIVE_INFINITY) <= world.clock;

/** Calls with a token that has ended. */
export async function wake(world: World, { chance }: Operator, badge: Badge): Promise<void> {
  world.count(world.company.deleted.has(badge) ? "deleted token tried" : "expired token tried");
  for (const path of chance.some(["/sites", "/audit?limit=2", "/homes"], 0.7)) {
    await askAs(world, chance, badge, { method: "GET", path });
  }
}

/**
 * Isolates learn of a token, an owner deletes it or it expires, and it is tried while the directory does not answer:
 * soon, or when the isolates must have forgotten it.
 */
async function useInSilence(keeper: TokenKeeper, expires = false): Promise<void> {
  const { world, chance } = keeper.operator;
  const site = world.company.anySite(chance);
  const ofSite = chance.happens(0.5) && { site_id: site.siteId };
  const badge = await keeper.make({
    role: chance.one(["viewer", "operator"]),
    ...ofSite,
    ...(expires && { expires_in_days: 1 }),
  });
  const edge = chance.one(world.weather.edges);
  if (badge === undefined) return;
  const appid = site.apps.find(({ revoked }) => !revoked)?.appid ?? "none";
  const ask = (path: string, method = "GET", body?: object) =>
    askAs(world, chance, badge, { method, path, body }, edge);
  const left = () => (badge.expiresAt ?? 0) * 1000 - world.cloud.now();
  if (expires) await rest(world, left() - chance.between(20_000, 60_000));
  for (let i = 0; i < 5; i++) await ask("/sites?limit=1");
  if (expires) await rest(world, Math.max(0, left()) + 10_000);
  else if (chance.happens(0.8)) await keeper.delete(badge);
  if (!expires && chance.happens(0.5)) await rest(world, FORGOTTEN_MS + chance.between(5_000, 60_000));
  if (world.closing) return;
  world.count(expires ? "expired token tried in silence" : "token tried while the directory is silent");
  const directory = world.cloud.home("main");
  directory.state = chance.one(["refusing", "refusing", "silent"]);
  world.scheduler.after(chance.between(2_000, 9_000), () => {
    directory.state = "up";
  });
  for (let i = 0; i < 3; i++) {
    const calls = [ask("/audit?limit=2"), ask("/reseal", "POST"), ask(`/requests/${chance.uuid()}`)];
    await Promise.all([...calls, ask(`/apps/${appid}/end-overlap`, "POST"), ask("/sites/999999/apps")]);
    await world.sleep(chance.between(100, 2_000));
  }
}
