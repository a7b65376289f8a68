import { signedCall } from "./signed-call.ts";

/**
 * Creates a session with a first message. It must be accepted. After a 429 it waits and tries again.
 *
 * @returns its chat_id
 */
export async function createSession(
  url: string,
  app: { appid: string; secret: string },
  agents: number[],
  content: string,
): Promise<number> {
  for (;;) {
    const customer = { sbs: crypto.randomUUID(), ip: "127.0.0.1", sbs_mc: `Name of ${content}` };
    const fields = { ...customer, content, kefu_id: agents, fzr_uid: agents[0] };
    const answer = await signedCall(url, app, "create_gd", fields);
    const { data } = (await answer.json()) as { data: { chat_id?: number } };
    if (data.chat_id !== undefined) return data.chat_id;
    if (answer.status !== 429) throw new Error(`create_gd: ${answer.status}`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}
