import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A receiver that answers 204 to every event and counts the events. */
export interface EventsReceiver {
  url: string;
  /** Waits until that many different events have arrived since the start. @throws when they do not within a minute */
  arrived: (number: number) => Promise<void>;
  close: () => void;
}

export async function startEventsReceiver(): Promise<EventsReceiver> {
  const ids = new Set<string>();
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      ids.add(String(request.headers["webhook-id"]));
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async arrived(number) {
      for (const since = performance.now(); ids.size < number; ) {
        if (performance.now() - since > 60_000) throw new Error(`${ids.size} events arrived, not ${number}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
