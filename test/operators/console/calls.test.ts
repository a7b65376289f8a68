import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { CONSOLE_CALLS } from "../../../src/operators/console/calls.ts";
import type { Declaration } from "../../../src/operators/http/call.ts";
import { pathOf as adminPathOf, prepared, type Sample } from "../../support/admin-calls.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { ConsolePage } from "../../support/console-page.ts";
import { ConsoleVisitor, ownSession } from "../../support/console-visitor.ts";
import { databaseOf } from "../../support/homes.ts";
import { newConsoleSession } from "../../support/new-console-session.ts";
import { unfinishSite } from "../../support/new-site.ts";
import { tablesOf } from "../../support/read-store.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { ADMIN_TOKEN, World } from "../../support/world.ts";
import { walk } from "../http/walk.ts";

afterEach(() => void vi.restoreAllMocks());

type Path = Pick<Declaration, "path">;

const pathOf = (call: Path, world: World, parameters: Record<string, string> = {}) =>
  adminPathOf(call, world, {
    session: sessionsToEnd.get(world) ?? "",
    erasure_id: erasures.get(world.siteId) ?? "none",
    ...parameters,
  })
    .replace("/admin", "/console")
    .replace(/\/$/, "");

const APP = "/sites/:site_id/apps/:appid";
const WEBHOOK = "/sites/:site_id/webhooks/:webhook_id";
const ERASURE = "/sites/:site_id/customers/erasures/:erasure_id";
const [{ eventType, wireName }] = OPERATIONS as readonly [(typeof OPERATIONS)[number]];

/** Lets the admin API make a change first, so that its audit rows come before those of the form. */
const changed = (path: string, change: unknown) => (world: World) =>
  world.admin("PATCH", adminPathOf({ path }, world), change);

/** The id of the erasure in each world. */
const erasures = new Map<number, string>();

/** The name of the console session that a sample ends in each world. */
const sessionsToEnd = new WeakMap<World, string>();

interface SignedIn {
  visitor: ConsoleVisitor;
  /** The hidden field of a form. It is valid for every form of the console session. */
  form: string;
}

/** One console session for all worlds, except those whose sample ends its session. */
let sharedSession: SignedIn | undefined;
const ownSignIns = new Map<number, SignedIn>();

/** The query with which each world's console session may see a new secret. */
const queries = new WeakMap<World, string>();

async function signedIn(world: World): Promise<SignedIn> {
  const visitor = await ConsoleVisitor.signedIn(world);
  return { visitor, form: (await visitor.open(`/console/sites/${world.siteId}/agents`)).value("form") };
}

const signedInAlone = async (world: World) => void ownSignIns.set(world.siteId, await signedIn(world));
const sessionOf = ({ siteId }: World) => ownSignIns.get(siteId) ?? (sharedSession as SignedIn);
const visitorOf = (world: World) => sessionOf(world).visitor.through(world);

/** The hidden fields of the form of a rotation. They name the secret in use. */
const rotating = (path: string, fields: Record<string, string>) => async (world: World) => {
  const versionQuery = `SELECT version FROM ${path === APP ? "apps" : "webhooks"} WHERE site_id = ?`;
  const version = await databaseOf(world.home).prepare(versionQuery).bind(world.siteId).first<string>("version");
  return { version: version ?? "", ...fields };
};

/** Rotates a secret, so that an overlap runs and the page of the new secret has one to show. */
const rotated = (path: string) => async (world: World) => {
  const fields = await formOf(world, { body: rotating(path, { overlap_seconds: "60" }) });
  const answer = await visitorOf(world).post(pathOf({ path: `${path}/rotate` }, world), fields);
  queries.set(world, new URL(answer.headers.get("location") ?? "", "https://worker").search);
};

const withoutApp = ({ home, appid }: World) =>
  databaseOf(home).prepare("DELETE FROM apps WHERE appid = ?").bind(appid).run();

