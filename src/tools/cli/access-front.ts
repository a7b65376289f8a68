import { generateKeyPairSync, randomBytes, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { type LocalAddress, listen, reachableAddress } from "./local-address.ts";

const HEADER = "cf-access-jwt-assertion";
/** Paths of Access itself on the host that it guards. */
const CERTS_PATH = "/cdn-cgi/access/certs";
const LOGOUT_PATH = "/cdn-cgi/access/logout";
/** The paths that Access guards, as docs/operating/people.md tells operators to set it up. */
const GUARDED = /^\/console(?:\/|$)/;
/** Headers that are about one connection. The front has two connections, so it does not hand them on. */
const CONNECTION_HEADERS = ["connection", "keep-alive"];

const SESSION_SECONDS = 86_400;
/** How many seconds before its end an assertion is replaced by a new one. */
const RENEW_SECONDS = 60;

const TEAM_DOMAIN = "this-machine.cloudflareaccess.com";

const SIGNED_OUT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Signed out</title>
<p>You are signed out of the Cloudflare Access that npm start plays.</p>
<p><a href="/console">Sign in again</a></p>
</html>
`;

/**
 * Plays Cloudflare Access before a Worker on this machine. It signs one person in on `/console` and below, with a key that it makes at
 * its start, and hands all requests on.
 */
export class AccessFront {
  readonly #email: string;
  readonly #worker: LocalAddress;
  readonly #audience = randomBytes(32).toString("hex");
  readonly #userId = randomUUID();
  readonly #kid = randomBytes(32).toString("hex");
  readonly #keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  #assertion: { jwt: Promise<string>; expiresAt: number } | undefined;
  #servers: Server[] = [];
  /** Serves the keys. It is a server of its own, because the front may listen at an address from which the Worker takes no keys. */
  readonly #certs = createServer((_, response) => this.#showCerts(response));

  private constructor(email: string, worker: LocalAddress) {
    this.#email = email;
    this.#worker = worker;
  }

  /**
   * @param address the address where the front listens
   * @param worker  the address where the Worker will be
   * @throws Error when it cannot listen
   */
  static async start(email: string, address: LocalAddress, worker: LocalAddress): Promise<AccessFront> {
    const front = new AccessFront(email, worker);
    // With unref(), this server does not keep the process when the next line fails.
    await once(front.#certs.listen(0, "127.0.0.1").unref(), "listening");
    const server = () => createServer((incoming, response) => void front.#answer(incoming, response));
    front.#servers = await listen(server, address.host, address.port);
    return front;
  }

  /** The vars that make the Worker accept this front's assertions. A var that the user gave is left out. */
  varsBeside(givenVars: readonly string[]): string[] {
    const isGiven = (name: string) => givenVars.some((each) => each.startsWith(`${name}:`));
    const { port } = this.#certs.address() as AddressInfo;
    const vars = {
      CONSOLE_SIGN_IN: "both",
      ACCESS_TEAM_DOMAIN: TEAM_DOMAIN,
      ACCESS_AUD: this.#audience,
      ACCESS_CERTS_URL: `http://127.0.0.1:${port}${CERTS_PATH}`,
      // A person whom the user put into another list is not made an owner too.
      ...(!["CONSOLE_OPERATORS", "CONSOLE_VIEWERS"].some(isGiven) && { CONSOLE_OWNERS: this.#email }),
    };
    return Object.entries(vars).flatMap(([name, value]) => (isGiven(name) ? [] : [`${name}:${value}`]));
  }

  close(): void {
    for (const server of [...this.#servers, this.#certs]) {
      server.close();
      server.closeAllConnections();
    }
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    // The Worker's runtime reads a path in the same way, so /console/../admin is a path of the admin API for both.
    const url = URL.parse(incoming.url ?? "", "http://front");
    if (url === null) return void response.writeHead(400).end();
    if (url.pathname === CERTS_PATH) return this.#showCerts(response);
    if (url.pathname === LOGOUT_PATH) {
      this.#assertion = undefined;
      return void response.writeHead(200, { "content-type": "text/html", "cache-control": "no-store" }).end(SIGNED_OUT);
    }
    const { [HEADER]: _, ...headers } = incoming.headers;
    if (GUARDED.test(url.pathname)) headers[HEADER] = await this.#currentAssertion();
    this.#forwardRequest(incoming, response, { path: url.pathname + url.search, headers: messageHeaders(headers) });
  }

  #forwardRequest(
    incoming: IncomingMessage,
    response: ServerResponse,
    changed: { path: string; headers: IncomingHttpHeaders },
  ): void {
    const { method } = incoming;
    const outgoing = request({ ...reachableAddress(this.#worker), method, agent: false, ...changed });
    outgoing.on("response", (answer: IncomingMessage) => {
      response.writeHead(answer.statusCode ?? 502, messageHeaders(answer.headers));
      answer.on("error", () => response.destroy()).pipe(response);
    });
    outgoing.on("error", () => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502, { "content-type": "text/plain" }).end("The Worker does not answer.\n");
    });
    response.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  }

  #showCerts(response: ServerResponse): void {
    const key = { ...this.#keys.publicKey.export({ format: "jwk" }), kid: this.#kid, alg: "RS256", use: "sig" };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys: [key] }));
  }

  /** The assertion of the session. Access gives the same one for the whole session, too. */
  #currentAssertion(): Promise<string> {
    const now = Date.now() / 1000;
    if (this.#assertion === undefined || now > this.#assertion.expiresAt - RENEW_SECONDS) {
      this.#assertion = { jwt: this.#issue(), expiresAt: now + SESSION_SECONDS };
    }
    return this.#assertion.jwt;
  }

  async #issue(): Promise<string> {
    const iat = unixSeconds();
    const claims = {
      aud: [this.#audience],
      email: this.#email,
      exp: iat + SESSION_SECONDS,
      iat,
      nbf: iat,
      iss: `https://${TEAM_DOMAIN}`,
      type: "app",
      identity_nonce: randomBytes(12).toString("base64url"),
      sub: this.#userId,
    };
    const signed = [{ alg: "RS256", kid: this.#kid, typ: "JWT" }, claims].map(encodePart).join(".");
    return `${signed}.${sign("RSA-SHA256", Buffer.from(signed), this.#keys.privateKey).toString("base64url")}`;
  }
}

const unixSeconds = () => Math.floor(Date.now() / 1000);

const encodePart = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");

/** The headers of a message without those of its connection. */
const messageHeaders = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !CONNECTION_HEADERS.includes(name)));
