import { runEvents } from "./demo-events.ts";
import { runHomes } from "./demo-homes.ts";
import type { DemoReport } from "./demo-report.ts";
import type { DemoSite, DemoWorld } from "./demo-world.ts";

const CONTENT = "Where is my order? I paid for it yesterday.";

/** The fields that open a session. Each call of the demo changes the fields that it tests. */
const OPENING = {
  sbs: "customer_001",
  ip: "203.0.113.7",
  sbs_mc: "Wang Wei",
  content: CONTENT,
  kefu_id: [10411, 10427],
  fzr_uid: 10411,
};

/** A session as GET /admin/sites/:site_id/sessions/:chat_id gives it. */
interface StoredSession {
  chat_id: number;
  participants: { agent_id: number; added_by: number }[];
  [field: string]: unknown;
}

/** Runs the main calls, all senders, both forms of ids, all refusals, sites in two homes, and an event: contract sections 3, 4 and 7. */
export async function runDemo(world: DemoWorld, report: DemoReport): Promise<void> {
  const startedAt = Math.floor(Date.now() / 1000);
  report.section("Two sites, through the admin API");
  const shop = await world.provision("Shop", [10411, 10427, 10428, 10429]);
  const other = await world.provision("Other", [20001]);

  report.section("Opening sessions");
  const title = "Order consultation";
  const firstAnswer = await world.signed(shop, "create_gd", { ...OPENING, title });
  const byDefault = await world.expectCreated("sender_type left out, the responsible agent writes", shop, firstAnswer);
  const create = async (what: string, sender_type: number) =>
    world.expectCreated(what, shop, await world.signed(shop, "create_gd", { ...OPENING, sender_type }));
  const byCustomer = await create("sender_type 1, the customer writes", 1);
  const byAgent = await create("sender_type 2, the responsible agent writes", 2);
  const bySystem = await create("sender_type 3, the system writes", 3);
  const customersSession = await world.expectCreated(
    "another site opens one too",
    other,
    await world.signed(other, "create_gd", { ...OPENING, kefu_id: [20001], fzr_uid: 20001 }),
  );

  report.section("Adding agents");
  const add = (site: DemoSite, kefu_ids: unknown, chat_id = byDefault) =>
    world.signed(site, "add_kf", { chat_id, kefu_ids });
  await world.expectSuccess("a string; 10427 is there already and is ignored", await add(shop, "10427,10428"), "");
  await world.expectSuccess("an array", await add(shop, [10429]), "");

  report.section("Retrying safely");
  const order = { ...OPENING, sbs: 1002, content: "Order 7001 was not delivered.", metadata: { order: "7001" } };
  const ordered = await world.expectCreated(
    "with an Idempotency-Key",
    shop,
    await world.signed(shop, "create_gd", order, "order-7001"),
  );
  const retry = await world.signed(shop, "create_gd", order, "order-7001");
  const headers = await world.expectSuccess("the same again, freshly signed: the first answer", retry, {
    chat_id: ordered,
  });
  report.check("marked as a repetition", headers.get("idempotency-replayed"), "true");
  const otherMeaning = await world.signed(shop, "create_gd", { ...order, content: "Another order." }, "order-7001");
  await world.expectRefused("the key again with another meaning", otherMeaning, {
    ...INVALID,
    status: 422,
    detail: "Idempotency-Key",
  });

  report.section("Refusals");
  await refusals(world, { shop, other, firstAnswer, add, notInOther: bySystem });

  report.section("What is stored, through the admin API");
  const expectedSession = (
    chatId: number,
    sender: "visitor" | "agent",
    uid: number | null,
    change: Partial<StoredSession> = {},
  ): StoredSession => ({
    chat_id: chatId,
    kind: "ticket",
    status: sender === "agent" && uid !== 0 ? "replied" : "waiting",
    responsible_agent_id: 10411,
    visitor_title: null,
    agent_title: null,
    auto_title: "Where is my order?",
    metadata: {},
    customer: { sbs: "customer_001", name: "Wang Wei", ip: "203.0.113.7" },
    participants: [{ agent_id: 10427, added_by: 10411 }],
    messages: [{ sender, sender_uid: uid, content: CONTENT }],
    ...change,
  });
  const everyone = [10427, 10428, 10429].map((agent_id) => ({ agent_id, added_by: 10411 }));
  const titles = { visitor_title: title, agent_title: title };
  const orderSession = {
    auto_title: order.content,
    metadata: order.metadata,
    customer: { sbs: "1002", name: "Wang Wei", ip: "203.0.113.7" },
    messages: [{ sender: "agent", sender_uid: 10411, content: order.content }],
  };
  const inspection = { world, report, startedAt };
  await inspect(inspection, shop, expectedSession(byDefault, "agent", 10411, { ...titles, participants: everyone }));
  await inspect(inspection, shop, expectedSession(byCustomer, "visitor", null));
  await inspect(inspection, shop, expectedSession(byAgent, "agent", 10411));
  await inspect(inspection, shop, expectedSession(bySystem, "agent", 0));
  await inspect(inspection, shop, expectedSession(ordered, "agent", 10411, orderSession));
  await inspect(
    inspection,
    other,
    expectedSession(customersSession, "agent", 20001, { responsible_agent_id: 20001, participants: [] }),
  );
  await world.inspectList(shop, [byDefault, byCustomer, byAgent, bySystem, ordered]);
  await world.inspectList(other, [customersSession]);

  await runHomes(world, report);
  await runEvents(world, report);
}

