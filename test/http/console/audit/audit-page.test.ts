import { drizzle } from "drizzle-orm/d1";
import { describe, expect, it } from "vitest";
import { auditLog } from "../../../../src/store/operator-schema.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { NOW, World } from "../../../support/world.ts";

type Row = typeof auditLog.$inferInsert;

const CALL = "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12";
const ADA = { whoKind: "person", whoId: "ada@example.com", whoName: "ada@example.com" } as const;
const NIGHTLY = { whoKind: "token", whoId: "tok_1", whoName: "Nightly" } as const;

/** A site whose log has only these rows, oldest first. */
async function start(...rows: Partial<Row>[]) {
  const world = await World.create({ HOME_APAC: undefined });
  const visitor = await ConsoleVisitor.signedIn(world);
  await databaseOf("main").prepare("DELETE FROM audit_log WHERE site_id = ?").bind(world.siteId).run();
  for (const row of rows) {
    const whole = { at: NOW, actor: "console", action: "agent.renamed", subject: "1", details: "{}", ...row } as const;
    await drizzle(databaseOf("main"))
      .insert(auditLog)
      .values({ siteId: world.siteId, ...whole });
  }
  return { world, visitor, path: `/console/sites/${world.siteId}/audit` };
}

/** The details of a row with this action, as its reader sees them. */
async function shown(action: Row["action"], details: object, language = "en"): Promise<string | undefined> {
  const { visitor, path } = await start({ action, details: JSON.stringify(details) });
  const [row] = (await visitor.open(path, { "accept-language": language })).rows;
  return row?.[2];
}

describe("the page of the audit log", () => {
  it("says who did it, from which network, and by which call, and nothing for rows that do not know", async () => {
    const { visitor, path } = await start(
      { ...ADA, address: "192.0.2.0/24", requestId: CALL },
      { ...NIGHTLY, actor: "admin-api", address: "2001:db8:7::/48", requestId: CALL },
      { actor: "worker", action: "webhook.disabled" },
      {},
    );
    const page = await visitor.open(path);
    expect(page.rows.map((row) => row.slice(3))).toEqual([
      ["–", "Console", "15 Jan 2027, 08:00"],
      ["Worker", "Worker", "15 Jan 2027, 08:00"],
      [expect.stringMatching(/^Nightly ?Token ?2001:db8:7::\/48$/), "API", expect.stringContaining(CALL)],
      [expect.stringMatching(/^ada@example\.com ?192\.0\.2\.0\/24$/), "Console", expect.stringContaining(CALL)],
    ]);
    // A phone shows each row as a card, and names its cells.
    for (const label of ["Subject", "Details", "Who", "Through", "When"])
      expect(page.html.split(`data-label="${label}"`)).toHaveLength(5);
    expect(page.html).toContain(`<small><code>${CALL}</code></small>`);
  });

  it("shows names as text", async () => {
    const { visitor, path } = await start({ ...NIGHTLY, whoName: "<b>Nightly</b>" });
    expect((await visitor.page(path)).includes("<bdi>&lt;b&gt;Nightly&lt;/b&gt;</bdi>")).toBe(true);
  });

  it.each<[Row["action"], object, english: string, chinese: string]>([
    ["agent.renamed", { from: "open", to: "closed" }, "open → closed", "open → closed"],
    ["site.closed", { name: "open", from: "open", to: "closed" }, "open · Open → Closed", "open · 运行中 → 已关闭"],
    [
      "agent.disabled",
      { name: "Ana", from: "normal", to: "disabled" },
      "Ana · Normal → Disabled",
      "Ana · 正常 → 已停用",
    ],
    ["site.events_on", { from: false, to: true }, "Off → On", "已关闭 → 已开启"],
    ["site.events_on", {}, "–", "–"],
    [
      "site.first_chat_id_set",
      { first_chat_id: 500, from: 1, to: 500 },
      "first_chat_id 1 → 500",
      "first_chat_id 1 → 500",
    ],
    ["site.first_chat_id_set", { first_chat_id: 500 }, "first_chat_id 500", "first_chat_id 500"],
    ["app.rotated", { version: "b2", from: "a1", to: "b2" }, "version a1 → b2", "version a1 → b2"],
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
        ...{ origin: "https://a.example", events: ["x", "y"], path: "changed" },
        ...{
          from: { origin: "https://a.example", events: ["x"] },
          to: { origin: "https://a.example", events: ["x", "y"] },
        },
      },
      "origin https://a.example · events x → x, y · another path or query",
      "来源 https://a.example · 事件 x → x，y · 路径或查询参数已更改",
    ],
    ["token.created", { name: "Nightly", role: "viewer" }, "Nightly · role viewer", "Nightly · 角色 查看者"],
    [
      "operator.refused",
      { reason: "token_slip", count: 12 },
      "reason token_slip · times 12",
      "原因 token_slip · 次数 12",
    ],
    ["agent.added", { ids: [1, 2], names: ["Ana", "Bo"] }, "1 Ana, 2 Bo", "1 Ana，2 Bo"],
  ])("tells the details in the reader's language: %s %j", async (action, details, english, chinese) => {
    expect(await shown(action, details)).toBe(english);
    expect(await shown(action, details, "zh-CN")).toBe(chinese);
  });

  it("names the first ten of many agents, and how many more they are", async () => {
    const ids = Array.from({ length: 100 }, (_, i) => i + 1);
    const said = await shown("agent.added", { ids, names: ids.map((id) => `N${id}`) });
    expect(said).toMatch(/^1 N1, 2 N2, .*10 N10, and 90 more$/);
  });
});