const withoutWebhooks = async (world: World) => {
  await world.admin("DELETE", adminPathOf({ path: WEBHOOK }, world));
  await world.admin("PATCH", `/admin/sites/${world.siteId}`, { events: false });
};

/** Restores main to a time before an erasure. */
const restoredAfterErasing = async (world: World) => {
  const travelBack = await bookmarkDatabase(databaseOf("main"));
  const { sbs } = world.createBody();
  await world.admin("POST", `/admin/sites/${world.siteId}/customers/erase`, { sbs });
  await travelBack();
};

/** Restores main to a time before a site was deleted. */
const restoredAfterDeleting = async (world: World) => {
  const travelBack = await bookmarkDatabase(databaseOf("main"));
  const site = `/admin/sites/${world.siteId}`;
  await world.admin("PATCH", site, { name: "Site", status: "closed" });
  await world.admin("DELETE", site, { name: "Site" });
  await travelBack();
};

/** Begins an erasure in each world. Without KV the first call deletes nothing, so the erasure stays unfinished. */
async function beginErasing(world: World): Promise<void> {
  const answer = await world
    .anotherIsolate({ CREDENTIALS: undefined })
    .admin("POST", `/admin/sites/${world.siteId}/customers/erase`, { sbs: "customer_001" });
  erasures.set(world.siteId, (await answer.json<{ erasure_id: string }>()).erasure_id);
}

