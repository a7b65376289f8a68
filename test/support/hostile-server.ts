import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Writes the answer to one request to the socket, valid or not. */
export type Answer = (socket: Socket) => void;

/** One try of a caller. Times are Unix milliseconds. */
export interface ServerTry {
  /** When the connection was made. */
  at: number;
  answeredAt: number;
  closedAt?: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** A server that answers the nth request with the nth of `answers`, and all further requests with the last one. */
export class HostileServer {
  readonly tries: ServerTry[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(answers: readonly Answer[], onCall: () => void) {
    this.#server = createServer((socket) => {
      const at = Date.now();
      const newTry: ServerTry = { at, answeredAt: at, headers: {}, body: Buffer.alloc(0) };
      this.#sockets.add(socket);
      onCall();
      socket.on("error", () => {});
      socket.on("close", () => {
        newTry.closedAt = Date.now();
        this.#sockets.delete(socket);
      });
      let text = Buffer.alloc(0);
      const read = (piece: Buffer) => {
        text = Buffer.concat([text, piece]);
        const end = text.indexOf("\r\n\r\n");
        if (end === -1) return;
        const lines = text.subarray(0, end).toString("latin1").split("\r\n").slice(1);
        const headers = Object.fromEntries(
          lines.map((line) => [line.replace(/:.*/, "").toLowerCase(), line.replace(/^[^:]*: */, "")]),
        );
        const body = text.subarray(end + 4);
        if (body.length < Number(headers["content-length"])) return;
        socket.off("data", read);
        const answer = answers[Math.min(this.tries.length, answers.length - 1)];
        this.tries.push(Object.assign(newTry, { answeredAt: Date.now(), headers, body }));
        answer?.(socket);
      };
      socket.on("data", read);
    });
  }

  /** @param onCall runs at each connection */
  static async start(answers: readonly Answer[], onCall: () => void): Promise<HostileServer> {
    const server = new HostileServer(answers, onCall);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** A port that never accepts a connection: its process is stopped, and waiting connections fill its queue. */
export async function deafPort(): Promise<{ port: number; close: () => void }> {
  const listen =
    'require("net").createServer().listen({host:"127.0.0.1",port:0,backlog:1},function(){console.log(this.address().port)})';
  const child = spawn(process.execPath, ["-e", listen], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  child.kill("SIGSTOP");
  const port = Number(line.toString());
  const sockets = Array.from({ length: 4 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  return {
    port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      child.kill("SIGKILL");
    },
  };
}

/** An answer in HTTP. The body is sent unchanged. */
export const http =
  (status: number, body: string | Buffer, headers: readonly string[] = []): Answer =>
  (socket) => {
    const bytes = Buffer.from(body);
    const head = [`HTTP/1.1 ${status} Said`, "Connection: close", ...headers];
    if (!headers.some((line) => /^(content-length|transfer-encoding):/i.test(line)))
      head.push(`Content-Length: ${bytes.length}`);
    socket.end(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), bytes]));
  };

/** Sends the first part at once, and then one byte every half second, without end. */
export const trickle =
  (first: string, rest: string): Answer =>
  (socket) => {
    socket.write(first);
    let sentCount = 0;
    const timer = setInterval(() => socket.write(rest[sentCount++ % rest.length] ?? ""), 500);
    socket.on("close", () => clearInterval(timer));
  };

/** Sends a text, and then nothing more, without closing the connection. */
export const stall =
  (first: string): Answer =>
  (socket) => {
    socket.write(first);
  };

/** Sends a text, and then one piece again and again, as fast as the caller takes it. */
export const endless =
  (first: string, piece: Buffer): Answer =>
  (socket) => {
    socket.write(first);
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on("drain", more);
    more();
  };
