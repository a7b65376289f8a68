import { lookup } from "node:dns/promises";
import * as http from "node:http";
import * as https from "node:https";
import { type AddressInfo, connect, createServer, type Server } from "node:net";

/** The address at which `wrangler dev` serves. */
export interface LocalAddress {
  protocol: "http" | "https";
  /** A value of wrangler's --ip: `localhost`, `*`, `127.0.0.1`. */
  host: string;
  port: number;
}

/** Whether another process listens on the port. wrangler itself reports all other errors of an address or a port. */
export async function isInUse(host: string, port: number): Promise<boolean> {
  const addresses = await lookup(host === "*" ? "::" : host, { all: true }).catch(() => []);
  const areInUse = addresses.map(
    ({ address }) =>
      new Promise<boolean>((resolve) => {
        const server = createServer();
        server.on("error", (error: NodeJS.ErrnoException) => resolve(error.code === "EADDRINUSE"));
        server.listen(port, address, () => server.close(() => resolve(false)));
      }),
  );
  return (await Promise.all(areInUse)).includes(true);
}

/** A free port; 0 when the address cannot be used. In that case, wrangler reports the reason. */
export function freePort(host: string): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().on("error", () => resolve(0));
    server.listen(0, host === "*" ? "::" : host, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/**
 * Makes a server at each address of the host, all with this port.
 *
 * @throws when none of the addresses can be used
 */
export async function listen<Each extends Server>(make: () => Each, host: string, port: number): Promise<Each[]> {
  const addresses = await lookup(host === "*" ? "::" : host, { all: true });
  const servers = await Promise.allSettled(
    addresses.map(
      ({ address }) =>
        new Promise<Each>((resolve, reject) => {
          const server = make();
          server.on("error", reject).listen(port, address, () => resolve(server));
        }),
    ),
  );
  const listening = servers.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const [fault] = servers.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  if (listening.length === 0) throw fault;
  return listening;
}

/** The address to connect to from this machine. Nothing can connect to `*`. */
export const reachableAddress = ({ host, port }: LocalAddress) => ({
  host: ["*", "0.0.0.0", "::"].includes(host) ? "localhost" : host,
  port,
});

/**
 * Requests a path of wrangler's own, which wrangler serves to this machine only.
 *
 * @returns the status of the answer
 * @throws when no answer comes, or `signal` is aborted
 */
export function statusOf(address: LocalAddress, path: string, signal: AbortSignal): Promise<number> {
  const { request } = address.protocol === "https" ? https : http;
  return new Promise((resolve, reject) => {
    request({
      ...reachableAddress(address),
      path,
      // wrangler serves these paths only to a host name of this machine, so the header says localhost for every address.
      headers: { host: "localhost" },
      agent: false,
      // wrangler signs its own certificate.
      rejectUnauthorized: false,
      signal,
    })
      .on("response", (response) => {
        response.on("error", reject).on("end", () => resolve(response.statusCode ?? 0));
        response.resume();
      })
      .on("error", reject)
      .end();
  });
}

/** Connects to the server and waits until the connection ends. @returns false when it could not connect */
export function connectionEnds(address: LocalAddress, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    let connected = false;
    connect({ ...reachableAddress(address), signal })
      .on("connect", () => {
        connected = true;
      })
      .on("error", () => {})
      .on("close", () => resolve(connected));
  });
}