/** Samples for each form, enough to write each audit row that the form can write. */
const SAMPLES: Record<string, [Sample, ...Sample[]]> = {
  "POST /sign-in": [{ body: { token: ADMIN_TOKEN } }, { body: { token: "wrong" }, status: 401 }],
  "POST /sign-out": [{ before: signedInAlone }],
  "POST /language": [{ body: { language: "zh" } }],
  "POST /sites": [{ body: { name: "Another" } }],
  "POST /sites/:site_id/finish": [{ before: unfinishSite }],
  "POST /sites/:site_id/settings": [{ body: { name: "Renamed" } }],
  "POST /sites/:site_id/first-chat-id": [{ body: { first_chat_id: "900220", set_to: "1" } }],
  "POST /sites/:site_id/close": [{}],
  "POST /sites/:site_id/open": [{ before: changed("/sites/:site_id", { status: "closed" }) }],
  "POST /sites/:site_id/events/on": [{ before: changed("/sites/:site_id", { events: false }) }],
  "POST /sites/:site_id/events/off": [{}],
  "POST /sites/:site_id/retention": [{ body: { days: "30", days_again: "30" } }],
  "POST /sites/:site_id/export": [{}],
  "POST /sites/:site_id/delete": [
    { body: { name: "Site" }, before: changed("/sites/:site_id", { name: "Site", status: "closed" }) },
  ],
  "POST /sites/:site_id/apps": [{ body: { name: "Another" } }, { body: { name: "Another", secret: "brought-along" } }],
  [`POST ${APP}/release`]: [{ before: withoutApp }],
  [`POST ${APP}/rotate`]: [
    { body: rotating(APP, { overlap_seconds: "60" }) },
    { body: rotating(APP, { overlap_seconds: "0", ends: "previous", confirmed: "yes" }) },
  ],
  [`POST ${APP}/end-overlap`]: [{ body: rotating(APP, {}), before: rotated(APP) }],
  [`GET ${APP}/secret`]: [{ before: rotated(APP) }],
  [`POST ${APP}/test`]: [{ body: rotating(APP, { agent: "1" }) }],
  [`POST ${APP}/revoke`]: [{}],
  "POST /sites/:site_id/agents": [{ body: { id: "98", name: "Another" } }, { body: { lines: "99, Another" } }],
  "POST /sites/:site_id/agents/:id": [
    { body: { name: "Renamed" } },
    { body: { status: "disabled" } },
    { body: { status: "normal" }, before: changed("/sites/:site_id/agents/:id", { status: "disabled" }) },
  ],
  "POST /sites/:site_id/webhooks": [
    { body: { url: "https://hooks.example.com/", [eventType]: "on" }, before: withoutWebhooks },
  ],
  [`POST ${WEBHOOK}`]: [{ body: { url: "https://hooks.example.com/new", [eventType]: "on" } }],
  [`POST ${WEBHOOK}/rotate`]: [{ body: rotating(WEBHOOK, { overlap_seconds: "60" }) }],
  [`POST ${WEBHOOK}/end-overlap`]: [{ body: rotating(WEBHOOK, {}), before: rotated(WEBHOOK) }],
  [`GET ${WEBHOOK}/secret`]: [{ before: rotated(WEBHOOK) }],
  [`POST ${WEBHOOK}/ping`]: [{}],
  [`POST ${WEBHOOK}/drill`]: [{}],
  [`POST ${WEBHOOK}/redeliver`]: [{ body: { seq: "1" } }],
  [`POST ${WEBHOOK}/send-again`]: [{ body: { pending: "on" } }, { body: { pending: "on", count: "yes" } }],
  [`POST ${WEBHOOK}/enable`]: [{ before: changed(WEBHOOK, { status: "disabled" }) }],
  [`POST ${WEBHOOK}/disable`]: [{}],
  [`POST ${WEBHOOK}/delete`]: [{}],
  "POST /search": [{ body: { q: "customer_001" } }],
  "POST /signature-check": [{ body: { operation: wireName, body: "{}" } }],
  "POST /tokens": [{ body: { name: "Nightly", role: "viewer", site_id: "", expires_in_days: "90" } }],
  "POST /tokens/:token_id/delete": [{}],
  "POST /people": [{ body: { who: "Mei", role: "viewer", site_id: "", expires_in_days: "" } }],
  "POST /people/:person_id/end": [{}],
  "POST /access/:session/end": [
    {},
    {
      before: async (world) => {
        await signedInAlone(world);
        sessionsToEnd.set(world, await ownSession(visitorOf(world)));
      },
    },
  ],
  "POST /sites/:site_id/customers/find": [{ body: { sbs: "customer_001" } }],
  "POST /sites/:site_id/customers/export": [{ body: { sbs: "customer_001" } }],
  "POST /sites/:site_id/customers/erase": [
    { body: { sbs: "customer_001" } },
    { body: { customer: JSON.stringify("customer_001"), asked: "yes", sure: "on" } },
  ],
  [`GET ${ERASURE}`]: [{ before: beginErasing }],
  [`POST ${ERASURE}`]: [{ before: beginErasing }],
  "POST /homes/:name/restored": [
    { body: { lift: "1" }, bindings: closedHomeVars("main") },
    { body: { lift: "2" }, bindings: closedHomeVars("main"), before: restoredAfterErasing },
    { body: { lift: "3" }, bindings: closedHomeVars("main"), before: restoredAfterDeleting },
  ],
};

const titleOf = ({ method, path }: Declaration) => `${method.toUpperCase()} ${path}`;

function samplesOf(call: Declaration): [Sample, ...Sample[]] {
  const samples = SAMPLES[titleOf(call)] ?? (call.method === "get" ? [{}] : undefined);
  if (samples === undefined) throw new Error(`${titleOf(call)} has no sample`);
  return samples;
}

/** All tables of the directory except the sent forms. The tests' sites are in it too. */
async function storedTables() {
  const { console_forms: _, ...tables } = await tablesOf(env.DB);
  return tables;
}

/** The body of a page's form, filled in. */
async function formOf(world: World, { body = {} }: Sample): Promise<Record<string, string>> {
  const fields = typeof body === "function" ? await body(world) : body;
  return { form: sessionOf(world).form, ...fields };
}

