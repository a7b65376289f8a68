import { AGENTS, APP, createFields, type Fields, signed } from "./bench-app.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { type BenchSide, SIDES, startSide } from "./sides.ts";
import type { RunningWorker } from "./start-worker.ts";

/** Stored columns without times, because the Workers may run in different seconds. */
const ROWS = {
  customers: "SELECT site_id, external_id, name, ip FROM customers",
  sessions: `SELECT site_id, id, appid, kind, customer_external_id, responsible_agent_id, status, visitor_title,
    agent_title, auto_title FROM sessions`,
  participants: "SELECT site_id, session_id, agent_id, added_by FROM participants",
  messages: "SELECT site_id, session_id, seq, sender, sender_uid, content FROM messages",
  nonces: "SELECT site_id, appid, ranstr FROM nonces WHERE outcome = 'accepted'",
};

const AT_ONCE = 12;

interface Sent {
  body: string;
  headers: Record<string, string>;
}

/**
 * Proves before the measurement that each compared Worker gives the same answers and stores the same rows as production. Otherwise
 * the comparison would not be fair. The careful Worker must give all refusals, the floor only those of a replay and of a wrong
 * signature.
 *
 * @throws Error that names the Worker and the difference
 */
export async function checkSides(bundle: ProductionBundle): Promise<void> {
  const requests = { all: acceptedByAll(), careful: onlyByCareful() };
  const outputs: Partial<Record<BenchSide, { all: string; careful: string }>> = {};
  for (const side of SIDES) {
    const worker = await startSide(bundle, side);
    const all = await outputOf(worker, requests.all, { titles: false });
    const careful = side === "floor" ? "" : await outputOf(worker, requests.careful, { titles: true });
    outputs[side] = { all, careful };
    await onceAtMost(worker, side);
    await worker.close();
  }
  const { production } = outputs;
  for (const side of SIDES) {
    if (outputs[side]?.all !== production?.all) throw differs(side, outputs[side]?.all, production?.all);
  }
  if (outputs.careful?.careful !== production?.careful)
    throw differs("careful", outputs.careful?.careful, production?.careful);
}

/**
 * All answers and all stored rows, as one text for the comparison.
 *
 * @param titles whether automatic titles are compared: the floor cuts the message off instead
 */
async function outputOf(worker: RunningWorker, requests: Sent[], { titles }: { titles: boolean }): Promise<string> {
  const answers: string[] = [];
  for (const request of requests) answers.push(await answerTo(worker, request));
  const rows: string[] = [];
  for (const [table, sql] of Object.entries(ROWS)) {
    const { results } = await worker.db.prepare(`${sql} ORDER BY 1, 2, 3`).all<Record<string, unknown>>();
    rows.push(...results.map((row) => `${table} ${JSON.stringify(titles ? row : withoutTitle(row))}`));
  }
  return [...answers, ...rows].join("\n");
}

const withoutTitle = (row: Record<string, unknown>) => ({ ...row, auto_title: undefined });

async function answerTo(worker: RunningWorker, { body, headers }: Sent): Promise<string> {
  const url = `${worker.url}/openapi/chat/create_gd`;
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  return `${answer.status} ${await answer.text()}`;
}

/** Proves that one signed request, sent many times at once, is accepted only once. */
async function onceAtMost(worker: RunningWorker, side: BenchSide): Promise<void> {
  const request = sent(createFields());
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => answerTo(worker, request)));
  const acceptances = answers.filter((answer) => answer.startsWith('200 {"code":1,'));
  if (acceptances.length !== 1) throw new Error(`${side} accepted one request ${acceptances.length} times`);
}

function acceptedByAll(): Sent[] {
  const first = sent(createFields());
  const known = sent(createFields({ sbs_mc: "New Name", kefu_id: AGENTS.slice(0, 4), fzr_uid: AGENTS[2] }));
  const forged = { ...first, headers: { "x-chat-signature": "0".repeat(64) } };
  const stale = sent(createFields({ timestamp: Math.floor(Date.now() / 1000) - 400 }));
  return [first, known, first, forged, stale];
}

function onlyByCareful(): Sent[] {
  const changes: Fields[] = [
    { sbs: "customer_002", sender_type: 1, title: undefined },
    { sbs: "customer_003", sender_type: 3, ip: "2001:db8::1" },
    { content: "a long sentence that goes on and on, further than forty characters, and has no end" },
    { kefu_id: [...AGENTS.slice(0, 2), 1] },
    { fzr_uid: AGENTS[5] },
    { content: "x".repeat(2001) },
    { content: "" },
    { sbs_mc: "x".repeat(31) },
    { sbs: undefined },
    { sbs: "x".repeat(65) },
    { ip: "not an address" },
    { title: "x".repeat(121) },
    { sender_type: 4 },
    { kefu_id: [] },
    { ranstr: undefined },
    { timestamp: "today" },
    { appid: "unknown-unknown-unknown-unknown-" },
    { appid: undefined },
  ];
  const text = { ...sent(createFields()), headers: { "content-type": "text/plain" } };
  return [...changes.map((change) => sent(createFields(change))), text, { ...text, headers: {} }, sentText("{")];
}

function sent(fields: Fields): Sent {
  const { body, signature } = signed(fields);
  return { body, headers: { "x-chat-signature": signature } };
}

const sentText = (body: string): Sent => ({ body, headers: { "x-chat-signature": "0".repeat(64) } });

function differs(side: BenchSide, text = "", expected = ""): Error {
  const [lines, expectedLines] = [text.split("\n"), expected.split("\n")];
  const at = expectedLines.findIndex((line, place) => line !== lines[place]);
  return new Error(
    `${side} does not do what production does for ${APP.appid}:\n${lines[at]}\nproduction:\n${expectedLines[at]}`,
  );
}
