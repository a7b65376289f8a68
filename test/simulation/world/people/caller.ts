import type { NewSession } from "../../../../src/client/client.ts";
import type { Chance } from "../../machine/chance.ts";
import createSession from "../../operations/create-session.ts";
import { MODELS } from "../../operations/index.ts";
import type { Asker, Fields, OperationModel } from "../../operations/shared/model.ts";
import { holdsWritten, LONE_SURROGATE, text } from "../../operations/shared/rules.ts";
import { hasFaults } from "../weather.ts";
import type { World } from "../world.ts";
import { CallerClient } from "./caller-client.ts";
import type { KnownApp } from "./company.ts";
import { pause } from "./day.ts";
import { oneValueChanged } from "./other-words.ts";

/** Fields that break a rule of every operation. */
const MALFORMED_FRESHNESS: readonly Fields[] = [
  { ranstr: "" },
  { ranstr: text(129) },
  { ranstr: 17 },
  { ranstr: LONE_SURROGATE },
  { timestamp: "1767772879" },
  { timestamp: 1_767_772_879.5 },
  { timestamp: null },
];

/** The acts of a caller, by their weights. */
export const CALLER_ACTS = {
  create: 10,
  again: 4,
  unkeyed: 3,
  add: 7,
  malformed: 3,
  extreme: 2,
  refused: 3,
  repeated: 2,
  wrongPath: 0.3,
};

