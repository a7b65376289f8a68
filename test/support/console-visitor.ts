import { ADMIN_TOKEN, type World } from "./world.ts";

/** A browser without a window: keeps cookies, posts forms as a same-origin page does, follows nothing. */
export class ConsoleVisitor {
  readonly cookies = new Map<string, string>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  static async signedIn(world: World): Promise<ConsoleVisitor> {
    const visitor = new ConsoleVisitor(world);
    const answer = await visitor.post("/console/sign-in", { token: ADMIN_TOKEN });
    if (answer.status !== 303) throw new Error(`sign-in was refused: ${answer.status}`);
    return visitor;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send(new Request(`https://worker${path}`, { headers: { ...this.#cookie(), ...headers } }));
  }

  post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
    const own = { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" };
    const body = new URLSearchParams(fields).toString();
    return this.#send(
      new Request(`https://worker${path}`, {
        method: "POST",
        headers: { ...this.#cookie(), ...own, ...headers },
        body,
      }),
    );
  }

  /** The text of a page that must be there. */
  async page(path: string): Promise<string> {
    const answer = await this.get(path);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
    return answer.text();
  }

  #cookie(): Record<string, string> {
    return { cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
  }

  async #send(request: Request): Promise<Response> {
    const answer = await this.#world.fetch(request);
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }
}
