import { createHmac } from "node:crypto";
import type { Chance } from "../../machine/chance.ts";
import type { Answer, WireRequest } from "../../world/call.ts";
import type { KnownApp } from "../../world/company.ts";
import type { World } from "../../world/world.ts";
import { newSession } from "./attacker.ts";

/** A signed request to open a session with these fields. */
export function signedRequest(fields: object, secret: string, headers: Record<string, string> = {}): WireRequest {
  const body = JSON.stringify(fields);
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return {
    method: "POST",
    path: "/openapi/chat/create_gd",
    headers: { "content-type": "application/json", "x-chat-signature": signature, ...headers },
    body,
  };
}

/** Sends a request from an address, unless the world closes. */
export async function sendFrom(
  world: World,
  address: string,
  wire: WireRequest,
  edge: string,
): Promise<Answer | undefined> {
  if (world.closing) return undefined;
  const headers = { ...wire.headers, "cf-connecting-ip": address };
  return world.send(world.newCall("attacker", { ...wire, headers }, edge));
}

/** A caller that does not use the client. It opens sessions with the known secrets of an app. */
export class SimpleCaller {
  readonly world: World;
  readonly chance: Chance;
  readonly #address: string;

  constructor(world: World, chance: Chance) {
    this.world = world;
    this.chance = chance;
    this.#address = `198.19.${chance.integer(0, 250)}.${chance.integer(1, 250)}`;
  }

  session({ appid, site }: KnownApp): object {
    return newSession(this, appid, this.chance.one(site.agentIds));
  }

  send(wire: WireRequest, edge: string): Promise<Answer | undefined> {
    return sendFrom(this.world, this.#address, wire, edge);
  }

  /** Opens sessions at all edges at the same time. @param fields replace the caller's own */
  async sendEverywhere(app: KnownApp, secret: string | undefined, fields: object = {}): Promise<void> {
    if (secret === undefined) return;
    const wire = () => signedRequest({ ...this.session(app), ...fields }, secret);
    await Promise.all(this.world.weather.edges.map((edge) => this.send(wire(), edge)));
  }
}
