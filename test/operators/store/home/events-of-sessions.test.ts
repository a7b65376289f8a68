import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FARTHEST_SECONDS, findEvents } from "../../../../src/operators/store/home/events-of-sessions.ts";
import { seedCustomer } from "../../../support/customers.ts";
import { World } from "../../../support/world.ts";

/** The search for the events of a customer's sessions finds all of them, in any log. */

const TYPES = ["session.created", "session.agents_added", "session.noted"];
const PEOPLE = ["x", "y", "z"];

/** One thing that happens to the site. */
const happening = fc.record({
  /** Seconds since the thing before it. */
  after: fc.oneof({ weight: 9, arbitrary: fc.nat(40) }, { weight: 1, arbitrary: fc.nat(5_000) }),
  /** How many seconds the clock of this isolate is behind: mostly few. */
  behind: fc.oneof(
    { weight: 8, arbitrary: fc.nat(1) },
    { weight: 2, arbitrary: fc.nat(60) },
    { weight: 1, arbitrary: fc.nat(FARTHEST_SECONDS) },
  ),
  what: fc.constantFrom("create", "create", "create", "add", "add", "addAtOnce", "note", "webhook", "events", "skip"),
  who: fc.nat(PEOPLE.length - 1),
  which: fc.nat(1_000),
  agents: fc.nat(2),
});

type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

/** Inserts rows, each with this many values, by one statement. */
const insert = (into: string, values: number, rows: unknown[][]) => {
  const each = Array.from({ length: values }, (_, i) => `value ->> ${i}`);
  return env.DB.prepare(`INSERT INTO ${into} SELECT ${each} FROM json_each(?)`).bind(JSON.stringify(rows));
};

/** Writes the rows of what happened. @returns the seqs of all events of the sessions of `x` */
async function write(siteId: number, happenings: Happening[], prunedTo: number): Promise<number[]> {
  const sessions: { id: number; who: string; agents: number; at: number }[] = [];
  const agentRows: unknown[][] = [];
  const reports: unknown[][] = [];
  const events: { seq: number; who: string | undefined }[] = [];
  let [id, seq, now, isOn] = [0, 0, 100_000, true];
  const tell = (type: string, session: (typeof sessions)[number] | undefined, at: number, data: object) => {
    if (!isOn) return;
    seq++;
    events.push({ seq, who: session?.who });
    reports.push([siteId, seq, `evt_${siteId}_${seq}`, type, session?.id ?? null, at, JSON.stringify(data)]);
  };
  const join = (session: (typeof sessions)[number], at: number) =>
    agentRows.push([siteId, session.id, ++session.agents + 1, 1, at]);
  for (const { after, behind, what, who, which, agents } of happenings) {
    now += after;
    const at = now - behind;
    const session = sessions[which % Math.max(1, sessions.length)];
    if (what === "events") isOn = !isOn;
    else if (what === "skip") [id, seq] = [id + which, seq + which * 100];
    else if (what === "webhook") tell("webhook.failing", undefined, at, {});
    else if (what === "create" || session === undefined) {
      const newSession = { id: ++id, who: PEOPLE[who] ?? "", agents: 0, at };
      sessions.push(newSession);
      for (let i = 0; i < agents; i++) join(newSession, at);
      tell("session.created", newSession, at, { participants: Array(agents).fill({}) });
    } else if (what === "note") tell("session.noted", session, at, {});
    else {
      // Agents may also join in the second of the creation.
      const second = what === "addAtOnce" && now - session.at <= FARTHEST_SECONDS ? session.at : at;
      for (let i = 0; i <= agents; i++) join(session, second);
      tell("session.agents_added", session, second, { agent_ids: Array(agents + 1).fill(0) });
    }
  }
  const oldest = events[prunedTo % Math.max(1, events.length)]?.seq ?? 0;
  const sessionRows = sessions.map(({ id, who, at }) => [siteId, id, "app", "ticket", who, 1, "waiting", "", at]);
  const columns =
    "site_id, id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at";
  await env.DB.batch([
    env.DB.prepare(
      "INSERT INTO home_sites (site_id, name, status, chat_id_floor, revision, created_at) VALUES (?, '', 'open', 0, 0, 1)",
    ).bind(siteId),
    insert(
      "customers",
      6,
      PEOPLE.map((who) => [siteId, who, who, "::1", 0, 0]),
    ),
    insert(`sessions (${columns})`, 9, sessionRows),
    insert("participants", 5, agentRows),
    insert(
      "events",
      7,
      reports.filter(([, seq]) => Number(seq) >= oldest),
    ),
  ]);
  return events.filter(({ seq, who }) => who === "x" && seq >= oldest).map((each) => each.seq);
}

describe("the events of a customer's sessions", () => {
  it("the search for a customer's events finds two calls of one second that added agents, even when one commits late", async () => {
    const world = await World.create({}, "apac");
    await seedCustomer(world, "x", 1);
    const { siteId } = world;
    const addEvent = (seq: number, session: number, at: number, agent: number) =>
      env.HOME_APAC.prepare(
        "INSERT INTO events SELECT ?1, ?2, 'evt_' || ?1 || '_' || ?2, 'session.agents_added', ?3, ?4, json_object('agent_ids', json_array(?5))",
      ).bind(siteId, seq, session, at, agent);
    await env.HOME_APAC.batch([addEvent(2, 1, 5_000, 7), addEvent(3, 99, 5_030, 7), addEvent(4, 1, 5_000, 8)]);
    for (const agent of [7, 8]) {
      await env.HOME_APAC.prepare("INSERT INTO participants VALUES (?, 1, ?, 1, 5000)").bind(siteId, agent).run();
    }
    const filter = { siteId, externalId: "x", after: 0, until: 99, limit: 10 };
    const { seqs } = await findEvents(env.HOME_APAC, filter, ["session.created", "session.agents_added"]);
    expect(seqs.toSorted((a, b) => a - b)).toEqual([1, 2, 4]);
  });

  let siteId = 1_000_000;
  it("the search for a customer's events finds all of them: out of order by an hour, with gaps, or of any type", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(happening, { minLength: 1, maxLength: 200 }),
        fc.nat(50),
        async (happenings, prunedTo) => {
          const expected = await write(++siteId, happenings, prunedTo);
          const findings: number[] = [];
          let after = 0;
          for (;;) {
            const filter = { siteId, externalId: "x", after, until: Number.MAX_SAFE_INTEGER, limit: 20 };
            const { chatIds, seqs } = await findEvents(env.DB, filter, TYPES);
            findings.push(...seqs);
            if (chatIds.length < 20) break;
            after = chatIds.at(-1) ?? 0;
          }
          expect(findings.toSorted((a, b) => a - b)).toEqual(expected);
        },
      ),
      { numRuns: 60 },
    );
  });
});
