import { isDeepStrictEqual } from "node:util";
import type { Call } from "../../world/call.ts";
import { isRoot, type Reader } from "../door/visitor.ts";
import type { Model } from "../model.ts";
import { isUsageShown, type UsageAnswer } from "../usage/usage-reads.ts";
import type { Violate } from "../violate.ts";
import { NOT_FOUND, readNow } from "./admin-reads.ts";
import type { AppRecords } from "./app-records.ts";
import { AuditReads } from "./audit-reads.ts";
import type { Intent, OperationOf } from "./intents.ts";
import { failedHomes, homesDownIn, mayBeDown } from "./journal-reads.ts";
import { wrongDivergent } from "./restores.ts";
import { isOfSite, isSiteShown } from "./site-reads.ts";

type Read = Extract<Intent, { kind: "read" }>;

const isOfAudit = ({ path }: Read): boolean => path === "/audit";

/**
 * Whether a page has its items of one moment and its cursor of another: the two are read one after the other, and rows
 * come in any order.
 */
const isPieced = (answered: object, known: object[]): boolean =>
  ["items", "next_cursor"].every((part) =>
    known.some((each) => part in each && isDeepStrictEqual(answered[part as never], each[part as never])),
  );

/** Checks the answers to operators' reads: each must show what was stored at some moment since the call arrived. */
export class AdminReads {
  readonly #model: Model;
  readonly #records: AppRecords;
  readonly #violate: Violate;
  readonly #known = new Map<Call, object[]>();
  /** The appids with a route when each call arrived: a route that comes later need not be in its list. */
  readonly #routed = new Map<Call, ReadonlySet<string>>();
  readonly #audit: AuditReads;

  constructor(model: Model, records: AppRecords, violate: Violate) {
    this.#model = model;
    this.#records = records;
    this.#violate = violate;
    this.#audit = new AuditReads(model);
  }

  arrives(call: Call, intent: Read): void {
    if (isOfAudit(intent)) this.#audit.arrives(call);
    if (intent.path.endsWith("/divergent")) this.#routed.set(call, new Set(this.#model.routes.keys()));
  }

  /** Notes what an open read may be answered at this moment. */
  look({ call, intent }: OperationOf<"read">, reader: Reader): void {
    const { settings, clock } = call;
    const known = [...(this.#known.get(call) ?? [])];
    // The site may end between the query that finds it and the query that reads its home.
    const hadSite = known.some((each) => !isDeepStrictEqual(each, NOT_FOUND));
    for (const found of hadSite ? [false, true] : [false]) {
      const body = readNow(this.#model, { ...intent, settings, clock, ...reader, hadSite: found });
      if (body !== undefined && !known.some((each) => isDeepStrictEqual(each, body))) known.push(body);
    }
    if (known.length > 0) this.#known.set(call, known);
  }

  ends(call: Call): void {
    this.#known.delete(call);
    this.#routed.delete(call);
    this.#audit.ends(call);
  }

  check(operation: OperationOf<"read">, { onlySite }: Reader): void {
    const { call, intent, disturbed } = operation;
    if (!disturbed && isOfAudit(intent)) this.#checkAudit(operation, onlySite);
    else if (!disturbed) this.#checkShown(operation, onlySite);
    this.ends(call);
  }

  #checkAudit({ call, intent }: OperationOf<"read">, onlySite: number | undefined): void {
    if (call.answer?.status === 503 && call.faults.length > 0) return;
    const query = new URLSearchParams(intent.query);
    // Who sees one site reads its log without asking for it.
    if (onlySite !== undefined) query.set("site_id", String(onlySite));
    const wrong = this.#audit.wrong(call, query);
    if (wrong === undefined) return;
    const what = `${wrong}: ${call.name} ${call.wire.path} was answered ${call.answer?.status} ${call.answer?.body}`;
    this.#violate("a page of the audit log has each row that was there, as it was written", what, [call.name]);
  }

  #checkUsage({ name }: Call, { items, complete_until }: UsageAnswer): void {
    const later = items.find(({ at }) => at > (complete_until ?? -1));
    if (later === undefined) return;
    const what = `${name}: all is counted up to ${complete_until}, and it was told ${JSON.stringify(later)}`;
    this.#violate("usage shows no hour that begins after complete_until", what, [name]);
  }

  #checkShown({ call }: OperationOf<"read">, onlySite: number | undefined): void {
    const known = this.#known.get(call);
    const { status = 0, body = "" } = call.answer ?? {};
    const asked = { path: call.wire.path, arrivedAt: call.arrivedAt ?? 0, routed: this.#routed.get(call) ?? new Set() };
    const lacking = status === 200 ? wrongDivergent(this.#model, asked, body, this.#records.kv) : undefined;
    if (lacking !== undefined) {
      this.#violate("the list after a restore names each app to look at", `${call.name}: ${lacking}`, [call.name]);
    }
    if (known === undefined) return;
    const hadFaults = call.faults.length > 0;
    const isOfAnyHome = call.wire.path.startsWith("/admin/requests/");
    const blamed = isOfAnyHome && status === 503 ? homesDownIn(body).find((home) => !mayBeDown(call, home)) : undefined;
    if (blamed !== undefined) {
      const what = `${call.name} was answered that ${blamed} does not answer`;
      this.#violate("homes_down names homes that do not answer", what, [call.name]);
    }
    if (status >= 500 && hadFaults) return;
    // Who sees one site asks its home only. A fault of main may be of something else: a token asks there who it is, and a read by the
    // root may leave a row there after the answer.
    const asksMain = isRoot(call) && !call.trips.some(({ to }) => to === "main run");
    const isAsked = (home: string) =>
      home === "main"
        ? asksMain
        : isRoot(call) || [undefined, home].includes(this.#model.directory.get(onlySite ?? 0)?.home);
    const silent = isOfAnyHome && status === 404 ? failedHomes(call.faults).filter(isAsked) : [];
    if (silent.length > 0) {
      const what = `${call.name} was answered 404, and ${silent} did not answer`;
      this.#violate("no home that was not asked has what is not found", what, [call.name]);
    }
    const answered = status === 200 ? (JSON.parse(body) as object) : { status };
    const isOfUsage = /^\/admin\/sites\/\d+\/usage/.test(call.wire.path);
    if (isOfUsage && status === 200) this.#checkUsage(call, answered as UsageAnswer);
    if (isOfUsage && isUsageShown(answered, known)) return;
    if (call.wire.path.includes("/refusals") && isPieced(answered, known)) return;
    if (known.some((each) => isDeepStrictEqual(answered, each))) return;
    if (isOfSite(call.wire.path) && isSiteShown(answered, known)) return;
    if (call.wire.path === "/admin/homes" && hadFaults) return;
    const expected = known.map((each) => JSON.stringify(each)).join(" or ");
    const what = `${call.name} ${call.wire.path} was answered ${status} ${body}, expected ${expected}`;
    this.#violate("an operator reads what is stored", what, [call.name]);
  }
}