/** A company's back end that opens sessions as the documentation says, with the project's client. */
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
  /** Calls of any operation that may be sent again under the same key. */
  readonly #keyedCalls: { key: string; operation: OperationModel; fields: Fields }[] = [];

  constructor(world: World, name: string, app: KnownApp) {
    this.#world = world;
    this.#name = name;
    this.#chance = world.chance.fork();
    this.#app = app;
    this.#client = new CallerClient(world, this.#chance, app);
  }

  /** Acts until the world closes or the app is revoked. */
  async work(): Promise<void> {
    const world = this.#world;
    const chance = this.#chance;
    while (!world.closing) {
      // A caller goes on for a while after its app is revoked, because it has not heard of it.
      if (this.#app.revoked && chance.happens(0.1)) return;
      await pause(world, chance, chance.happens(0.03) ? chance.between(10_000, 400_000) : chance.between(5, 1_500));
      // A busy back end sometimes makes several calls at once.
      await Promise.all(Array.from({ length: chance.happens(0.2) ? 3 : 1 }, () => this.#act()));
    }
  }

  /** One act, which may fail. */
  async #act(): Promise<void> {
    const chance = this.#chance;
    try {
      const act = chance.weighted(CALLER_ACTS);
      this.#world.count(`caller: ${act}`);
      switch (act) {
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
        case "malformed": {
          const operation = chance.one(MODELS);
          await this.#sendWith(operation, chance.one(chance.happens(0.3) ? MALFORMED_FRESHNESS : operation.malformed));
          break;
        }
        case "extreme": {
          const operation = chance.one(MODELS);
          await this.#sendWith(operation, chance.one(operation.extreme));
          break;
        }
        case "refused": {
          const operation = chance.one(MODELS);
          const fields = chance.one(Object.values(operation.refusals)).ask(this.#asker());
          if (fields !== undefined) await this.#send(operation, fields);
          break;
        }
        case "repeated":
          await this.#repeat();
          break;
        case "wrongPath":
          await this.#callWrongPath();
          break;
      }
    } catch (error) {
      if (this.#client.gaveUp(error)) this.#gaveUp(error);
      else if ((error as Error).message !== "the caller gave up") throw error;
    }
  }

  #checkTold(replayed: boolean, { headers }: { headers: { get(name: string): string | null } }): void {
    const isReplayed = headers.get("idempotency-replayed") === "true";
    if (replayed !== isReplayed) this.#violateTold(`replayed is ${replayed}, the service said ${isReplayed}`);
  }

  #violateTold(what: string): void {
    this.#world.checker.violate("the client tells what the service has told", `${this.#name}: ${what}`, [this.#name]);
  }

  /**
   * The client corrects a wrong clock by itself, so it may give up for that reason only after faults used up its tries.
   */
  #gaveUp({ code, message }: { code: string; message: string }): void {
    const { weather, checker } = this.#world;
    if (hasFaults(weather) || this.#client.wasUnavailable) return;
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
    const called = this.#client.now().createSession(session, { ...options, signal: controller.signal });
    const { data, response } = await called.withResponse();
    const { chatId } = data;
    this.#checkTold(data.replayed, response);
    this.#app.site.chatIds.push(chatId);
    this.#world.checker.opened(this.#app.site, chatId, session.content);
  }

  /** Sends an order under its own key, and often again; sometimes sends another order under a used key. */
  async #again(): Promise<void> {
    const chance = this.#chance;
    const known =
      this.#keyedOrders.length > 0 && chance.happens(0.6) ? chance.one(this.#keyedOrders.slice(-5)) : undefined;
    // Other apps and other operations use the same keys, because a key belongs to one app and one operation.
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
    const others = this.#foreignChatIds();
    const known = chance.happens(0.06) && others.length > 0 ? others : site.chatIds.slice(-6);
    const chatId = known.length === 0 || chance.happens(0.03) ? 77_000_000 : chance.one(known);
    const agentIds = [...chance.some(site.agentIds, 0.4), ...(chance.happens(0.1) ? [777] : [])];
    if (agentIds.length === 0) return;
    const key = `order-${this.#name.slice(-1)}-${chance.integer(0, 20)}`;
    const options = chance.happens(0.5) ? {} : { idempotencyKey: chance.happens(0.5) ? key : (false as const) };
    const { data, response } = await this.#client.now().addAgents({ chatId, agentIds }, options).withResponse();
    this.#checkTold(data.replayed, response);
    const ignored = data.ignored.map(({ agentId, reason }) => `${agentId} ${reason}`).join(", ");
    const told = response.headers.get("x-ignored-agents") ?? "";
    if (ignored !== told) this.#violateTold(`${ignored}, the service said ${told}`);
  }

  /** Calls any operation under a key, often again soon, and sometimes again with one value changed. */
  async #repeat(): Promise<void> {
    const chance = this.#chance;
    const known =
      this.#keyedCalls.length > 0 && chance.happens(0.7) ? chance.one(this.#keyedCalls.slice(-4)) : undefined;
    if (known !== undefined) {
      const { operation, fields, key } = known;
      return this.#send(operation, chance.happens(0.25) ? oneValueChanged(fields, chance) : fields, key);
    }
    const operation = chance.one(MODELS);
    const key = `order-again-${this.#keyedCalls.length}`;
    const fields = operation.ask(this.#asker());
    this.#keyedCalls.push({ operation, fields, key });
    return this.#send(operation, fields, key);
  }

  /** Calls an unknown path or method. */
  async #callWrongPath(): Promise<void> {
    const [method, path] = this.#chance.one([
      ...MODELS.flatMap(({ wireName }) => [
        ["GET", `/openapi/chat/${wireName}`],
        ["PUT", `/openapi/chat/${wireName}`],
        ["POST", `/openapi/chat/${wireName}/`],
      ]),
      ["POST", "/openapi/chat/never_gd"],
    ]) as [string, string];
    await this.#client.sendBare(method, path);
  }

  #foreignChatIds(): number[] {
    const { site } = this.#app;
    return this.#world.company.sites.filter((each) => each !== site).flatMap(({ chatIds }) => chatIds);
  }

  #asker(): Asker {
    const nextOrder = () => `${this.#name}-${++this.#orders}`;
    return { chance: this.#chance, site: this.#app.site, foreignChatIds: this.#foreignChatIds(), nextOrder };
  }

  /** A new session in the field names of the client. */
  #newSession(): NewSession {
    const chance = this.#chance;
    const { agentIds } = this.#app.site;
    const asked = [...chance.some(agentIds, 0.3), chance.one(agentIds), ...(chance.happens(0.02) ? [777] : [])];
    const { sbs, sbs_mc, ip, content, title, metadata } = createSession.ask(this.#asker()) as Record<string, string>;
    return {
      customer: { id: String(sbs), name: String(sbs_mc), ip: String(ip) },
      content: String(content),
      agentIds: asked,
      responsibleAgentId: chance.one(asked),
      ...(title !== undefined && { title }),
      ...(chance.happens(0.5) && { sender: chance.one(["customer", "responsible_agent", "system"] as const) }),
      ...(metadata !== undefined && { metadata: metadata as unknown as Record<string, string> }),
    };
  }

  /** Sends valid fields with these replaced or added. */
  #sendWith(operation: OperationModel, twist: Fields): Promise<void> {
    return this.#send(operation, { ...operation.ask(this.#asker()), ...twist });
  }

  /** Sends fields once, as they are. The ranstr is new for its app; other apps may use the same one. */
  async #send(operation: OperationModel, fields: Fields, key?: string): Promise<void> {
    const ranstr = `${this.#name.slice(-1)}-${++this.#sent}`;
    if (holdsWritten(fields)) return this.#client.sendExactly(operation.wireName, { ranstr, ...fields });
    const options = key === undefined ? {} : { idempotencyKey: key };
    const { envelope } = await this.#client
      .now()
      .send(operation.wireName as "create_gd", { ranstr, ...fields }, options);
    if (envelope.code === 1) operation.learn?.(this.#app.site, envelope.data, fields);
  }
}

/**
 * docs/retrying.md, "When two requests mean the same": the order of a list or of metadata does not matter, nor does an agent named
 * twice.
 */
function inOtherWords({ agentIds, metadata, ...session }: NewSession): NewSession {
  const pairs = metadata && { metadata: Object.fromEntries(Object.entries(metadata).reverse()) };
  return { ...session, ...pairs, agentIds: [...agentIds].reverse() };
}
