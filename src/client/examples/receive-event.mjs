// Receives events, stores each in a folder, prints its "id type seq", once. Needs Node 18 or later and nothing else. Put TLS in front.
//   SECRET=whsec_… PORT=8080 SEEN=/var/lib/events node receive-event.mjs
//
// Pitfalls of JavaScript:
// - The raw body: a framework's JSON middleware (express.json, bodyParser) consumes the signed bytes. Use express.raw, or request.text()
//   of a fetch-style framework, and parse after verifying.
// - The key is the decoded base64 after whsec_, not the text.
// - The time of comparing strings shows how much of them is equal: use timingSafeEqual, which throws for unequal lengths.
// - Date.now() is milliseconds; webhook-timestamp is seconds.
// - A server of Node gives a request five minutes, and does not limit connections: set both limits.
// - Work that is awaited before response.end() counts against the 15 s of the answer: end your answer before you work.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { link, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { SECRET = "", PORT = "8080", SEEN } = process.env;
const key = Buffer.from(SECRET.slice("whsec_".length), "base64");
if (key.length < 24 || SECRET !== `whsec_${key.toString("base64")}`) {
  console.error("SECRET must be whsec_ and base64 of at least 24 bytes");
  process.exit(1);
}
// Without SEEN the folder is a new one, so a restart forgets the stored events.
const folder = SEEN || mkdtempSync(join(tmpdir(), "events-"));

// An unverified request may come from anybody, so its size is limited. An event comes from one call, which has at most 64 KiB.
const MOST_BYTES = 256 * 1024;
const MOST_MS = 10_000;
const MOST_CONNECTIONS = 200;

/** Why this request must be refused; undefined for a request of the service. */
function fault(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  if (!id || !timestamp || !signatures) return "a header is missing";
  if (!/^[\w-]{1,100}$/.test(id)) return "no id of the service";
  // This comparison refuses NaN too.
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return "too old, or from the future";
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  // There are two signatures while the secret is being rotated.
  const right = signatures.split(" ").some((signature) => {
    const [version, digest = ""] = signature.split(",");
    const given = Buffer.from(digest, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
  return right ? undefined : "wrong signature";
}

/**
 * Stores an event and its id in one step: the id is the name of the linked file. With a database, this is one INSERT with the id as the
 * key. Throws when the event was not stored. Only an id that exists is a duplicate.
 *
 * @returns whether the event is new
 */
async function store(id, body) {
  const written = join(folder, `${id}.${randomUUID()}`);
  try {
    await writeFile(written, body, { mode: 0o600 });
    await link(written, join(folder, `${id}.json`));
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(written, { force: true }).catch(() => {});
  }
}

async function receive(request, response) {
  response.setHeader("connection", "close");
  if (request.method !== "POST") return response.writeHead(405, { allow: "POST" }).end("POST only");
  if (Number(request.headers["content-length"]) > MOST_BYTES) return response.writeHead(413).end("too large");
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > MOST_BYTES) return response.writeHead(413).end("too large");
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  const why = fault(request.headers, body);
  if (why !== undefined) {
    console.error(`refused: ${why}`);
    return response.writeHead(400).end(why);
  }
  const id = request.headers["webhook-id"];
  let isNew;
  try {
    isNew = await store(id, body);
  } catch (error) {
    console.error(`not stored: ${error.message}`);
    return response.writeHead(503).end("not stored");
  }
  // Finish your answer before you start the work: without an answer in 15 s, the event is sent again. Answer a duplicate and an unknown
  // type with 2xx too.
  response.writeHead(204).end();
  if (isNew) work(id, body);
}

function work(id, body) {
  try {
    const { type, data } = JSON.parse(body);
    if (!Number.isInteger(data.seq)) throw new Error("it has no seq");
    console.log(id, type, data.seq);
  } catch (error) {
    console.error(`${id} is no event: ${error.message}`);
  }
}

const limits = { headersTimeout: MOST_MS, requestTimeout: MOST_MS, connectionsCheckingInterval: 1_000 };
const server = createServer(limits, (request, response) => {
  // A sender that hangs up in the middle of a body must not end the receiver.
  receive(request, response).catch(() => response.destroy());
});

// One request for each connection: a second request that came with the first is not read.
server.maxRequestsPerSocket = 1;

/** The open connections, the oldest first. A new one closes the oldest, so that half-sent requests keep nobody out. */
const open = new Set();
server.on("connection", (socket) => {
  open.add(socket.on("close", () => open.delete(socket)));
  if (open.size <= MOST_CONNECTIONS) return;
  const [oldest] = open;
  open.delete(oldest);
  oldest.destroy();
});
server.listen(Number(PORT), "127.0.0.1");
