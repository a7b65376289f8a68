import type { Chance } from "../../machine/chance.ts";
import type { Answer } from "../call.ts";
import { ADMIN_TOKEN } from "../cloud/settings.ts";
import type { World } from "../world.ts";

export type BadgeRole = "viewer" | "operator" | "owner";

/** A token for programs, as its holder knows it. */
export interface Badge {
  id: string;
  text: string;
  role: BadgeRole;
  /** The one site that it is of; null for all. */
  siteId: number | null;
  /** Unix seconds; null for never. */
  expiresAt: number | null;
  /** The address of its holder. Each has another: too many failures of one must not stop the others. */
  address: string;
}

export interface Asked {
  method: string;
  /** Below /admin. */
  path: string;
  body?: object | undefined;
}

/** Calls the admin API with a token, or as the root from its address. @returns undefined when there was no answer */
export function askAs(
  world: World,
  chance: Chance,
  by: Pick<Badge, "text" | "address"> | { address: string },
  { method, path, body }: Asked,
  edge = chance.one(world.weather.edges),
): Promise<Answer | undefined> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${"text" in by ? by.text : ADMIN_TOKEN}`,
    "cf-connecting-ip": by.address,
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  const wire = { method, path: `/admin${path}`, headers, body: body === undefined ? "" : JSON.stringify(body) };
  return world.send(world.newCall("operator", wire, edge));
}
