import { SESSION_COOKIE } from "../../src/operators/console/cookies.ts";
import { sha256 } from "../../src/operators/services/digests.ts";
import { sessionName } from "../../src/operators/store/directory/console-sessions.ts";
import { ConsolePage } from "./console-page.ts";
import { ADMIN_TOKEN, type ReplacedBindings, World } from "./world.ts";

const ORIGIN = "https://worker";

/** What answers a visitor's requests, mostly a world. */
type Fetches = Pick<World, "fetch">;

/** A browser without a window: it keeps cookies, sends a page's own forms, and follows redirects when asked to. */
export class ConsoleVisitor {
  readonly cookies = new Map<string, string>();
  readonly #world: Fetches;
  readonly #always: Record<string, string>;

  /** @param always headers of each of its requests */
  constructor(world: Fetches, always: Record<string, string> = {}) {
    this.#world = world;
    this.#always = always;
  }

  /** Sends what the sign-in form sends, without its page. */
  static async signedIn(world: Fetches): Promise<ConsoleVisitor> {
    const visitor = new ConsoleVisitor(world);
    const answer = await visitor.post("/console/sign-in", { token: ADMIN_TOKEN });
    if (answer.status !== 303) throw new Error(`sign-in was refused: ${answer.status}`);
    return visitor;
  }

  /** The same browser, but another isolate answers it. */
  through(world: Fetches): ConsoleVisitor {
    const other = new ConsoleVisitor(world, this.#always);
    for (const [name, value] of this.cookies) other.cookies.set(name, value);
    return other;
  }

  /** Fills in the sign-in form of the sign-in page, or of any page that shows it. */
  async signIn(token = ADMIN_TOKEN, page?: ConsolePage, headers: Record<string, string> = {}): Promise<Response> {
    return this.submit(page ?? (await this.open("/console/sign-in")), "Sign in", { Token: token }, headers);
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send(new Request(ORIGIN + path, { headers: { ...this.#cookie(), ...headers } }));
  }

  /** Sends a POST without opening the page of a form. For steps that are not the test's subject, or that no form can make. */
  post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
    return this.#post(path, new URLSearchParams(fields).toString(), headers);
  }

  /** Fills in a page's form and presses its button. Does not follow a redirect. */
  submit(
    page: ConsolePage,
    button: string,
    fill: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const { method, path, body } = page.submission(button, fill);
    return method === "GET" ? this.get(path, headers) : this.#post(path, body ?? "", headers);
  }

  /** Presses a button and follows redirects to the next page. */
  async press(page: ConsolePage, button: string, fill: Record<string, string> = {}): Promise<ConsolePage> {
    const { path, body } = page.submission(button, fill);
    return this.follow(await this.submit(page, button, fill), path, body);
  }

  /** A page, with redirects followed. */
  async open(path: string, headers: Record<string, string> = {}): Promise<ConsolePage> {
    return this.follow(await this.get(path, headers), path);
  }

  /** The page to which an answer redirects in the end. @param body of the answered POST: a 307 sends it on */
  async follow(answer: Response, path: string, body?: string): Promise<ConsolePage> {
    let [now, at] = [answer, path];
    for (let hop = 0; [301, 303, 307].includes(now.status); hop++) {
      if (hop === 5) throw new Error(`${path} leads round in circles`);
      at = now.headers.get("location") ?? "";
      now = now.status === 307 ? await this.#post(at, body ?? "", {}) : await this.get(at);
    }
    return ConsolePage.read(now, at);
  }

  /** The text of a page, which must exist. */
  async page(path: string): Promise<string> {
    const answer = await this.get(path);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
    return answer.text();
  }

  #post(path: string, body: string, headers: Record<string, string>): Promise<Response> {
    const own = {
      "content-type": "application/x-www-form-urlencoded",
      origin: ORIGIN,
      "sec-fetch-site": "same-origin",
    };
    const all = new Headers({ ...this.#cookie(), ...own, ...headers });
    // An empty value removes the header.
    for (const [name, value] of Object.entries(headers)) if (value === "") all.delete(name);
    return this.#send(new Request(ORIGIN + path, { method: "POST", headers: all, body }));
  }

  #cookie(): Record<string, string> {
    return { cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
  }

  async #send(request: Request): Promise<Response> {
    for (const [name, value] of Object.entries(this.#always)) request.headers.set(name, value);
    const answer = await this.#world.fetch(request);
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }
}

/** A site, and a visitor who is signed in. In `apac`, a statement that goes to the directory by mistake finds nothing. */
export async function start(home = "apac", bindings: ReplacedBindings = {}) {
  const world = await World.create(bindings, home);
  const site = `/console/sites/${world.siteId}`;
  return { world, visitor: await ConsoleVisitor.signedIn(world), site, app: `${site}/apps/${world.appid}` };
}

/** The name of the console session that the visitor's cookie opens. */
export async function ownSession(visitor: ConsoleVisitor): Promise<string> {
  const [value = ""] = (visitor.cookies.get(SESSION_COOKIE) ?? "").split(".");
  return sessionName(await sha256(value));
}
