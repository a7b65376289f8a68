import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

interface ReceivedEvent {
  path: string;
  headers: IncomingHttpHeaders;
  /** The text as it was received. The signature is over these bytes. */
  body: string;
}

/** A receiver of events on this machine. It answers 204 to each event. */
export interface EventReceiver {
  url: string;
  /** Waits for the next event. @throws when no event arrives in time */
  next: () => Promise<ReceivedEvent>;
  close: () => void;
}

const PATIENCE_MS = 15_000;

export async function startEventReceiver(): Promise<EventReceiver> {
  const arrived: ReceivedEvent[] = [];
  let resolveNext = () => {};
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    arrived.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(204).end();
    resolveNext();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    async next() {
      const arrival = new Promise<void>((resolve) => {
        resolveNext = resolve;
      });
      const timeout = new Promise<void>((_, reject) => {
        setTimeout(reject, PATIENCE_MS, new Error(`no event arrived within ${PATIENCE_MS / 1000} s`)).unref();
      });
      if (arrived.length === 0) await Promise.race([arrival, timeout]);
      return arrived.shift() as ReceivedEvent;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