async function send(world: World, { method }: Declaration, path: string, sample: Sample): Promise<Response> {
  const visitor = visitorOf(world);
  if (method === "get") return visitor.get(path + (queries.get(world) ?? ""));
  const answer = await visitor.post(path, await formOf(world, sample));
  expect(answer.headers.get("location") ?? "").not.toMatch(/[?&]done=(draft|not_known)\./);
  return answer;
}

async function prepare(): Promise<World> {
  const world = await prepared(await World.create({ EVENTS: undefined }));
  sessionsToEnd.set(world, await newConsoleSession());
  // A sign-in writes an audit row of its own, so it comes before the samples.
  sharedSession ??= await signedIn(world);
  return world;
}

walk("the console", {
  actor: "console",
  calls: CONSOLE_CALLS,
  samplesOf,
  prepare,
  pathOf,
  send,
  sendUnsigned: async (world, call, path) => {
    const visitor = new ConsoleVisitor(world);
    if (call.method === "get") {
      const answer = await visitor.get(path);
      expect(answer.headers.get("location")).toBe(`/console/sign-in?${new URLSearchParams({ next: path })}`);
      return answer;
    }
    const answer = await visitor.post(path, await formOf(world, samplesOf(call)[0]));
    const page = await ConsolePage.read(answer, path);
    expect([page.heading, page.value("kept")]).toEqual(["Sign in to the console", path]);
    return answer;
  },
});

