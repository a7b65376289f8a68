import { connect, type Socket } from "node:net";

/** A POST as bytes of HTTP. It is built before the measurement, which only writes and reads. */
export function postBytes(path: string, body: string, headers: Record<string, string>): Buffer {
  const all = { host: "127.0.0.1", "content-type": "application/json", ...headers };
  const head = Object.entries({ ...all, "content-length": String(Buffer.byteLength(body)) });
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
  );
}

/**
 * Sends all requests over `connections` keep-alive connections, with one request in flight on each, and returns the
 * milliseconds it took. It is a client of its own because general ones need as much CPU as the Worker and would distort
 * the measurement.
 *
 * @param took receives the milliseconds of each request
 * @throws when an answer is not 200 with code 1
 */
export async function load(url: string, requests: Buffer[], connections: number, took: number[] = []): Promise<number> {
  const { hostname, port } = new URL(url);
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(hostname, Number(port))));
  let next = 0;
  const since = performance.now();
  await Promise.all(
    sockets.map(async (socket) => {
      for (let request = requests[next++]; request !== undefined; request = requests[next++]) {
        const sent = performance.now();
        await exchange(socket, request);
        took.push(performance.now() - sent);
      }
    }),
  );
  const ms = performance.now() - since;
  for (const socket of sockets) socket.destroy();
  return ms;
}

function open(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true }, () => resolve(socket));
    socket.once("error", reject);
  });
}

/** Reads only answers that carry a Content-Length and arrive in a few pieces, as a Worker's JSON does. */
function exchange(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const onData = (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      const headEnd = answer.indexOf("\r\n\r\n");
      if (headEnd < 0) return;
      const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1];
      if (length === undefined) return finish(new Error(`an answer without Content-Length: ${answer.slice(0, 200)}`));
      if (answer.length < headEnd + 4 + Number(length)) return;
      const good = answer.startsWith("HTTP/1.1 200") && answer.startsWith('{"code":1,', headEnd + 4);
      finish(good ? undefined : new Error(`not accepted: ${answer.slice(0, 500)}`));
    };
    const onClose = () => finish(new Error("the connection was closed before the answer"));
    const finish = (error?: Error) => {
      socket.off("data", onData).off("close", onClose);
      if (error === undefined) resolve();
      else reject(error);
    };
    socket.on("data", onData).on("close", onClose);
    socket.write(request);
  });
}
