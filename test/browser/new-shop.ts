import { AgentSessionClient } from "../../src/client/client.ts";
import type { BuiltWorker } from "../support/built-worker.ts";

/** Makes a site called `Site` with three agents and an app. Returns it with functions that open a session and read its rows. */
export async function newShop(worker: BuiltWorker) {
  const { siteId, ...app } = await worker.provision();
  const client = new AgentSessionClient({ baseUrl: worker.url, ...app });
  const createSession = async (change: Partial<Parameters<typeof client.createSession>[0]> = {}): Promise<number> => {
    const session = {
      customer: { id: "customer_001", name: "Mei Tanaka", ip: "127.0.0.1" },
      content: "Where is my parcel?",
      title: "Parcel",
      agentIds: [10411],
      responsibleAgentId: 10411,
    };
    return (await client.createSession({ ...session, ...change })).chatId;
  };
  /** The values that a query of the site's rows finds. The only parameter of the query is the site's id. */
  const read = async (query: string): Promise<unknown[]> =>
    (await (worker.env.DB as D1Database).prepare(query).bind(siteId).raw()).flat();
  return { site: `/console/sites/${siteId}`, siteId, app, client, createSession, read };
}
