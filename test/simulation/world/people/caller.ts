import type { NewSession } from "../../../../src/client/client.ts";
import type { Chance } from "../../machine/chance.ts";
import { hasFaults } from "../weather.ts";
import type { World } from "../world.ts";
import {
  EXTREME_ADDS,
  EXTREME_CREATES,
  type Fields,
  MALFORMED_ADDS,
  MALFORMED_CREATES,
  MALFORMED_STAMPS,
} from "./bodies.ts";
import { CallerClient } from "./caller-client.ts";
import type { KnownApp } from "./company.ts";
import { pause } from "./day.ts";
import { ADDRESSES, SENTENCES } from "./texts.ts";

/** A company's back end that opens sessions as the documentation says, with the client that the project ships. */
export class Caller {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #app: KnownApp;
  readonly #client: CallerClient;
  #orders = 0;
  #sent = 0;
  readonly #name: string;
  /** Orders that may be sent again under the same key. */
  readonly #keyedOrders: { key: string; session: NewSession }[] = [];

  constructor(world: World, name: string, app: KnownApp) {
    this.#world = world;
    this.#name = name;
    this.#chance = world.chance.fork();
    this.#app = app;
    this.#client = new CallerClient(world, this.#chance, app);
  }

  /** Works until the world closes or the app is revoked. */
  async work(): Promise<void> {
    const world = this.#world;
    const chance = this.#chance;
    while (!world.closing) {
      // Whose app is revoked calls on for a while: he has not heard of it.
      if (this.#app.revoked && chance.happens(0.1)) return;
      await pause(world, chance, chance.happens(0.03) ? chance.between(10_000, 400_000) : chance.between(5, 1_500));
      // Now and then some calls at once, as a busy back end makes them.
      await Promise.all(Array.from({ length: chance.happens(0.2) ? 3 : 1 }, () => this.#act()));
    }
  }

  /** One call, whatever comes of it. */
  async #act(): Promise<void> {
    const chance = this.#chance;
    try {
      switch (chance.weighted({ create: 10, again: 4, unkeyed: 3, add: 7, malformed: 2, extreme: 2, wrongPath: 0.3 })) {
        case "create":
          await this.#create(this.#newSession(), {});
          break;
        case "again":
          await this.#again();
          break;
        case "unkeyed":
          await this.#create(this.#newSession(), { idempotencyKey: false });
          break;
        case "add":
          await this.#add();
          break;
        case "malformed":
          if (chance.happens(0.3)) await this.#sendCreate(MALFORMED_STAMPS);
          else if (chance.happens(0.6)) await this.#sendCreate(MALFORMED_CREATES);
          else await this.#sendAdd(MALFORMED_ADDS);
          break;
        case "wrongPath":
          await this.#callWrongPath();
          break;
        case "extreme":
          if (chance.happens(0.7)) await this.#sendCreate(EXTREME_CREATES);
          else await this.#sendAdd(EXTREME_ADDS);
          break;
      }
    } catch (error) {
      if (this.#client.gaveUp(error)) this.#gaveUp(error);
      else if ((error as Error).message !== "the caller gave up") throw error;
    }
  }

  /** The client corrects its clock by itself; only a fault of the network can use up its tries before. */
  #gaveUp({ code, message }: { code: string; message: string }): void {
    const { weather, checker } = this.#world;
    if (hasFaults(weather)) return;
    if (code === "token_invalid" && message.includes("timestamp")) {
      checker.violate("the client corrects its clock", `${this.#name} gave up: ${message}`, [this.#app.appid]);
    }
  }

  async #create(session: NewSession, options: { idempotencyKey?: string | false }): Promise<void> {
    const isImpatient = this.#chance.happens(0.05);
    const controller = new AbortController();
    if (isImpatient) {
      this.#world.scheduler.after(this.#chance.between(1, 200), () =>
        controller.abort(new Error("the caller gave up")),
      );
    }
    const { chatId } = await this.#client.now().createSession(session, { ...options, signal: controller.signal });
    this.#app.site.chatIds.push(chatId);
    this.#world.checker.opened(this.#app.site, chatId, session.content);
  }

  /** Sends an order under its own key, and often the same one again; now and then another order under a key that was used. */
  async #again(): Promise<void> {
    const chance = this.#chance;
    const known =
      this.#keyedOrders.length > 0 && chance.happens(0.6) ? chance.one(this.#keyedOrders.slice(-5)) : undefined;
    // The same keys as other apps and other operations use: a key belongs to one app and one operation.
    const order = known ?? {
      key: `order-${this.#name.slice(-1)}-${this.#keyedOrders.length}`,
      session: this.#newSession(),
    };
    if (known === undefined) this.#keyedOrders.push(order);
    const session = known !== undefined && chance.happens(0.1) ? this.#newSession() : order.session;
    await this.#create(known === undefined ? session : inOtherWords(session), { idempotencyKey: order.key });
  }

  async #add(): Promise<void> {
    const chance = this.#chance;
    const { site } = this.#app;
    const others = this.#world.company.sites.filter((each) => each !== site).flatMap(({ chatIds }) => chatIds);
    const known = chance.happens(0.06) && others.length > 0 ? others : site.chatIds.slice(-6);
    const chatId = known.length === 0 || chance.happens(0.03) ? 77_000_000 : chance.one(known);
    const agentIds = [...chance.some(site.agentIds, 0.4), ...(chance.happens(0.1) ? [777] : [])];
    if (agentIds.length === 0) return;
    const key = `order-${this.#name.slice(-1)}-${chance.integer(0, 20)}`;
    const options = chance.happens(0.5) ? {} : { idempotencyKey: chance.happens(0.5) ? key : (false as const) };
    await this.#client.now().addAgents({ chatId, agentIds }, options);
  }

