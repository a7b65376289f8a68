import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";

/** An event that arrived, with the sender's headers. */
interface ReceivedRequest {
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** The body of an event, as far as tests read it. */
interface EventBody {
  type: string;
  timestamp: string;
  data: Record<string, unknown> & { seq: number; chat_id?: number };
}

type Answer = (response: ServerResponse, path: string) => void;

/** A receiver as a third party writes it: it verifies only with the public package. A test sets the answer of each path. */
export class Receiver {
  readonly arrived: ReceivedRequest[] = [];
  /** How often a sender closed a connection before the end of the answer, by path. */
  readonly cut: Record<string, number> = {};
  answer: Answer = (response) => response.end();
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { url: path = "" } = request;
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      this.arrived.push({ path, headers, body: Buffer.concat(chunks).toString() });
      response.on("close", () => {
        if (!response.writableFinished) this.cut[path] = (this.cut[path] ?? 0) + 1;
      });
      this.answer(response, path);
    });
  });

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  at(path: string): ReceivedRequest[] {
    return this.arrived.filter((each) => each.path === path);
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

/** The event, if the signature is good and fresh. @throws the public package's error */
export const verifiedEvent = ({ headers, body }: ReceivedRequest, secret: string): EventBody =>
  new Webhook(secret).verify(body, headers) as EventBody;
