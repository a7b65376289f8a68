import type { Wire } from "../call.ts";
import { ADMIN_TOKEN, LIMITS } from "../cloud/settings.ts";
import { signed } from "../signed.ts";
import { type Attacker, newSession, secretOf } from "./attacker.ts";

/** The acts of a forger, by their weights. */
export const FORGERS_ACTS = { forge: 12, invent: 5, forgeries: 0.5, inventions: 0.5 };
export const FORGERIES = { guess: 4, other: 4, master: 1, old: 6, revoked: 6, none: 2, bytes: 3, malformed: 2 };

/** Sends requests in the name of apps whose secret the attacker does not have, and of apps that do not exist. */
export async function forgeries(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  while (!world.closing) {
    await attacker.pause(200, 6_000);
    const act = chance.weighted(FORGERS_ACTS);
    world.count(`forger: ${act}`);
    switch (act) {
      case "forge":
        await attacker.send(forge(attacker), attacker.anyEdge());
        break;
      case "invent":
        await attacker.send(invent(attacker), attacker.anyEdge());
        break;
      case "forgeries":
        await flood(attacker, () => forge(attacker));
        break;
      case "inventions":
        await flood(attacker, () => invent(attacker));
        break;
    }
  }
}

/** Sends more calls than an address may, to one edge, for longer than the limit refuses them. */
async function flood(attacker: Attacker, next: () => Wire): Promise<void> {
  const { world, chance } = attacker;
  const edge = attacker.anyEdge();
  const within = chance.one([300, 8_000]);
  world.count("flood of forgeries");
  await Promise.all(
    Array.from({ length: LIMITS.CLIENT_LIMIT.limit * 3 }, async () => {
      await world.sleep(chance.number() * within);
      await attacker.send(next(), edge);
    }),
  );
}

/** A request in the name of an app, by an attacker who cannot sign for it. */
export function forge(attacker: Attacker): Wire {
  const { world, chance } = attacker;
  const { apps, oldSecrets } = world.company;
  const captured = attacker.captured();
  if (apps.length === 0) return invent(attacker);
  const app = chance.one(apps);
  const fields = (appid: string) => ({ appid, ...newSession(attacker, chance.one(app.site.agentIds)) });
  const revoked = apps.filter((each) => each.revoked);
  const forgery = chance.weighted(FORGERIES);
  world.count(`forgery: ${forgery}`);
  switch (forgery) {
    case "guess":
      return signed("create_gd", fields(app.appid), `guessed-${chance.integer(1, 9)}`);
    case "other":
      return signed("create_gd", fields(app.appid), secretOf(chance.one(apps)));
    case "master":
      return signed("create_gd", fields(app.appid), chance.one([ADMIN_TOKEN, world.cloud.settings.masterKey]));
    case "old": {
      const old = oldSecrets.length > 0 ? chance.one(oldSecrets.slice(-6)) : { appid: app.appid, secret: "none" };
      return signed("create_gd", spoilt(attacker, fields(old.appid)), old.secret);
    }
    case "revoked": {
      const gone = revoked.length > 0 ? chance.one(revoked) : app;
      return signed("create_gd", spoilt(attacker, fields(gone.appid)), `${secretOf(gone)}${gone === app ? "-" : ""}`);
    }
    case "none": {
      const { headers, ...wire } = signed("create_gd", fields(app.appid), "none");
      const { "x-chat-signature": _, ...rest } = headers;
      return {
        ...wire,
        headers: chance.happens(0.5) ? rest : { ...rest, "x-chat-signature": chance.one(["", "0", "zz"]) },
      };
    }
    case "bytes":
      return captured === undefined
        ? signed("create_gd", fields(app.appid), "none")
        : { ...captured.wire, headers: { ...captured.wire.headers, "x-chat-signature": "0".repeat(64) } };
    default:
      return signed("create_gd", { appid: app.appid, content: "" }, "none");
  }
}

/** Adds an error that only the owner of the secret may be told: a field that breaks its rule, or a stale timestamp. */
function spoilt<Fields extends object>({ world, chance }: Attacker, fields: Fields): Fields {
  const spoil = chance.weighted({ nothing: 3, content: 1, timestamp: 1, ranstr: 1 });
  if (spoil === "nothing") return fields;
  return { ...fields, [spoil]: { content: "", timestamp: world.clock - 5_000, ranstr: "" }[spoil] };
}

function invent(attacker: Attacker): Wire {
  const { world, chance } = attacker;
  const known = world.company.anyApp(chance);
  const appid = chance.happens(0.7)
    ? chance.uuid().replaceAll("-", "")
    : chance.one([
        "a".repeat(64),
        "a".repeat(65),
        "😀".repeat(64),
        "a\0b",
        `${known.appid}\0`,
        `${known.appid} `,
        known.appid.toUpperCase(),
        "\ud800",
        "__proto__",
        "constructor",
        "' OR 1=1 --",
        // The caller mixed up the fields: the secret stands in the place of the appid.
        secretOf(known),
      ]);
  return signed("create_gd", { appid, ...newSession(attacker, 10_411) }, chance.one([secretOf(known), "invented"]));
}
