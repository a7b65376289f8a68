import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type Fault, Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { addBody, createBody } from "../../support/signed-bodies.ts";
import { hmac, NOW, World } from "../../support/world.ts";

const HOMES = ["main", "apac"] as const;
/** The simultaneous calls of each home: 9 that create and 3 that add. */
const REQUESTS = 24;
const OVERLOADED = "D1_ERROR: D1 DB is overloaded. Requests queued for too long.";

/** The sessions of a site, by their customers. Fails when a session is not whole. */
async function wholeSessions(world: World): Promise<Map<string, number>> {
  const { customers, sessions, participants, messages } = await world.stored();
  const counts = new Map<string, number>();
  for (const { id, customer_external_id } of sessions) {
    const sbs = String(customer_external_id);
    if (sbs.startsWith("before-")) continue;
    expect(counts.has(sbs), `${sbs} has one session`).toBe(false);
    counts.set(sbs, Number(id));
    expect(messages.filter(({ session_id }) => session_id === id)).toMatchObject([{ content: sbs }]);
    expect(participants.filter(({ session_id }) => session_id === id)).toMatchObject([{ agent_id: 2 }]);
  }
  const known = customers.map(({ external_id }) => String(external_id)).filter((sbs) => !sbs.startsWith("before-"));
  expect(known.sort()).toEqual([...counts.keys()].sort());
  return counts;
}

describe.each(HOMES)("%s going down under load", (broken) => {
  it.each<[string, Fault[], string | undefined]>([
    ["refuses at once", ["before"], OVERLOADED],
    ["is lost in mid-way, before or after it has done what it was asked", ["before", "during", "after"], undefined],
  ])(
    "a home that goes down under load stops only its own sites, and no session is lost or partial, when it %s",
    async (_, kinds, message) => {
      const sites = { main: await World.create(), apac: await World.create({}, "apac") };
      const faults = new Faults(() => undefined, message);
      const binding = broken === "main" ? "DB" : "HOME_APAC";
      const isolate = sites[broken].anotherIsolate({ [binding]: faultyD1(env[binding], faults) });
      const send = async (n: number) => {
        const home = HOMES[n % 2 === 0 ? 0 : 1];
        const { appid, secret } = sites[home];
        const signer = { appid, timestamp: NOW };
        const sbs = `customer-${n}`;
        const adds = n % 8 >= 6;
        const body = adds ? addBody(signer, 1) : createBody(signer, { sbs, content: sbs, kefu_id: [1, 2] });
        const text = JSON.stringify(body);
        const headers = { "x-chat-signature": await hmac(secret, text), ...(!adds && { "idempotency-key": sbs }) };
        const answer = await isolate.sendRaw(adds ? "add_kf" : "create_gd", text, headers);
        return { home, sbs, adds, answer, chatId: (answer.envelope.data as { chat_id?: number }).chat_id };
      };
      const round = () => Promise.all(Array.from({ length: REQUESTS }, (_each, n) => send(n)));
      for (const home of HOMES) {
        const { appid, secret } = sites[home];
        for (let i = 0; i < 3; i++) {
          const warming = Object.assign(sites[home].anotherIsolate(isolate.env), { appid, secret });
          expect((await warming.create({ sbs: `before-${i}` })).status).toBe(200);
        }
      }

      faults.plan(({ nth }) => kinds[nth % kinds.length]);
      const acknowledged = new Map<string, number>();
      for (const { home, sbs, adds, answer, chatId } of await round()) {
        if (home === broken) {
          expect(answer.envelope).toEqual({ code: -1, msg: "服务暂时不可用", data: "" });
          expect([answer.status, Number(answer.headers.get("retry-after")) > 0]).toEqual([503, true]);
        } else {
          expect(answer.status).toBeOneOf(adds ? [200, 409] : [200]);
          if (chatId !== undefined && !adds) acknowledged.set(sbs, chatId);
        }
      }
      const site = sites[broken === "main" ? "apac" : "main"];
      expect(await wholeSessions(site)).toEqual(acknowledged);
      const half = await wholeSessions(sites[broken]);
      if (kinds.length === 1) expect(half.size).toBe(0);
      else expect(half.size).toBeGreaterThan(0);

      await faults.end();
      for (const { home, sbs, adds, answer, chatId } of await round()) {
        expect(answer.status).toBeOneOf(adds ? [200, 409] : [200]);
        if (adds || chatId === undefined) continue;
        const before = home === broken ? half.get(sbs) : acknowledged.get(sbs);
        expect([sbs, answer.headers.get("idempotency-replayed")]).toEqual([sbs, before === undefined ? null : "true"]);
        if (before !== undefined) expect(chatId).toBe(before);
      }
      for (const home of HOMES) {
        const all = await wholeSessions(sites[home]);
        expect(all.size).toBe((REQUESTS / 2) * 0.75);
        expect(new Set(all.values()).size).toBe(all.size);
      }
    },
  );
});
