import type { NewSession } from "../../../../src/client/client.ts";
import type { Chance } from "../../machine/chance.ts";
import { drawJoin } from "../../operations/add-agents.ts";
import createSession from "../../operations/create-session.ts";
import { MODELS } from "../../operations/index.ts";
import type { Fields, OperationModel, RequestSender } from "../../operations/shared/model.ts";
import type { KnownApp } from "../../world/company.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { CallerClient } from "./caller-client.ts";

/** The acts of a caller, with their weights. */
export const CALLER_ACTS = { create: 10, again: 4, unkeyed: 3, add: 7, addTwo: 2, refused: 6, repeated: 10 };

/** A company's back end that opens sessions as the documentation says, with the project's client. */
export class Caller {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #app: KnownApp;
  readonly #client: CallerClient;
  #orders = 0;
  #sentCount = 0;
  readonly #name: string;
  /** Orders that may be sent again under the same key. */
  readonly #keyedOrders: { key: string; session: NewSession }[] = [];
  /** Calls of any operation that may be sent again under the same key. */
  readonly #keyedCalls: { key: string; operation: OperationModel; fields: Fields }[] = [];
  readonly #acts: Record<keyof typeof CALLER_ACTS, () => Promise<unknown>> = {
    create: () => this.#createSession(this.#newSession()),
    again: () => this.#sendAgain(),
    unkeyed: () => this.#createSession(this.#newSession(), false),
    add: () => this.#addAgents(),
    addTwo: () => this.#addTwo(),
    refused: () => this.#refuse(),
    repeated: () => this.#repeat(),
  };

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
      // A caller goes on for a while after its app is revoked, because nobody has told it.
      if (this.#app.isRevoked && chance.happens(0.1)) return;
      await pause(world, chance, chance.happens(0.03) ? chance.between(10_000, 400_000) : chance.between(5, 1_500));
      // A busy back end sometimes makes several calls at once.
      await Promise.all(Array.from({ length: chance.happens(0.2) ? 3 : 1 }, () => this.#doOneThing()));
    }
  }

  async #doOneThing(): Promise<void> {
    const chance = this.#chance;
    await this.#mayFail(async () => {
      const act = chance.weighted(CALLER_ACTS);
      this.#world.count(`caller: ${act}`);
      await this.#acts[act]();
    });
  }

  /** Opens a session for this customer, which may fail. */
  open(sbs: string): Promise<boolean> {
    const session = this.#newSession();
    return this.#mayFail(() => this.#createSession({ ...session, customer: { ...session.customer, id: sbs } }));
  }

  /** Adds all agents of the site to a session. @returns whether the call was accepted */
  join(chatId: number): Promise<boolean> {
    return this.#mayFail(() => this.#client.now().addAgents({ chatId, agentIds: this.#app.site.agentIds }));
  }

  /** @returns whether it did not fail */
  async #mayFail(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!this.#client.isGiveUp(error) && (error as Error).message !== "the caller gave up") throw error;
      return false;
    }
  }

  async #createSession(session: NewSession, idempotencyKey?: string | false): Promise<number> {
    const controller = new AbortController();
    if (this.#chance.happens(0.05)) {
      this.#world.scheduler.after(this.#chance.between(1, 200), () =>
        controller.abort(new Error("the caller gave up")),
      );
    }
    const options = idempotencyKey !== undefined && { idempotencyKey };
    const { chatId } = await this.#client.now().createSession(session, { ...options, signal: controller.signal });
    this.#app.site.chatIds.push(chatId);
    return chatId;
  }

  /** Sends an order under its own key, and often sends it again. Sometimes sends another order under a used key. */
  async #sendAgain(): Promise<void> {
    const chance = this.#chance;
    const usedOrder =
      this.#keyedOrders.length > 0 && chance.happens(0.6) ? chance.one(this.#keyedOrders.slice(-5)) : undefined;
    // Other apps and other operations use the same keys, because a key belongs to one app and one operation.
    const order = usedOrder ?? {
      key: `order-${this.#name.slice(-1)}-${this.#keyedOrders.length}`,
      session: this.#newSession(),
    };
    if (usedOrder === undefined) this.#keyedOrders.push(order);
    const session = usedOrder !== undefined && chance.happens(0.35) ? this.#newSession() : order.session;
    await this.#createSession(session, order.key);
  }

  async #addAgents(): Promise<void> {
    const chance = this.#chance;
    const { chatId, agentIds } = drawJoin(this.#asker());
    if (agentIds.length === 0) return;
    const key = `order-${this.#name.slice(-1)}-${chance.integer(0, 20)}`;
    const options = chance.happens(0.5) ? {} : { idempotencyKey: chance.happens(0.5) ? key : (false as const) };
    await this.#client.now().addAgents({ chatId, agentIds }, options);
  }

  /** Two calls in the same second add agents to a new session. One agent is in both calls. */
  async #addTwo(): Promise<void> {
    const [own = 0, both = 0, another = 0] = this.#app.site.agentIds;
    const chatId = await this.#createSession({ ...this.#newSession(), agentIds: [own], responsibleAgentId: own });
    const add = (agentIds: number[]) => this.#client.now().addAgents({ chatId, agentIds });
    await Promise.all([add([both]), add([both, another])]);
  }

  /** Makes a call that the operation refuses. */
  async #refuse(): Promise<void> {
    const operation = this.#chance.one(MODELS);
    const fields = this.#chance.one(Object.values(operation.refusals)).ask(this.#asker());
    if (fields !== undefined) await this.#send(operation, fields);
  }

  /** Calls any operation under a key. Often repeats the call soon, sometimes with other fields. */
  async #repeat(): Promise<void> {
    const chance = this.#chance;
    const usedCall =
      this.#keyedCalls.length > 0 && chance.happens(0.7) ? chance.one(this.#keyedCalls.slice(-4)) : undefined;
    if (usedCall !== undefined) {
      const { operation, fields, key } = usedCall;
      return this.#send(operation, chance.happens(0.6) ? operation.ask(this.#asker()) : fields, key);
    }
    const operation = chance.one(MODELS);
    const key = `order-again-${this.#keyedCalls.length}`;
    const fields = operation.ask(this.#asker());
    this.#keyedCalls.push({ operation, fields, key });
    return this.#send(operation, fields, key);
  }

  #asker(): RequestSender {
    const { site } = this.#app;
    const others = this.#world.company.sites.filter((each) => each !== site);
    const foreignChatIds = others.flatMap(({ chatIds }) => chatIds);
    return { chance: this.#chance, site, foreignChatIds, nextOrder: () => `${this.#name}-${++this.#orders}` };
  }

  /** A new session in the field names of the client. */
  #newSession(): NewSession {
    const chance = this.#chance;
    const { agentIds } = this.#app.site;
    const askedAgents = [...chance.some(agentIds, 0.3), chance.one(agentIds), ...(chance.happens(0.02) ? [777] : [])];
    const { sbs, sbs_mc, ip, content, kefu_id, fzr_uid, sender_type, ...optional } = createSession.ask(this.#asker());
    return {
      customer: { id: String(sbs), name: String(sbs_mc), ip: String(ip) },
      content: String(content),
      agentIds: askedAgents,
      responsibleAgentId: chance.one(askedAgents),
      ...optional,
      ...(chance.happens(0.5) && { sender: chance.one(["customer", "responsible_agent", "system"] as const) }),
    };
  }

  /** Sends fields once, as they are. The ranstr is new for its app; other apps may use the same one. */
  async #send(operation: OperationModel, fields: Fields, key?: string): Promise<void> {
    const ranstr = `${this.#name.slice(-1)}-${++this.#sentCount}`;
    const options = key === undefined ? {} : { idempotencyKey: key };
    const client = this.#client.now();
    const { envelope } = await client.send(operation.wireName as "create_gd", { ranstr, ...fields }, options);
    if (envelope.code === 1) operation.learn?.(this.#app.site, envelope.data, fields);
  }
}