const INVALID = { status: 400, msg: "参数错误" };
const UNVERIFIED = { status: 401, msg: "token验证失败!" };

async function refusals(
  world: DemoWorld,
  sites: {
    shop: DemoSite;
    other: DemoSite;
    firstAnswer: Awaited<ReturnType<DemoWorld["signed"]>>;
    add: (site: DemoSite, kefuIds: unknown, chatId?: number) => ReturnType<DemoWorld["signed"]>;
    /** A chat_id of `shop` that `other` has not used yet. */
    notInOther: number;
  },
): Promise<void> {
  const { shop, other, firstAnswer, add, notInOther } = sites;
  const create = (change: Record<string, unknown>, site = shop) =>
    world.signed(site, "create_gd", { ...OPENING, ...change });
  const forger = { id: shop.id, app: { appid: shop.app.appid, secret: "not the secret" } };
  const stranger = { id: 0, app: { appid: "0".repeat(32), secret: "any secret" } };
  const altered = await create({});

  await world.expectRefused("a forged signature", await create({}, forger), UNVERIFIED);
  await world.expectRefused(
    "the body altered after it was signed",
    { ...altered, body: altered.body.replace("Wang Wei", "Wang Wai") },
    UNVERIFIED,
  );
  await world.expectRefused("an unknown appid", await create({}, stranger), UNVERIFIED);
  await world.expectRefused("a replay, the first request byte for byte", firstAnswer, {
    ...UNVERIFIED,
    detail: "ranstr",
  });
  const longAgo = Math.floor(Date.now() / 1000) - 400;
  await world.expectRefused("a timestamp 400 seconds old", await create({ timestamp: longAgo }), {
    ...UNVERIFIED,
    detail: "timestamp",
  });
  await world.expectRefused("fzr_uid outside kefu_id", await create({ fzr_uid: 10428 }), {
    ...INVALID,
    detail: "fzr_uid",
  });
  await world.expectRefused("sender_type 4", await create({ sender_type: 4 }), { ...INVALID, detail: "sender_type" });
  await world.expectRefused("an agent of another site", await create({ kefu_id: [10411, 20001] }), {
    ...INVALID,
    detail: "kefu_id",
  });
  await world.expectRefused("another site's session", await add(other, "20001", notInOther), {
    status: 404,
    msg: "会话不存在",
    detail: "chat_id",
  });
  await world.expectRefused("no agent who is not there already", await add(shop, "10411,10428"), {
    status: 409,
    msg: "当前状态不允许操作",
    detail: "kefu_ids",
  });
}

interface Inspection {
  world: DemoWorld;
  report: DemoReport;
  /** Unix seconds. */
  startedAt: number;
}

async function inspect(
  { world, report, startedAt }: Inspection,
  site: DemoSite,
  expected: StoredSession,
): Promise<void> {
  const path = `/admin/sites/${site.id}/sessions/${expected.chat_id}`;
  report.step(`GET ${path}`);
  const { created_at, ...session } = await world.admin<StoredSession>("GET", path);
  report.fields(session);
  const byAgentId = (a: { agent_id: number }, b: { agent_id: number }) => a.agent_id - b.agent_id;
  session.participants?.sort(byAgentId);
  const filledFields = Object.entries(session).filter(
    ([name, value]) => Object.hasOwn(expected, name) || !isNothing(value),
  );
  report.check("everything that was sent, and nothing else", Object.fromEntries(filledFields), expected);
  const recent = typeof created_at === "number" && created_at >= startedAt && created_at <= Date.now() / 1000 + 1;
  report.check("created just now", recent, true);
}

/** Whether a field is null or empty, as it is when no call set it. */
const isNothing = (value: unknown) =>
  value === null || (typeof value === "object" && Object.keys(value as object).length === 0);
