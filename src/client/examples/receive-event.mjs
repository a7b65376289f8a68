// Receives events, prints "id type seq" of each, once. Needs Node 18 or later and nothing else. Put TLS in front of it.
//   SECRET=whsec_… PORT=8080 node receive-event.mjs
//
// Pitfalls of JavaScript:
// - The raw body: a framework's JSON middleware (express.json, bodyParser) takes the bytes that were signed. Use express.raw, or
//   request.text() of a fetch-style framework, and parse after verifying.
// - The key is the decoded base64 after whsec_, not the text.
// - Strings compare in a time that tells how much is right: timingSafeEqual does not, and throws for unequal lengths.
// - Date.now() is milliseconds; webhook-timestamp is seconds.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const { SECRET = "", PORT = "8080" } = process.env;
if (!/^whsec_[\w+/]{32,}=*$/.test(SECRET)) throw new Error("SECRET must be whsec_ and base64");
const key = Buffer.from(SECRET.slice("whsec_".length), "base64");

// In memory, for brevity. Keep the ids in your database, in the transaction that stores the event: then a restart forgets none.
const seen = new Set();

/** Why this request must not be believed; undefined for one of the service's. */
function fault(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  if (!id || !timestamp || !signatures) return "a header is missing";
  // Written so that NaN is refused too.
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return "too old, or from the future";
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  // There are two while the secret is being rotated.
  const right = signatures.split(" ").some((signature) => {
    const [version, digest = ""] = signature.split(",");
    const given = Buffer.from(digest, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
  return right ? undefined : "wrong signature";
}

async function receive(request, response) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > 1_000_000) return response.writeHead(413).end();
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  const why = fault(request.headers, body);
  if (why !== undefined) {
    console.error(`refused: ${why}`);
    return response.writeHead(400).end(why);
  }
  const id = request.headers["webhook-id"];
  const isNew = !seen.has(id);
  seen.add(id);
  // Store the event, answer, and only then work on it: after 15 s without an answer it is sent again. A duplicate and an
  // unknown type get a 2xx too.
  response.writeHead(204).end();
  if (!isNew) return;
  const { type, data } = JSON.parse(body);
  console.log(id, type, data.seq);
}

const server = createServer((request, response) => {
  // Whoever hangs up in the middle of a body must not end the receiver.
  receive(request, response).catch(() => response.destroy());
});
server.listen(Number(PORT), "127.0.0.1");
