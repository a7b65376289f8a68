// Opens a session and prints its chat_id. Needs Node 18 or later and nothing else.
//   BASE_URL=https://… APPID=… SECRET=… AGENT_ID=10411,10427 node create-session.mjs
//
// Pitfalls of JavaScript:
// - Re-serialising: call JSON.stringify once, sign that string and send that string. Clients that take an object (axios' data, got's
//   json) serialise it again, and a middleware that parsed a body no longer has the bytes that were signed.
// - Date.now() is milliseconds; the timestamp is seconds.
// - Numbers beyond 2^53 lose digits in silence: keep large customer ids as strings.
// - Chinese text stays as it is and goes out as UTF-8; createHmac reads a string as UTF-8 too.
// - Key order does not matter, and no newline is added, unless the body is read from a file that ends in one.
import { createHmac, randomUUID } from "node:crypto";

const { BASE_URL, APPID, SECRET, AGENT_ID } = process.env;
const agents = AGENT_ID.split(",").map(Number);

const body = JSON.stringify({
  appid: APPID,
  timestamp: Math.floor(Date.now() / 1000),
  ranstr: randomUUID(),
  sbs: "customer_001",
  ip: "203.0.113.7",
  sbs_mc: "王伟",
  content: "我的订单在哪里？",
  kefu_id: agents,
  fzr_uid: agents[0],
});
const signature = createHmac("sha256", SECRET).update(body).digest("hex");

const answer = await fetch(`${BASE_URL}/openapi/chat/create_gd`, {
  method: "POST",
  headers: { "content-type": "application/json", "x-chat-signature": signature },
  body,
  signal: AbortSignal.timeout(10_000),
});
const { code, msg, data } = await answer.json();

if (code === 1) {
  console.log(data.chat_id);
} else {
  const detail = answer.headers.get("x-error-detail");
  console.error(`refused: ${msg}${detail === null ? "" : ` (${detail})`}`);
  process.exitCode = 1;
}
