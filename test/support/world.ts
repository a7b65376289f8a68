import { hmac } from "./hmac.ts";
import { databaseOf } from "./homes.ts";
import { type Answer, Isolate, type ReplacedBindings } from "./isolate.ts";
import { newSite, type Site } from "./new-site.ts";
import { readOperated, readStored } from "./read-store.ts";
import { addBody, type Body, createBody } from "./signed-bodies.ts";

export { hmac } from "./hmac.ts";
export { ADMIN_TOKEN, type Answer, type ReplacedBindings } from "./isolate.ts";
export type { Body } from "./signed-bodies.ts";
export { NOW } from "./test-runtime.ts";

/** A new site (new-site.ts), an isolate of its own (isolate.ts), and a caller who signs for the site's app. */
export class World extends Isolate implements Site {
  siteId: number;
  home: string;
  appid: string;
  secret: string;

  private constructor({ siteId, home, appid, secret }: Site, bindings: ReplacedBindings) {
    super(bindings);
    this.home = home;
    this.siteId = siteId;
    this.appid = appid;
    this.secret = secret;
  }

  static async create(bindings: ReplacedBindings = {}, home = "main"): Promise<World> {
    return new World(await newSite(home), bindings);
  }

  /** Another isolate of the same deployment, with empty caches and the same bindings. */
  anotherIsolate(bindings: ReplacedBindings = {}): World {
    const other = new World(this, { ...this.env, ...bindings });
    other.clock.now = this.clock.now;
    return other;
  }

  createBody(change: Body = {}): Body {
    return createBody({ appid: this.appid, timestamp: this.clock.now }, change);
  }

  addBody(chatId: number, change: Body = {}): Body {
    return addBody({ appid: this.appid, timestamp: this.clock.now }, chatId, change);
  }

  create(change: Body = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send("create_gd", this.createBody(change), headers);
  }

  /** Creates a session that must be accepted. */
  async chatId(change: Body = {}): Promise<number> {
    const { envelope } = await this.create(change);
    const { chat_id } = envelope.data as { chat_id?: number };
    if (chat_id === undefined) throw new Error(`create_gd was refused: ${JSON.stringify(envelope)}`);
    return chat_id;
  }

  add(chatId: number, change: Body = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send("add_kf", this.addBody(chatId, change), headers);
  }

  /** Signs and sends a body. A text is sent unchanged. */
  async send(operation: string, body: Body | string, headers: Record<string, string> = {}): Promise<Answer> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return this.sendRaw(operation, text, { "x-chat-signature": await hmac(this.secret, text), ...headers });
  }

  /** What operators have stored about this site. */
  operated() {
    return readOperated(this.siteId, databaseOf(this.home));
  }

  stored() {
    return readStored(this, databaseOf(this.home));
  }
}
