import type { WireRequest } from "../../world/call.ts";
import { LIMITS } from "../../world/cloud/settings.ts";
import { type Attacker, newSession, secretOf } from "./attacker.ts";
import { signedRequest } from "./signed.ts";

/** The acts of a forger, with their weights. */
export const FORGERS_ACTS = { forge: 12, invent: 5, forgeries: 2.5, inventions: 0.5 };
export const FORGERIES = { guess: 4, other: 4, old: 6, revoked: 6 };

const ACTS: Record<keyof typeof FORGERS_ACTS, (attacker: Attacker) => Promise<unknown>> = {
  forge: (attacker) => attacker.send(forge(attacker), attacker.anyEdge()),
  invent: (attacker) => attacker.send(invent(attacker), attacker.anyEdge()),
  forgeries: (attacker) => flood(attacker, forge),
  inventions: (attacker) => flood(attacker, invent),
};

/** Sends requests in the name of apps whose secret the attacker does not have, and of apps that do not exist. */
export async function forgeries(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  while (!world.closing) {
    await attacker.pause(200, 6_000);
    const act = chance.weighted(FORGERS_ACTS);
    world.count(`forger: ${act}`);
    await ACTS[act](attacker);
  }
}

/**
 * Sends more calls from one address to one edge than the limit allows, for longer than the limit refuses them. The
 * address is often that of an honest caller.
 */
async function flood(attacker: Attacker, next: (attacker: Attacker) => WireRequest): Promise<void> {
  const { world, chance } = attacker;
  const near = chance.happens(0.6) ? world.captures.at(-1) : undefined;
  const edge = near?.edge ?? attacker.anyEdge();
  const within = chance.one([300, 8_000]);
  world.count("flood of forgeries");
  await Promise.all(
    Array.from({ length: LIMITS.CLIENT_LIMIT.limit * 3 }, async () => {
      await world.sleep(chance.number() * within);
      await attacker.send(next(attacker), edge, near?.client);
    }),
  );
}

/** A request in the name of an app, by an attacker who cannot sign for it. */
function forge(attacker: Attacker): WireRequest {
  const { world, chance } = attacker;
  const { apps, oldSecrets } = world.company;
  if (apps.length === 0) return invent(attacker);
  const app = chance.one(apps);
  const fields = (appid: string) => newSession(attacker, appid, chance.one(app.site.agentIds));
  const revokedApps = apps.filter((each) => each.isRevoked);
  const forgery = chance.weighted(FORGERIES);
  world.count(`forgery: ${forgery}`);
  switch (forgery) {
    case "guess":
      return signedRequest(fields(app.appid), `guessed-${chance.integer(1, 9)}`);
    case "other":
      return signedRequest(fields(app.appid), secretOf(chance.one(apps)));
    case "old": {
      const old = oldSecrets.length > 0 ? chance.one(oldSecrets.slice(-6)) : { appid: app.appid, secret: "none" };
      return signedRequest(spoilField(attacker, fields(old.appid)), old.secret);
    }
    default: {
      const pick = revokedApps.length > 0 ? chance.one(revokedApps) : app;
      return signedRequest(spoilField(attacker, fields(pick.appid)), `${secretOf(pick)}${pick === app ? "-" : ""}`);
    }
  }
}

/** Makes the timestamp stale. Only the owner of the secret may learn of that error. */
const spoilField = <Fields extends object>({ world, chance }: Attacker, fields: Fields): Fields =>
  chance.happens(0.4) ? { ...fields, timestamp: world.clock - 5_000 } : fields;

function invent(attacker: Attacker): WireRequest {
  const appid = attacker.chance.uuid().replaceAll("-", "");
  return signedRequest(newSession(attacker, appid, 10_411), "invented");
}