  /** Calls a path or a method that there is not. */
  async #callWrongPath(): Promise<void> {
    const [method, path] = this.#chance.one([
      ["GET", "/openapi/chat/create_gd"],
      ["PUT", "/openapi/chat/add_kf"],
      ["POST", "/openapi/chat/close_gd"],
      ["POST", "/openapi/chat/create_gd/"],
    ] as const);
    await this.#client.sendBare(method, path);
  }

  #newSession(): NewSession {
    const chance = this.#chance;
    const { agentIds } = this.#app.site;
    const asked = [...chance.some(agentIds, 0.3), chance.one(agentIds), ...(chance.happens(0.02) ? [777] : [])];
    const responsibleAgentId = chance.one(asked);
    const order = `${this.#name}-${++this.#orders}`;
    return {
      customer: { id: `customer_${chance.integer(1, 6)}`, name: `Customer ${order}`, ip: chance.one(ADDRESSES) },
      content: `Order ${order} ${chance.one(SENTENCES)}`,
      agentIds: asked,
      responsibleAgentId,
      ...(chance.happens(0.3) && { title: `Order ${order}` }),
      ...(chance.happens(0.5) && { sender: chance.one(["customer", "responsible_agent", "system"] as const) }),
      ...(chance.happens(0.2) && { metadata: { order, channel: "app" } }),
    };
  }

  /** Opens a session with fields that are right, but for one of these. */
  async #sendCreate(twists: readonly Fields[]): Promise<void> {
    const { customer, content, agentIds, responsibleAgentId } = this.#newSession();
    const { id: sbs, name: sbs_mc, ip } = customer;
    const fields = { sbs, sbs_mc, ip, content, kefu_id: agentIds, fzr_uid: responsibleAgentId };
    await this.#send("create_gd", { ...fields, ...this.#chance.one(twists) });
  }

  async #sendAdd(twists: readonly Fields[]): Promise<void> {
    const { chatIds, agentIds } = this.#app.site;
    const fields = { chat_id: chatIds.at(-1) ?? 1, kefu_ids: this.#chance.one(agentIds).toString() };
    await this.#send("add_kf", { ...fields, ...this.#chance.one(twists) });
  }

  /** Sends fields as they are, once, without a key; with a ranstr that is used once in its app, and by other apps too. */
  async #send(operation: "create_gd" | "add_kf", fields: Fields): Promise<void> {
    const ranstr = `${this.#name.slice(-1)}-${++this.#sent}`;
    await this.#client.now().send(operation, { ranstr, ...fields });
  }
}

/** docs/retrying.md, "What means the same": the order of a list and of pairs means nothing, nor does an agent named twice. */
function inOtherWords({ agentIds, metadata, ...session }: NewSession): NewSession {
  const pairs = metadata && { metadata: Object.fromEntries(Object.entries(metadata).reverse()) };
  return { ...session, ...pairs, agentIds: [...agentIds].reverse() };
}
