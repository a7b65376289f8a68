import { createHmac, randomUUID } from "node:crypto";

/**
 * Creates a session that must be accepted, with a first message; waits where a rate limit is reached.
 *
 * @returns its chat_id
 */
export async function createSession(
  url: string,
  { appid, secret }: { appid: string; secret: string },
  agents: number[],
  content: string,
): Promise<number> {
  for (;;) {
    const required = { appid, timestamp: Math.floor(Date.now() / 1000), ranstr: randomUUID() };
    const customer = { sbs: randomUUID(), ip: "127.0.0.1", sbs_mc: `Name of ${content}` };
    const body = JSON.stringify({ ...required, ...customer, content, kefu_id: agents, fzr_uid: agents[0] });
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    const headers = { "content-type": "application/json", "x-chat-signature": signature };
    const answer = await fetch(`${url}/openapi/chat/create_gd`, { method: "POST", headers, body });
    const { data } = (await answer.json()) as { data: { chat_id?: number } };
    if (data.chat_id !== undefined) return data.chat_id;
    if (answer.status !== 429) throw new Error(`create_gd: ${answer.status}`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}
