import { createHmac } from "node:crypto";
import type { Settings } from "../world/cloud/settings.ts";
import type { Model } from "./model.ts";
import { openSeal } from "./seals.ts";

/**
 * The keyed hash of a customer's id, made again from its description: HMAC-SHA256 of site and id, with a key of the deployment that is
 * sealed like a secret.
 *
 * @returns how a hash is wrong; undefined also when its key does not open here
 */
export function wrongHash(
  model: Model,
  settings: Settings,
  hash: string,
  siteId: number,
  sbs: string,
): string | undefined {
  const [id = "", mac = ""] = hash.split(".");
  const row = model.hashKeys().find((each) => each.id === id);
  if (row === undefined) return `no key ${id} is stored`;
  const owner = { siteId: 0, appid: "purpose customer hashes", version: id, slot: "current" as const };
  const key = openSeal(settings, owner, String(row.sealed));
  if (key === undefined) return undefined;
  const right = createHmac("sha256", Buffer.from(key, "hex")).update(`${siteId}:${sbs}`).digest("hex");
  return mac === right ? undefined : `${mac} is not the hash of ${sbs} of site ${siteId}`;
}