describe("the filter of the audit log", () => {
  const filled = () =>
    start(
      { ...ADA, subject: "10411" },
      { ...NIGHTLY, at: NOW + 60, subject: "2" },
      { ...ADA, at: NOW + 120, action: "agent.added", subject: "", details: '{"ids":[10411,7],"names":["A","B"]}' },
    );

  it.each<[fill: Record<string, string>, subjects: string[]]>([
    [{}, ["–", "2", "10411"]],
    [{ Who: " ada@example.com " }, ["–", "10411"]],
    [{ Who: "tok_1" }, ["2"]],
    [{ What: "agent.added" }, ["–"]],
    [{ Subject: "10411" }, ["–", "10411"]],
    [{ From: "2027-01-15T08:01" }, ["–", "2"]],
    [{ To: "2027-01-15T08:01" }, ["2", "10411"]],
    [{ From: "2027-01-15T08:01", To: "2027-01-15T08:01" }, ["2"]],
    [{ Who: "ada@example.com", Subject: "2" }, []],
  ])("finds %j", async (fill, subjects) => {
    const { visitor, path } = await filled();
    const page = await visitor.press(await visitor.open(path), "Find", fill);
    expect([page.status, page.rows.map((row) => row[1])]).toEqual([200, subjects]);
    for (const [label, value] of Object.entries(fill)) expect(page.value(label)).toBe(value.trim());
    expect(page.text.includes("Nothing fits this filter.")).toBe(subjects.length === 0);
  });

  it("takes times in the reader's zone", async () => {
    const { visitor, path } = await filled();
    visitor.cookies.set("__Host-zone", "Asia/Shanghai");
    const form = await visitor.open(path);
    const page = await visitor.press(form, "Find", { From: "2027-01-15T16:01", To: "2027-01-15T16:01" });
    expect(page.rows.map((row) => row[1])).toEqual(["2"]);
  });

  it("stays on further pages", async () => {
    const rows = Array.from({ length: 60 }, (_, i) => ({ ...(i % 2 === 0 ? ADA : NIGHTLY), subject: String(i) }));
    const { visitor, path } = await start(...rows, ...rows);
    const first = await visitor.open(`${path}?who=ada%40example.com`);
    const second = await visitor.open(first.link("Next page"));
    expect([first.rows.length, second.rows.length]).toEqual([50, 10]);
    expect([...first.rows, ...second.rows].every((row) => row[3] === "ada@example.com")).toBe(true);
    expect(second.value("Who")).toBe("ada@example.com");
  });

  it.each<[query: string, label: string, error: string]>([
    ["action=site.painted", "What", "There is no such action"],
    ["since=yesterday", "From", "Must be a date and a time"],
    ["until=2027-02-30T08:00", "To", "Must be a date and a time"],
    ["since=2027-01-15T08:02&until=2027-01-15T08:01", "From", "Must not be after “To”."],
    [`who=${"x".repeat(321)}`, "Who", "Must have at most 320 characters"],
    [`subject=${"x".repeat(321)}`, "Subject", "Must have at most 320 characters"],
  ])("is shown again with what is wrong: ?%s", async (query, label, error) => {
    const { visitor, path } = await filled();
    const page = await visitor.open(`${path}?${query}`);
    expect([page.status, page.rows]).toEqual([400, []]);
    expect(page.text).toContain("Correct the filter above.");
    const name = query.split("=")[0];
    expect(page.html).toContain(`id="${name}-error">${error}</p>`);
    if (label !== "What") expect(page.value(label)).toBe(new URLSearchParams(query).get(name ?? ""));
  });
});
