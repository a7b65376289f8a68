import { beforeAll, describe, expect, it } from "vitest";
import { AUDIT_ACTIONS } from "../../../../src/operators/store/operator-schema.ts";
import { plain } from "../../../support/console-page.ts";
import { databaseOf } from "../../../support/homes.ts";
import { NOW } from "../../../support/world.ts";
import { type Row, start } from "./audit-world.ts";

const CALL = "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12";
const ADA = { whoKind: "person", whoId: "ada@example.com", whoName: "ada@example.com" } as const;
const NIGHTLY = { whoKind: "token", whoId: "tok_1", whoName: "Nightly" } as const;

/** The details of each row of a site's audit log, newest first, in the given language. Undefined when a row has no details. */
async function shownDetails({ visitor, path }: Awaited<ReturnType<typeof start>>, language: string) {
  const { html } = await visitor.open(path, { "accept-language": language });
  return [...html.matchAll(/<tr[^>]*><th scope="row">.*?<\/tr>/gs)].map(([row]) => {
    const [, text] = /<small class="clip" title="[^"]*"><bdi>(.*?)<\/bdi>/.exec(row) ?? [];
    return text === undefined ? undefined : plain(text);
  });
}

const DETAILS: [action: Row["action"], details: object, english: string | undefined, chinese: string | undefined][] = [
  ["agent.renamed", { from: "open", to: "closed" }, "open → closed", "open → closed"],
  ["site.closed", { name: "open", from: "open", to: "closed" }, "open · Open → Closed", "open · 运行中 → 已关闭"],
  ["agent.disabled", { name: "Ana", from: "normal", to: "disabled" }, "Ana · Normal → Disabled", "Ana · 正常 → 已停用"],
  ["site.events_on", { from: false, to: true }, "Off → On", "已关闭 → 已开启"],
  ["site.events_on", {}, undefined, undefined],
  ["site.first_chat_id_set", { first_chat_id: 500, from: 1, to: 500 }, "first chat_id 1 → 500", "首个 chat_id 1 → 500"],
  ["site.first_chat_id_set", { first_chat_id: 500 }, "first chat_id 500", "首个 chat_id 500"],
  ["app.rotated", { version: "b2", from: "a1", to: "b2" }, undefined, undefined],
  [
    "app.rotated",
    { version: "b2", from: "a1", to: "b2", previous_expires_at: null, ends: "previous" },
    "the old one stopped at once · the one before ended",
    "旧密钥立即失效 · 前一个密钥已失效",
  ],
  [
    "app.imported",
    { name: "Shop", imported: ["appid", "secret"] },
    "Shop · brought along: appid, secret",
    "Shop · 自带：appid、密钥",
  ],
  ["webhook.disabled", { reason: "gone" }, "reason: the receiver answered 410", "原因：接收方应答 410"],
  ["webhook.redelivered", { seq: 7 }, "event 7", "事件 7"],
  ["webhook.redelivered", { since: 99999999999999 }, "from 99999999999999", "自 99999999999999"],
  [
    "webhook.redelivered",
    {
      status: ["failed", "missed"],
      since: NOW,
      until: NOW,
      after_seq: null,
      queued: 1234,
      next_after_seq: 9,
      call: "x",
    },
    "status Failed, Missed · from 15 Jan 2027, 08:00 · up to 15 Jan 2027, 08:00 · queued 1,234",
    "状态 失败、错过的 · 自 2027年1月15日 08:00 · 至 2027年1月15日 08:00 · 已排队 1,234",
  ],
  [
    "customer.erased",
    { hash: "ab12", sessions: 3, messages: 40, participants: 5, events: 6, deliveries: 0 },
    "customer's hash ab12 · sessions 3 · messages 40 · participants 5 · events 6 · deliveries 0",
    "客户的哈希 ab12 · 会话 3 · 消息 40 · 参与客服 5 · 事件 6 · 投递 0",
  ],
  [
    "customer.exported",
    { hash: "ab12", sessions: 3, after: 50 },
    "customer's hash ab12 · sessions 3 · after session 50",
    "客户的哈希 ab12 · 会话 3 · 会话 50 之后",
  ],
  [
    "token.created",
    { name: "CI", role: "viewer", site_id: 7 },
    "CI · role viewer · for site 7 alone",
    "CI · 角色 查看者 · 仅限站点 7",
  ],
  [
    "home.restored",
    { lifted_by: 1000000, settling_id: "r1" },
    "session numbers skipped (chat_id): 1,000,000 · id of the restore r1",
    "会话编号跳号（chat_id）：1,000,000 · 恢复的 ID r1",
  ],
  ["site.renamed", { from: "toString", to: "constructor" }, "toString → constructor", "toString → constructor"],
  ["site.begun", { strange_key: "constructor" }, "strange key constructor", "strange key constructor"],
  [
    "webhook.changed",
    {
      origin: "https://b.example",
      events: ["x"],
      from: { origin: "https://a.example" },
      to: { origin: "https://b.example" },
    },
    "origin https://a.example → https://b.example · events x",
    "来源 https://a.example → https://b.example · 事件 x",
  ],
  [
    "webhook.changed",
    {
      origin: "https://a.example",
      events: ["x", "y"],
      path: "changed",

      from: { origin: "https://a.example", events: ["x"] },
      to: { origin: "https://a.example", events: ["x", "y"] },
    },
    "origin https://a.example · events x → x, y · another path or query",
    "来源 https://a.example · 事件 x → x、y · 路径或查询参数已更改",
  ],
  [
    "token.created",
    { name: "Nightly", role: "viewer", expires_at: NOW },
    "Nightly · role viewer · ends 15 Jan 2027, 08:00",
    "Nightly · 角色 查看者 · 到期 2027年1月15日 08:00",
  ],
  [
    "operator.refused",
    { reason: "token_slip", count: 12 },
    "reason: a slip in the token · times 12",
    "原因：令牌有误 · 次数 12",
  ],
  ["agent.added", { ids: [1, 2], names: ["Ana", "Bo"] }, "1 Ana, 2 Bo", "1 Ana、2 Bo"],
];

