import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** One attempt, as a receiver sees it. Times are milliseconds of performance.now(). */
export interface Arrival {
  /** The path that was posted to; it names the webhook. */
  path: string;
  /** The event's id. */
  id: string;
  /** Of the event's session; undefined when the event has none. */
  chatId: number | undefined;
  at: number;
  /** When the answer was sent, or the service hung up; undefined while neither has happened. */
  endedAt: number | undefined;
}

/** A receiver for many webhooks, each with its own path. */
export interface SlowReceiver {
  /** Without a path. */
  url: string;
  arrivals: Arrival[];
  /** Attempts that wait for their answer now. */
  inFlight: () => number;
  close: () => void;
}

/** @param answer gives the status and how long to wait for it in milliseconds; undefined for never, which is a receiver that hangs */
export async function startSlowReceiver(
  answer: (arrival: Arrival) => { status: number; ms: number } | undefined,
): Promise<SlowReceiver> {
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    const at = performance.now();
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const { data } = JSON.parse(body) as { data: { chat_id?: number } };
      const id = String(request.headers["webhook-id"]);
      const arrival: Arrival = { path: request.url ?? "", id, chatId: data.chat_id, at, endedAt: undefined };
      arrivals.push(arrival);
      response.once("close", () => (arrival.endedAt ??= performance.now()));
      const said = answer(arrival);
      if (said === undefined) return;
      const send = () => response.writeHead(said.status).end();
      if (said.ms === 0) send();
      else setTimeout(send, said.ms);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    inFlight: () => arrivals.filter(({ endedAt }) => endedAt === undefined).length,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
