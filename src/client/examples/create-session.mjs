// Opens a session and prints its chat_id. Needs Node 18 or later and nothing else.
// An argument is the Idempotency-Key, for example an order's number.
//   BASE_URL=https://… APPID=… SECRET=… AGENT_ID=10411,10427 node create-session.mjs
//
// Pitfalls of JavaScript:
// - Re-serialising: call JSON.stringify once, sign that string and send that string. Clients that take an object (axios' data, got's
//   json) serialise it again, and a middleware that parsed a body no longer has the bytes that were signed.
// - Date.now() is milliseconds; the timestamp is seconds.
// - Numbers beyond 2^53 lose digits in silence: keep large customer ids as strings.
// - Chinese text stays as it is and goes out as UTF-8; createHmac reads a string as UTF-8 too.
// - Key order does not matter. No newline is added, unless the body comes from a file that ends in one.
// - fetch waits without end unless it gets a signal. It follows redirects (a 307 would send the signed data elsewhere), and breaks at a
//   1xx before the answer.
// - The look-up of a name cannot be stopped: process.exit waits until it is over.
import { createHmac, randomInt, randomUUID } from "node:crypto";
import http from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";

const { BASE_URL, APPID, SECRET, AGENT_ID } = process.env;
const key = process.argv[2] ?? randomUUID();
for (const [name, value, form] of [
  ["BASE_URL", BASE_URL, /^https?:\/\/[[\]0-9A-Za-z.:-]+(\/[0-9A-Za-z._~-]+)*$/],
  ["APPID", APPID, /^[0-9A-Za-z_-]+$/],
  ["SECRET", SECRET, /^[ -~]+$/],
  ["AGENT_ID", AGENT_ID, /^[1-9]\d{0,14}(,[1-9]\d{0,14})*$/],
  ["Idempotency-Key", key, /^[!-~]{1,255}$/],
]) {
  if (form.test(value ?? "")) continue;
  console.error(`${name} is missing or wrong: it must match ${form.source}`);
  process.exit(1);
}
const agents = AGENT_ID.split(",").map(Number);
const now = () => Math.floor(Date.now() / 1000);

/** Makes one try, signed anew: at most 10 s until the body's end, and at most 64 KiB. With an error it returns what came before it. */
async function post(timestamp) {
  const body = JSON.stringify({
    appid: APPID,
    timestamp,
    ranstr: randomUUID(),
    sbs: "customer_001",
    ip: "203.0.113.7",
    sbs_mc: "王伟",
    content: "我的订单在哪里？",
    kefu_id: agents,
    fzr_uid: agents[0],
  });
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  const { request } = BASE_URL.startsWith("https:") ? https : http;
  const got = { headers: new Headers(), envelope: {} };
  await new Promise((resolve, reject) => {
    const call = request(`${BASE_URL}/openapi/chat/create_gd`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key, "x-chat-signature": signature },
      agent: false, // a connection of its own
    });
    const timer = setTimeout(() => call.destroy(new Error("nothing whole in 10 s")), 10_000);
    call.on("error", reject);
    call.on("close", () => {
      clearTimeout(timer);
      reject(new Error("the connection broke"));
    });
    call.on("response", (answer) => {
      got.status = answer.statusCode;
      const { rawHeaders } = answer;
      for (let i = 0; i < rawHeaders.length; i += 2) got.headers.append(rawHeaders[i], rawHeaders[i + 1]);
      let text = Buffer.alloc(0);
      const end = () => {
        got.envelope = envelopeOf(text);
        resolve();
      };
      answer.on("data", (piece) => {
        text = Buffer.concat([text, piece]).subarray(0, 65_536);
        if (text.length < 65_536) return;
        end();
        call.destroy();
      });
      answer.on("end", end);
      answer.on("error", reject);
    });
    call.end(body);
  }).catch((error) => {
    got.error = error;
  });
  return got;
}

/** Reads {"code":1 or -1,"msg":"…","data":…}. An answer in another form is not from this service, and gives {}. */
function envelopeOf(bytes) {
  try {
    const { code, msg, data } = JSON.parse(bytes);
    return (code === 1 || code === -1) && typeof msg === "string" ? { code, msg, data } : {};
  } catch {
    return {};
  }
}

/** Retry-After in seconds. The longest of several values counts. A value that is no number counts as too long. */
function secondsOf(retryAfter) {
  const each = (retryAfter || "0").split(",").map((text) => text.trim());
  return Math.max(...each.map((text) => (/^\d+(\.\d*)?$/.test(text) ? Number(text) : Infinity)));
}

function end(what, headers) {
  const id = headers.get("x-request-id");
  const line = `${what}; Idempotency-Key ${key}${id ? `, x-request-id ${id}` : ""}`;
  console.error(line.replace(/\p{Cc}+/gu, " "));
  process.exit(1);
}

let offset; // how far this machine's clock is off, once the service has refused its time
for (let tries = 1; ; tries++) {
  const { status, headers, envelope, error } = await post(now() + (offset ?? 0));
  const { code, msg, data } = envelope;
  if (status === 200 && code === 1 && Number.isSafeInteger(data?.chat_id)) {
    console.log(data.chat_id);
    process.exit();
  }
  const detail = headers.get("x-error-detail") ?? "";
  const retryAfter = headers.get("retry-after");
  let what = `not an answer of this service: HTTP ${status}`;
  if (error) what = `no answer: ${error.message || error.code}`;
  else if (code === -1) what = `refused: ${msg}${detail && ` (${detail})`}`;
  else if (headers.has("location")) what += `, a redirect to ${headers.get("location")}, which is not followed`;

  const [, time] = /^timestamp: .* of (\d{10}), Unix seconds/.exec(detail) ?? [];
  if (code === -1 && time && offset === undefined && tries < 3) {
    offset = time - now();
    continue;
  }
  // When every refusal has status 200, Retry-After shows that another try may help. Ask the operator after the service's own 500.
  const again =
    error ||
    status === 408 ||
    status === 429 ||
    (status === 200 && code === -1 && retryAfter) ||
    (status >= 500 && !(status === 500 && code === -1));
  if (!again) end(what, headers);
  if (tries === 3) end(`gave up after 3 tries: ${what}`, headers);
  if (secondsOf(retryAfter) > 60) end(`gave up, because Retry-After is ${retryAfter}: ${what}`, headers);
  await sleep(secondsOf(retryAfter) * 1000 + randomInt(1000, 3000));
}
