import { type OperationName, pathOf } from "../../client/operations.ts";
import { prepare } from "../../client/sign.ts";
import { closedSecret } from "../../core/homes.ts";
import type { DemoReport } from "./demo-report.ts";
import { postSigned, type SignedAnswer, signedHeaders } from "./post-signed.ts";
import type { ThrowawayWorker } from "./throwaway-worker.ts";

export interface DemoSite {
  id: number;
  app: { appid: string; secret: string };
}

interface DemoRequest {
  operation: OperationName;
  body: string;
  signature: string;
  idempotencyKey?: string | undefined;
}

/** The answer that docs/contract.md and docs/decisions.md promise. */
interface ExpectedAnswer {
  status: number;
  msg: string;
  /** The field that `x-error-detail` names; undefined when there must be no such header. */
  detail?: string;
  /** The seconds in `Retry-After`; undefined when there must be no such header. */
  retryAfter?: number;
}

/** Calls a Worker as its operator and as its callers, and reports each signed call. */
export class DemoWorld {
  readonly #worker: ThrowawayWorker;
  readonly #report: DemoReport;
  /** The chat ids of each site, by the site's id. Each site counts its own. */
  readonly #chatIds = new Map<number, Set<number>>();

  constructor(worker: ThrowawayWorker, report: DemoReport) {
    this.#worker = worker;
    this.#report = report;
  }

  /** Creates a site, an app and these agents through the admin API. */
  async provision(name: string, agentIds: number[], home = "main"): Promise<DemoSite> {
    const site = await this.admin<{ id: number }>("POST", "/admin/sites", { name, home });
    for (const id of agentIds) {
      await this.admin("POST", `/admin/sites/${site.id}/agents`, { id, name: `Agent ${id}` });
    }
    const app = await this.admin<DemoSite["app"]>("POST", `/admin/sites/${site.id}/apps`, { name: "Back end" });
    this.#report.line(name, `site ${site.id} in home ${home}, appid ${app.appid}, agents ${agentIds.join(", ")}`);
    return { id: site.id, app };
  }

  async admin<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${this.#worker.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#worker.adminToken}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /** Closes these homes and opens all other homes. */
  async closeHomes(homes: readonly string[]): Promise<void> {
    this.#report.step(homes.length === 0 ? "All homes are opened" : `Home ${homes.join(" and ")} is closed`);
    await this.#worker.closeHomes(homes);
    this.#report.line("secrets", homes.map(closedSecret).join(", "));
  }

  async signed(
    { app }: DemoSite,
    operation: DemoRequest["operation"],
    fields: Record<string, unknown>,
    idempotencyKey?: string,
  ): Promise<DemoRequest> {
    return { operation, ...(await prepare(app, fields)), idempotencyKey };
  }

  /** Sends a create_gd that must open a session. @returns its chat_id; -1 when it opened none */
  async expectCreated(title: string, { id }: DemoSite, request: DemoRequest): Promise<number> {
    const { status, envelope } = await this.#send(title, request);
    const chatId = (envelope?.data as { chat_id?: unknown } | undefined)?.chat_id;
    const before = this.#chatIds.get(id) ?? new Set();
    const isNew = typeof chatId === "number" && Number.isSafeInteger(chatId) && chatId > 0 && !before.has(chatId);
    const data = { chat_id: isNew ? chatId : "a new positive integer" };
    this.#report.check(
      "200 ok with a chat_id that is new in its site",
      { status, envelope },
      { status: 200, envelope: success(data) },
    );
    if (!isNew) return -1;
    this.#chatIds.set(id, before.add(chatId));
    return chatId;
  }

  /** Sends a request that must succeed with this `data`. @returns the headers of the answer */
  async expectSuccess(title: string, request: DemoRequest, data: unknown): Promise<Headers> {
    const { status, envelope, headers } = await this.#send(title, request);
    const rule = `200 ok, data ${JSON.stringify(data)}`;
    this.#report.check(rule, { status, envelope }, { status: 200, envelope: success(data) });
    return headers;
  }

  async expectRefused(title: string, request: DemoRequest, expected: ExpectedAnswer): Promise<void> {
    const { status, envelope, headers } = await this.#send(title, request);
    const detail = headers.get("x-error-detail")?.split(":")[0];
    const retryAfter = headers.get("retry-after") ?? undefined;
    const when = expected.retryAfter === undefined ? "" : `, to be tried again after ${expected.retryAfter} s`;
    const why = expected.detail === undefined ? "says no more" : `x-error-detail names ${expected.detail}`;
    this.#report.check(
      `${expected.status} ${expected.msg}, ${why}${when}`,
      { status, envelope, detail, retryAfter },
      {
        status: expected.status,
        envelope: { code: -1, msg: expected.msg, data: "" },
        detail: expected.detail,
        retryAfter: expected.retryAfter?.toString(),
      },
    );
  }

  /** Checks that a site has exactly these sessions, in this order. Refused calls must have stored none. */
  async inspectList(site: DemoSite, chatIds: number[]): Promise<void> {
    const path = `/admin/sites/${site.id}/sessions?limit=100`;
    this.#report.step(`GET ${path}`);
    const { items } = await this.admin<{ items: { chat_id: number }[] }>("GET", path);
    const listedIds = items.map(({ chat_id }) => chat_id);
    this.#report.fields({ chat_ids: listedIds });
    this.#report.check("the sessions opened above, newest first, and no others", listedIds, chatIds.toReversed());
  }

  async #send(title: string, request: DemoRequest): Promise<SignedAnswer> {
    const { operation, body, signature, idempotencyKey } = request;
    this.#report.step(`${operation}: ${title}`);
    const path = pathOf(operation);
    const headers = signedHeaders(signature, idempotencyKey);
    const { "content-type": _, ...shown } = headers;
    this.#report.request(path, body, shown);
    const answer = await postSigned(`${this.#worker.url}${path}`, headers, Buffer.from(body));
    this.#report.answer(answer);
    return answer;
  }
}

const success = (data: unknown) => ({ code: 1, msg: "ok", data });
