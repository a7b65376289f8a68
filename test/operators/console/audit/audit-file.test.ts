import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { csvOf } from "../../../../src/operators/console/audit/audit-page.tsx";
import { visitorWithRole } from "../../../support/access-world.ts";
import { call } from "../../../support/admin-calls.ts";
import { downDb } from "../../../support/down-db.ts";
import { databaseOf } from "../../../support/homes.ts";
import { NOW } from "../../../support/world.ts";
import { start } from "./audit-world.ts";

const ADA = { whoKind: "person", whoId: "ada@example.com", whoName: "ada@example.com" } as const;
const CALL = "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12";

/** The file to which the page links. */
async function fileOf(
  { visitor, path }: Awaited<ReturnType<typeof start>>,
  query = "",
  headers: Record<string, string> = {},
) {
  const answer = await visitor.get(`${path}.csv${query}`, headers);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return { answer, bytes, lines: new TextDecoder().decode(bytes).split("\r\n") };
}

describe("the audit log as a file", () => {
  it("the audit file has the entries that the filter finds, with a byte order mark for Excel and the raw details", async () => {
    const world = await start(
      {
        ...ADA,
        action: "agent.renamed",
        details: '{"from":"Ana","to":"Bo, \\"B\\""}',
        requestId: CALL,
        address: "192.0.2.0/24",
      },
      { subject: "other" },
    );
    const page = await world.visitor.open(`${world.path}?who=ada%40example.com`);
    expect(page.link("Download as CSV")).toBe(`${world.path}.csv?who=ada%40example.com`);
    const { answer, bytes, lines } = await fileOf(world, "?who=ada%40example.com");
    const { siteId } = world.world;
    const { body } = await call(world.world, "GET", `/admin/audit?site_id=${siteId}&who=ada%40example.com`);
    const [{ id }] = (body as { items: [{ id: number }] }).items;
    expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(answer.headers.get("content-disposition")).toBe(`attachment; filename="audit-${siteId}-2027-01-15.csv"`);
    expect([...bytes.slice(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
    expect(lines).toEqual([
      "When (UTC),Who,Kind of who,What,Subject,Site,Site's id,Details,Through,Network,Request id,Home,id,who.id,action,subject,site_id,details",
      `2027-01-15 08:00:00,ada@example.com,person,Agent renamed,1,Site,${siteId},"Ana → Bo, ""B""",Console,192.0.2.0/24,${CALL},main,${id},ada@example.com,agent.renamed,1,${siteId},"{""from"":""Ana"",""to"":""Bo, \\""B\\""""}"`,
      "",
    ]);
  });

  it("the audit file is in the reader's language and time zone", async () => {
    const world = await start({ ...ADA });
    world.visitor.cookies.set("__Host-zone", "Asia/Shanghai");
    const { lines } = await fileOf(world, "", { "accept-language": "zh" });
    expect(lines[0]).toContain("时间（Asia/Shanghai）");
    expect(lines[1]).toMatch(/^2027-01-15 16:00:00,ada@example.com,person,客服改名/);
  });

  it("a viewer gets the audit file of all sites too", async () => {
    const { world } = await start({ ...ADA, at: NOW + 9_000_000, subject: "of-a-site" });
    const viewer = await visitorWithRole(world, "viewer");
    const answer = await viewer.get("/console/audit.csv?since=2027-04-01T00:00");
    const [, row] = (await answer.text()).split("\r\n");
    expect([answer.status, row?.includes(`,of-a-site,Site,${world.siteId},`)]).toEqual([200, true]);
  });

  it("the audit file has at most 10,000 entries, and says where to go on", async () => {
    const world = await start();
    const seed = `INSERT INTO audit_log (site_id, at, actor, action, subject, details)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001) SELECT ?, ${NOW} - 10001 + i, 'console', 'agent.renamed', i, '{}' FROM n`;
    await databaseOf("main").prepare(seed).bind(world.world.siteId).run();
    const { lines } = await fileOf(world);
    expect([lines.length, lines[1]?.split(",")[4], lines[10_000]?.split(",")[4]]).toEqual([10_003, "10001", "2"]);
    expect(lines[10_001]).toBe(
      '"Not all: a file has 10,000 entries at most. Older ones: the same filter up to 2027-01-15 05:13:21."',
    );
  });

  it("the audit file searches at most 20 pages of 10,000 rows, and says where to go on", async () => {
    const world = await start({ subject: "wanted" });
    const seed = `INSERT INTO audit_log (site_id, at, actor, action, subject, details)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT ?, ${NOW}, 'console', 'agent.renamed', 's', '{}' FROM n`;
    await databaseOf("main").prepare(seed).bind(world.world.siteId).run();
    const first = await fileOf(world, "?subject=wanted");
    expect(first.lines.slice(1)).toEqual([
      "Not all: the log was searched back to 2027-01-15 08:00:00. Older ones: the same filter up to then.",
      "",
    ]);
    const { lines } = await fileOf(world, "?subject=wanted&until=2027-01-15T08:00:00");
    expect([lines.length, lines[1]?.split(",")[4]]).toEqual([3, "wanted"]);
  });

  it("the audit file names the homes that are missing, and a wrong filter gives a page with the fault", async () => {
    const { world, visitor, path } = await start({});
    const brokenVisitor = visitor.through(world.anotherIsolate({ HOME_APAC: downDb(env.HOME_APAC) }));
    const all = await (await brokenVisitor.get("/console/audit.csv?since=2027-01-15T07:59")).text();
    expect(all.trimEnd().split("\r\n").at(-1)).toBe("Homes that do not answer: apac");
    const wrong = await visitor.open(`${path}.csv?since=yesterday`);
    expect([wrong.status, wrong.text.includes("Must be a date and a time")]).toEqual([400, true]);
  });
});

describe("a cell of a file", () => {
  it.each([
    ["=1+1", "'=1+1"],
    ["+49 30", "'+49 30"],
    ["-2", "'-2"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["\tx", '"\'\tx"'],
    ["x;=1", '"x;=1"'],
    ["\rx", '"\'\rx"'],
    ["＝1", "'＝1"],
    ['=HYPERLINK("https://x","y")', '"\'=HYPERLINK(""https://x"",""y"")"'],
    ["a=b", "a=b"],
    ["a,b", '"a,b"'],
    ["a\nb", '"a\nb"'],
    ['say "no"', '"say ""no"""'],
    ["", ""],
  ])("the cell %j of a file is not read as a formula, and is quoted where needed", (text, cell) => {
    expect(csvOf([[text, "x"]])).toBe(`\ufeff${cell},x\r\n`);
  });
});
