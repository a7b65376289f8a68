import type { Wire } from "../call.ts";
import { ADMIN_TOKEN, LIMITS } from "../cloud/settings.ts";
import type { Attacker } from "./attacker.ts";
import { forge } from "./forgeries.ts";
import { forgedToken } from "./token-forgeries.ts";

/** Calls the admin API without its token. */
export async function intruders(attacker: Attacker): Promise<void> {
  const { chance, world } = attacker;
  while (!world.closing) {
    await attacker.pause(2_000, 40_000);
    const edge = attacker.anyEdge();
    const calls = chance.happens(0.1) ? LIMITS.CLIENT_LIMIT.limit + 5 : 1;
    for (let i = 0; i < calls; i++) await attacker.send(intrusion(attacker), edge);
    // Wrong signatures of the same address must not count for the limit of wrong tokens.
    for (let i = 0; i < 3; i++) await attacker.send(forge(attacker), edge);
  }
}

function intrusion({ world, chance }: Attacker): Wire {
  const { siteId, webhooks } = world.company.anySite(chance);
  const webhook = webhooks[0]?.id ?? "wh_none";
  const { appid, secrets } = world.company.anyApp(chance);
  const [method, path, body] = chance.one([
    ["GET", "/sites"],
    ["GET", `/sites/${siteId}/sessions`],
    ["POST", `/sites/${siteId}/apps`, { name: "Mine" }],
    ["POST", `/apps/${appid}/rotate`, { overlap_seconds: 0 }],
    ["DELETE", `/apps/${appid}`],
    ["PATCH", `/sites/${siteId}`, { status: "closed" }],
    ["POST", "/homes/main/restored"],
    ["POST", `/sites/${siteId}/webhooks`, { url: "https://hooks.attacker.example.com/" }],
    ["POST", `/sites/${siteId}/webhooks/${webhook}/rotate`, { overlap_seconds: 0 }],
    ["GET", `/sites/${siteId}/events?after=0`],
  ] as const);
  const authorization = chance.one([
    undefined,
    "Bearer ",
    `Bearer ${ADMIN_TOKEN.slice(0, -1)}`,
    `Bearer ${ADMIN_TOKEN}x`,
    `Bearer ${ADMIN_TOKEN.toUpperCase()}`,
    `Bearer ${"x".repeat(ADMIN_TOKEN.length)}`,
    `Bearer ${secrets.at(-1)?.secret}`,
    `Basic ${ADMIN_TOKEN}`,
    ADMIN_TOKEN,
    ...Array.from({ length: 4 }, () => `Bearer ${forgedToken(world, chance)}`),
    `Bearer ${world.company.badges[0]?.id ?? "tok_none"}`,
  ]);
  const headers = {
    ...(authorization !== undefined && { authorization }),
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  return { method, path: `/admin${path}`, headers, body: body === undefined ? "" : JSON.stringify(body) };
}