// Each test walks all calls and takes longer than a test of one rule.
describe("the calls of the console", () => {
  it("each call of the console is declared once, and every sample belongs to a call", () => {
    const titles = CONSOLE_CALLS.map(titleOf);
    expect(titles.filter((title, at) => titles.indexOf(title) !== at)).toEqual([]);
    expect(Object.keys(SAMPLES).filter((title) => !titles.includes(title))).toEqual([]);
  });

  it("in the console only signing in, signing out and changing the language need no sign-in", () => {
    expect(CONSOLE_CALLS.filter(({ role }) => role === "anyone").map(titleOf)).toEqual([
      "GET /sign-in",
      "POST /sign-in",
      "POST /sign-out",
      "POST /language",
    ]);
  });

  it("only owners may make the listed calls of the console; viewers may read, and operators may do the rest", () => {
    const titles = (is: (call: Declaration) => boolean) => CONSOLE_CALLS.filter(is).map(titleOf).sort();
    const forOwners = [
      "GET /homes/:name/restored",
      "GET /people",
      "GET /people/:person_id/end",
      `GET ${ERASURE}`,
      "GET /sites/:site_id/delete",
      "GET /sites/:site_id/export",
      "GET /sites/:site_id/first-chat-id",
      "GET /sites/:site_id/retention",
      "GET /tokens",
      "GET /tokens/:token_id/delete",
      "POST /homes/:name/restored",
      "POST /people",
      "POST /people/:person_id/end",
      "POST /sites/:site_id/customers/erase",
      `POST ${ERASURE}`,
      "POST /sites/:site_id/customers/export",
      "POST /sites/:site_id/delete",
      "POST /sites/:site_id/export",
      "POST /sites/:site_id/first-chat-id",
      "POST /sites/:site_id/retention",
      "POST /tokens",
      "POST /tokens/:token_id/delete",
    ];
    expect(titles(({ role }) => role === "owner")).toEqual(forOwners);
    expect(titles(({ role, method }) => role === "viewer" && method !== "get")).toEqual([
      "POST /access/:session/end",
      "POST /search",
      "POST /signature-check",
      "POST /sites/:site_id/customers/find",
    ]);
    // Pages of secrets, and pages of forms.
    const forOperators = [
      `GET ${APP}/end-overlap`,
      `GET ${APP}/release`,
      `GET ${APP}/revoke`,
      `GET ${APP}/rotate`,
      `GET ${APP}/secret`,
      `GET ${APP}/test`,
      `GET ${APP}/test/result`,
      "GET /sites/:site_id/close",
      "GET /sites/:site_id/events/off",
      `GET ${WEBHOOK}/delete`,
      `GET ${WEBHOOK}/disable`,
      `GET ${WEBHOOK}/end-overlap`,
      `GET ${WEBHOOK}/rotate`,
      `GET ${WEBHOOK}/secret`,
      `GET ${WEBHOOK}/send-again`,
      `GET ${WEBHOOK}/settings`,
    ];
    expect(titles(({ role, method }) => role === "operator" && method === "get")).toEqual(forOperators);
  });

  it("each page of the console is linked from another page, except pages that follow a form and pages of a rare state", async () => {
    const others = [
      "GET /sign-in",
      "GET /sites/:site_id/delete",
      `GET ${APP}/release`,
      `GET ${APP}/end-overlap`,
      `GET ${APP}/secret`,
      `GET ${APP}/test/result`,
      `GET ${WEBHOOK}/end-overlap`,
      `GET ${WEBHOOK}/secret`,
      `GET ${ERASURE}`,
    ];
    const world = await prepare();
    const pages = CONSOLE_CALLS.filter(({ method }) => method === "get");
    const links: { from: Declaration; to: string }[] = [];
    for (const from of pages) {
      const text = await (await visitorOf(world).get(pathOf(from, world))).text();
      links.push(...[...text.matchAll(/ (?:href|action)="([^"?#]*)/g)].map(([, to = ""]) => ({ from, to })));
    }
    const lonePages = pages.filter((page) => {
      const address = new RegExp(`^/console${page.path.replace(/\/$/, "").replaceAll(/:\w+/g, "[^/]+")}$`);
      return !links.some(({ from, to }) => from !== page && address.test(to));
    });
    expect(lonePages.map(titleOf).filter((title) => !others.includes(title))).toEqual([]);
  });

  it("every form of the console is refused when it comes from another site", async () => {
    const world = await prepare();
    const visitor = visitorOf(world);
    const before = await storedTables();
    const forged = { origin: "https://elsewhere.example", "sec-fetch-site": "cross-site" };
    for (const call of CONSOLE_CALLS.filter(({ method }) => method !== "get")) {
      for (const sample of samplesOf(call)) {
        const answer = await visitor.post(pathOf(call, world), await formOf(world, sample), forged);
        expect([titleOf(call), answer.status]).toEqual([titleOf(call), 403]);
      }
    }
    expect(await storedTables()).toEqual(before);
  });

  it("every form of the console does nothing without the hidden fields of its page", async () => {
    const world = await prepare();
    const visitor = visitorOf(world);
    const before = await storedTables();
    const sendWith = async (call: Declaration, sample: Sample, form: Record<string, string>) => {
      const { form: _, ...fields } = await formOf(world, sample);
      const { status } = await visitor.post(pathOf(call, world), { ...fields, ...form });
      expect([titleOf(call), status]).toEqual([titleOf(call), expect.toBeOneOf([200, 303])]);
    };
    const forms = CONSOLE_CALLS.filter(({ method, role }) => method !== "get" && role !== "anyone");
    for (const call of forms) for (const sample of samplesOf(call)) await sendWith(call, sample, {});
    const close = forms.find(({ path }) => path === "/sites/:site_id/close") as Declaration;
    for (const form of ["", "x", `${"A".repeat(43)}.${"A".repeat(43)}`]) await sendWith(close, {}, { form });
    expect(await storedTables()).toEqual(before);
  });

  it("the log shows the pattern of each console path, not its ids", async () => {
    const world = await prepare();
    const visitor = visitorOf(world);
    const log = vi.spyOn(console, "log").mockReturnValue();
    for (const call of CONSOLE_CALLS.filter(({ method }) => method === "get")) {
      log.mockClear();
      await visitor.get(pathOf(call, world));
      const routes = log.mock.calls.map(([line]) => (JSON.parse(String(line)) as { route?: string }).route);
      expect(routes).toEqual([`/console${call.path}`.replace(/\/$/, "")]);
    }
  });
});
