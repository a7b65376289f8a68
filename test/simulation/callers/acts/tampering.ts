import type { Chance } from "../../machine/chance.ts";
import type { Home } from "../../world/cloud/home.ts";
import type { World } from "../../world/world.ts";
import { type Attacker, newSession, secretOf } from "./attacker.ts";
import { SimpleCaller, signedRequest } from "./signed.ts";

type StoredRecord = Record<string, unknown>;

/** `other` is another app's record, `old` an earlier record of the namespace. */
type TamperingInput = { other: StoredRecord; old: StoredRecord; world: World; chance: Chance };

/** Changes of an app's record in KV. */
const CHANGES: Record<string, (record: StoredRecord, input: TamperingInput) => unknown> = {
  "another app's": (_, { other }) => other,
  "another app's, with this appid": (record, { other }) => ({ ...other, appid: record.appid }),
  "another site": (record, { other }) => ({ ...record, siteId: other.siteId }),
  "another home": (record, { world, chance }) => {
    const home = chance.one([...world.cloud.homes.keys(), "nowhere", "nowhere"]);
    return { ...record, home: worstHome(world) ?? home };
  },
  "an older one": (_, { old }) => old,
  revoked: (record, { world }) => ({ ...record, revokedAt: world.clock }),
  "not revoked": (record) => ({ ...record, revokedAt: null }),
  "an overlap without end": (record) => ({ ...record, previousExpiresAt: 4_000_000_000 }),
  "no overlap": (record) => ({ ...record, previousVersion: null, previousSecret: null, previousExpiresAt: null }),
  "the previous secret as the current one": (record) => ({ ...record, secret: record.previousSecret ?? record.secret }),
  "the old secret with the version of now": (record, { old }) => ({ ...record, secret: old.secret }),
  "the old version": (record, { old }) => ({ ...record, version: old.version }),
};

export const TAMPERINGS = [...Object.keys(CHANGES), "truncated", "deleted"];

/**
 * The home that does the most harm in a record: one that gives no answer or is closed. It is not the directory's home,
 * because apps stop anyway when that home fails.
 */
function worstHome({ cloud }: World): string | undefined {
  const others = [...cloud.homes.values()].filter(({ name }) => name !== "main");
  const isClosed = ({ name }: Home) => cloud.settings.closedHomes.includes(name);
  return (others.find(({ state }) => state === "silent") ?? others.find(isClosed))?.name;
}

/** An attacker writes into CREDENTIALS, and never into NONCES. A deleted record can be read again from D1. */
export async function tamperWithRecords(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  /** Every record that KV ever held, by appid. */
  const recordsByAppid = new Map<string, StoredRecord[]>();
  const owner = new SimpleCaller(world, chance.fork());
  while (!world.closing) {
    await attacker.pause(500, 6_000);
    remember(world, recordsByAppid);
    const { oldSecrets } = world.company;
    const oldSecret = oldSecrets.length > 0 && chance.happens(0.5) ? chance.one(oldSecrets.slice(-6)) : undefined;
    const { appid } = oldSecret ?? world.company.anyApp(chance);
    if (!recordsByAppid.has(appid)) continue;
    tamperWith(attacker, appid, recordsByAppid);
    const app = world.company.apps.find((each) => each.appid === appid && !each.isRevoked);
    if (oldSecret === undefined && app !== undefined) await owner.sendEverywhere(app, secretOf(app));
    if (oldSecret === undefined) continue;
    // An attacker may have an ended secret, and try it now.
    for (const edge of world.weather.edges) {
      await attacker.send(signedRequest(newSession(attacker, appid, 10_411), oldSecret.secret), edge);
    }
  }
}

function remember({ company, cloud }: World, recordsByAppid: Map<string, StoredRecord[]>): void {
  for (const { appid } of company.apps) {
    const value = cloud.credentials.get(`app:${appid}`)?.value;
    const records = recordsByAppid.get(appid) ?? [];
    const record = value === undefined ? undefined : read(value);
    if (record !== undefined && record.version !== records.at(-1)?.version)
      recordsByAppid.set(appid, [...records, record]);
  }
}

/** Changes the record of an app in KV, and drops it from the caches of most edges and some isolates. */
function tamperWith({ world, chance }: Attacker, appid: string, recordsByAppid: Map<string, StoredRecord[]>): void {
  const { credentials, credentialCaches, isolates } = world.cloud;
  const records = recordsByAppid.get(appid) as StoredRecord[];
  const key = `app:${appid}`;
  const any = chance.one([...TAMPERINGS, "another home"]);
  const kind = worstHome(world) === undefined ? any : "another home";
  const record = records.at(-1) as StoredRecord;
  const old = chance.one(records);
  const other = recordsByAppid.get(chance.one([...recordsByAppid.keys()]))?.at(-1) as StoredRecord;
  const newRecord = CHANGES[kind]?.(record, { other, old, world, chance });
  world.count(`KV record tampered: ${kind}`);
  world.say(() => [appid, `KV holds ${kind} for it: ${JSON.stringify(newRecord)}`]);
  world.checker.tampered(appid);
  if (kind === "deleted") credentials.delete(key);
  else {
    const value = kind === "truncated" ? JSON.stringify(record).slice(0, 60) : JSON.stringify(newRecord);
    credentials.set(key, { value, expiresAt: Number.POSITIVE_INFINITY });
  }
  for (const cache of chance.some(credentialCaches, 0.8)) cache.forget(key);
  if (world.weather.isolateLife === 0) return;
  for (const isolate of chance.some(isolates, 0.3)) world.cloud.kill(isolate);
}

/** Parses a record from KV; undefined when it is damaged. */
function read(text: string): StoredRecord | undefined {
  try {
    const record = JSON.parse(text) as StoredRecord;
    return typeof record === "object" && record !== null && typeof record.version === "string" ? record : undefined;
  } catch {
    return undefined;
  }
}