describe("the page of the audit log", () => {
  it("an audit entry shows in one line who did what, to what and when, and the rest behind a button", async () => {
    const { visitor, path } = await start(
      { ...ADA, address: "192.0.2.0/24", requestId: CALL },
      {
        ...NIGHTLY,
        actor: "admin-api",
        address: "2001:db8:7::/48",
        requestId: CALL,
        details: '{"from":"Ana","to":"Bo"}',
      },
      { actor: "worker", action: "webhook.disabled", subject: "wh_1" },
      { subject: "", action: "operator.refused" },
    );
    const page = await visitor.open(path);
    expect(page.rows.map((row) => row.slice(0, 4))).toEqual([
      ["–", "Sign-in refused", "–", "now"],
      ["Worker", "Webhook disabled", "wh_1", "now"],
      ["Nightly Token", "Agent renamed Ana → Bo", "1", "now"],
      ["ada@example.com", "Agent renamed", "1", "now"],
    ]);
    const details = page.rows.map((row) => row[4]);
    expect(details[0]).toBe("More about Sign-in refused When 15 Jan 2027, 08:00:00 Through Console");
    expect(details[2]).toContain(`Through API Network 2001:db8:7::/48 Request id ${CALL} Subject 1 Details Ana → Bo`);
    expect(details[3]).toContain(`Through Console Network 192.0.2.0/24 Request id ${CALL}`);
  });

  it("the audit page of all sites names an entry's site in its menu too, since a phone has no column for it", async () => {
    const { visitor } = await start({ at: NOW + 9_000_000 });
    const page = await visitor.open("/console/audit?since=2027-04-01T00:00");
    expect(page.rows.map((row) => [row[3], row[5]])).toEqual([
      ["Site", expect.stringMatching(/Through Console Site Site Subject 1$/)],
    ]);
  });

  it("the audit page shows names as text, not as HTML", async () => {
    const { visitor, path } = await start({ ...NIGHTLY, whoName: "<b>Nightly</b>" });
    expect((await visitor.page(path)).includes("<bdi>&lt;b&gt;Nightly&lt;/b&gt;</bdi>")).toBe(true);
  });

  it("the audit page shows the details in the reader's language", async () => {
    const rows = DETAILS.map(([action, details]) => ({ action, details: JSON.stringify(details) }));
    const site = await start(...rows.toReversed());
    for (const [at, language] of [
      [2, "en"],
      [3, "zh-CN"],
    ] as const) {
      const rows = (await shownDetails(site, language)).map((text, row) => [...(DETAILS[row] ?? []).slice(0, 2), text]);
      expect(rows).toEqual(DETAILS.map((row) => [row[0], row[1], row[at]]));
    }
  });

  it("the audit page names the first ten of many agents and the number of the others", async () => {
    const ids = Array.from({ length: 100 }, (_, i) => i + 1);
    const details = JSON.stringify({ ids, names: ids.map((id) => `N${id}`) });
    const [text] = await shownDetails(await start({ action: "agent.added", details }), "en");
    expect(text).toMatch(/^1 N1, 2 N2, .*10 N10, and 90 more$/);
  });
});

