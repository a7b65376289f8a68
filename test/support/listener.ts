import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A server on this machine that records each request byte for byte, and gives the test's answers. */
export class Listener {
  readonly received: ReceivedRequest[] = [];
  answer = { status: 200, headers: {} as Record<string, string>, body: '{"code":1,"msg":"ok","data":{"chat_id":7}}' };
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      this.received.push({ method, path: url, headers, body: Buffer.concat(chunks) });
      response.writeHead(this.answer.status, { "content-type": "application/json", ...this.answer.headers });
      response.end(this.answer.body);
    });
  });

  static async start(): Promise<Listener> {
    const listener = new Listener();
    await new Promise<void>((resolve) => listener.#server.listen(0, "127.0.0.1", resolve));
    return listener;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The one request that came. */
  only(): ReceivedRequest {
    const [request, ...more] = this.received;
    if (request === undefined || more.length > 0) throw new Error(`${this.received.length} requests came, not one`);
    return request;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

/** The signature of these bytes, by another implementation than the one under test. */
export const hmacOf = (secret: string, body: Uint8Array) => createHmac("sha256", secret).update(body).digest("hex");
