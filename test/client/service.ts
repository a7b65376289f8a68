import { beforeAll } from "vitest";
import { AgentSessionClient, type ClientOptions } from "../../src/client/client.ts";
import { World } from "../support/world.ts";

interface SentRequest {
  url: string;
  headers: Headers;
  redirect: string;
  text: string;
  fields: Record<string, unknown>;
}

/**
 * A fault of the network in one try: it answers in place of the service, or loses the answer of a request that reached the service.
 * undefined means that nothing goes wrong.
 */
type ServiceMishap = "drop_answer" | "never" | Error | (() => Response) | undefined;

/** The real service behind a faulty network, with a site of its own. The nth mishap is for the nth try. */
export async function ownService(mishaps: ServiceMishap[] = [], options: Partial<ClientOptions> = {}, bindings = {}) {
  return serviceOf(await World.create(bindings), mishaps, options);
}

/** Makes services that share one site in a file, for tests of the client alone. @returns a function that makes one service for a test */
export function sharedService() {
  let shared: World;
  beforeAll(async () => {
    shared = await World.create();
  });
  return async (mishaps: ServiceMishap[] = [], options: Partial<ClientOptions> = {}) => {
    const { client, sent } = serviceOf(shared.anotherIsolate(), mishaps, options);
    return { client, sent };
  };
}

function serviceOf(world: World, mishaps: ServiceMishap[], options: Partial<ClientOptions>) {
  // The service needs the machine's clock, because the client reads it too.
  world.clock.now = Math.floor(Date.now() / 1000);
  const sent: SentRequest[] = [];
  const network: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const text = await request.clone().text();
    sent.push({
      url: request.url,
      headers: request.headers,
      redirect: request.redirect,
      text,
      fields: JSON.parse(text),
    });
    const mishap = mishaps[sent.length - 1];
    if (mishap instanceof Error) throw mishap;
    // A fetch may ignore the abort signal, as this one does.
    if (mishap === "never") return new Promise<Response>(() => {});
    if (typeof mishap === "function") return mishap();
    const response = await world.fetch(request);
    if (mishap !== "drop_answer") return response;
    await response.body?.cancel();
    throw new TypeError("fetch failed", { cause: new Error("read ECONNRESET") });
  };
  const client = new AgentSessionClient({
    baseUrl: "http://worker",
    appid: world.appid,
    secret: world.secret,
    fetch: network,
    ...options,
  });
  return { world, client, sent };
}

/** The fields of a session that is accepted. */
export const newSession = (change = {}) => ({
  customer: { id: "customer_001", name: "王伟", ip: "127.0.0.1" },
  content: "我的订单在哪里？",
  agentIds: [1, 2],
  responsibleAgentId: 1,
  ...change,
});

export const refusal = (status: number, msg: string, headers: Record<string, string> = {}) =>
  Response.json({ code: -1, msg, data: "" }, { status, headers });