describe("the filter of the audit log", () => {
  it("the filter of the audit log offers every action, also with one home", async () => {
    const { visitor, path } = await start();
    const { html } = await visitor.open(path);
    for (const action of AUDIT_ACTIONS) expect(html).toContain(`<option value="${action}"`);
  });

  let filledLog: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    filledLog = await start(
      { ...ADA, subject: "10411" },
      { ...NIGHTLY, at: NOW + 60, subject: "2" },
      { ...ADA, at: NOW + 120, action: "agent.added", subject: "", details: '{"ids":[10411,7],"names":["A","B"]}' },
    );
  });

  it.each<[fill: Record<string, string>, subjects: string[]]>([
    [{}, ["2 agents", "2", "10411"]],
    [{ Who: " ada@example.com " }, ["2 agents", "10411"]],
    [{ Who: "tok_1" }, ["2"]],
    [{ What: "agent.added" }, ["2 agents"]],
    [{ Subject: "10411" }, ["2 agents", "10411"]],
    [{ From: "2027-01-15T08:01" }, ["2 agents", "2"]],
    [{ To: "2027-01-15T08:01" }, ["2", "10411"]],
    [{ From: "2027-01-15T08:01", To: "2027-01-15T08:01" }, ["2"]],
    [{ Who: "ada@example.com", Subject: "2" }, []],
  ])("the audit log filtered by %j shows exactly the entries that match", async (fill, subjects) => {
    const { visitor, path } = filledLog;
    const page = await visitor.press(await visitor.open(path), "Find", fill);
    expect([page.status, page.rows.map((row) => row[2])]).toEqual([200, subjects]);
    for (const [label, value] of Object.entries(fill)) expect(page.value(label)).toBe(value.trim());
    expect(page.text.includes("Nothing fits this filter.")).toBe(subjects.length === 0);
  });

  it("the filter of the audit log takes times in the reader's time zone", async () => {
    const { world, path } = filledLog;
    const visitor = filledLog.visitor.through(world);
    visitor.cookies.set("__Host-zone", "Asia/Shanghai");
    const form = await visitor.open(path);
    const page = await visitor.press(form, "Find", { From: "2027-01-15T16:01", To: "2027-01-15T16:01" });
    expect(page.rows.map((row) => row[2])).toEqual(["2"]);
  });

  it("the filter of the audit log stays on further pages", async () => {
    const rows = Array.from({ length: 60 }, (_, i) => ({ ...(i % 2 === 0 ? ADA : NIGHTLY), subject: String(i) }));
    const { visitor, path } = await start(...rows, ...rows);
    const first = await visitor.open(`${path}?who=ada%40example.com`);
    const second = await visitor.open(first.link("Next page"));
    expect([first.rows.length, second.rows.length]).toEqual([50, 10]);
    expect([...first.rows, ...second.rows].every((row) => row[0] === "ada@example.com")).toBe(true);
    expect(second.value("Who")).toBe("ada@example.com");
  });

  it.each<[query: string, label: string, error: string]>([
    ["action=site.painted", "What", "There is no such action"],
    ["since=yesterday", "From", "Must be a date and a time"],
    ["until=2027-02-30T08:00", "To", "Must be a date and a time"],
    ["since=2027-01-15T08:02&until=2027-01-15T08:01", "From", "Must not be after “To”."],
    [`who=${"x".repeat(321)}`, "Who", "Must have at most 320 characters"],
    [`subject=${"x".repeat(321)}`, "Subject", "Must have at most 320 characters"],
  ])("the filter of the audit log is shown again with its faults: ?%s", async (query, label, error) => {
    const { visitor, path } = filledLog;
    const page = await visitor.open(`${path}?${query}`);
    expect([page.status, page.rows]).toEqual([400, []]);
    expect(page.text).toContain("Correct the filter above.");
    const name = query.split("=")[0];
    expect(page.html).toContain(`id="${name}-error">${error}</p>`);
    if (label !== "What") expect(page.value(label)).toBe(new URLSearchParams(query).get(name ?? ""));
  });
});

describe("a filter of a long audit log", () => {
  it("a filtered audit page says how far the log was searched, and links to the rest", async () => {
    const { world, visitor, path } = await start({ subject: "wanted", at: NOW - 9_000 });
    const seed = `INSERT INTO audit_log (site_id, at, actor, action, subject, details)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT ?, ${NOW} - 5000 + i, 'console', 'agent.renamed', i, '{}' FROM n`;
    await databaseOf("main").prepare(seed).bind(world.siteId).run();
    const first = await visitor.open(`${path}?subject=wanted`);
    expect(first.text).toContain("Nothing was found so far.");
    expect(first.text).toContain("Searched back to 15 Jan 2027, 06:36.");
    const second = await visitor.open(first.link("Search further back"));
    expect(second.text).toContain("wanted");
    expect(second.text).not.toContain("Search further back");
  });
});
