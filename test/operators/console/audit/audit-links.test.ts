import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { visitorWithRole } from "../../../support/access-world.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { endSite } from "../../../support/site-end.ts";
import { NOW } from "../../../support/world.ts";
import { type Row, start } from "./audit-world.ts";

const DAY = 86_400;
const ADA = { whoKind: "person", whoId: "ada@example.com", whoName: "ada@example.com" } as const;

describe("an entry of the audit log", () => {
  it("an audit entry links to the page of its subject", async () => {
    const linked: [row: Partial<Row>, text: string, path: string][] = [
      [{ action: "app.rotated", subject: "my-shop" }, "my-shop", "/apps/my-shop"],
      [{ action: "agent.disabled", subject: "7" }, "7", "/agents/7"],
      [{ action: "agent.added", subject: "", details: '{"ids":[1,2],"names":["A","B"]}' }, "2 agents", "/agents"],
      [{ action: "webhook.pinged", subject: "wh_1" }, "wh_1", "/webhooks/wh_1"],
      [{ action: "customer.erased", subject: "019a-erasure" }, "019a-erasure", "/customers/erasures/019a-erasure"],
    ];
    const { visitor, world, path: log } = await start(...linked.map(([row]) => row));
    const page = await visitor.open(log);
    for (const [, text, path] of linked) expect(page.link(text)).toBe(`/console/sites/${world.siteId}${path}`);
  });

  it.each<[row: Partial<Row>, text: string, path: string]>([
    [{ action: "token.created", subject: "tok_x", siteId: null }, "tok_x", "/console/tokens"],
    [{ action: "operator.signed_in", subject: "5e551011", siteId: null }, "5e551011", "/console/access"],
  ])("an audit entry without a site links to the page of its subject: %j", async (row, text, path) => {
    const { visitor } = await start({ ...row, at: NOW + 9_000_000 });
    expect((await visitor.open("/console/audit?since=2027-04-01T00:00")).link(text)).toBe(path);
  });

  it("an audit entry has no link when its subject is gone, belongs to an ended site, or needs a higher role", async () => {
    const erasedEntry = { action: "customer.erased", subject: "019a-erasure" } as const;
    const rows = [
      { action: "webhook.deleted", subject: "wh_gone" },
      { action: "app.released", subject: "released" },
      { action: "app.revoked", subject: "revoked" },
    ] as const;
    const { visitor, world, path } = await start(...rows, erasedEntry);
    const hrefs = async (who = visitor) =>
      (await who.open(path)).links.filter((href) => /wh_gone|released|revoked|erasure/.test(href));
    expect(await hrefs()).toEqual([
      `${path.replace("/audit", "")}/customers/erasures/019a-erasure`,
      `${path.replace("/audit", "")}/apps/revoked`,
    ]);
    expect(await hrefs(await visitorWithRole(world, "viewer"))).toEqual([`${path.replace("/audit", "")}/apps/revoked`]);
    await endSite(world);
    expect(await hrefs()).toEqual([]);
  });

  it("an audit entry names its site, also an ended one, and shows only the id of a deleted one", async () => {
    const { visitor, world } = await start({ at: NOW + 9_000_000 });
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { name: "Café <Nord>" });
    const since = "/console/audit?since=2027-04-01T00:00";
    const page = await visitor.open(since);
    expect(page.link("Café <Nord>")).toBe(`/console/sites/${world.siteId}`);
    await env.DB.prepare("UPDATE audit_log SET site_id = 999999 WHERE site_id = ?").bind(world.siteId).run();
    const newPage = await visitor.open(since);
    expect([newPage.text.includes("(999999)"), newPage.links.includes("/console/sites/999999")]).toEqual([true, false]);
    await env.DB.prepare("DELETE FROM audit_log WHERE site_id = 999999").run();
  });

  it("an audit entry links to all entries of the same person within the current filter", async () => {
    const { visitor, path } = await start({ ...ADA, action: "site.closed" }, { ...ADA }, {});
    const page = await visitor.open(`${path}?action=site.closed`);
    const personPage = await visitor.open(page.link("ada@example.com"));
    expect(personPage.path).toBe(`${path}?who=ada%40example.com&action=site.closed`);
    expect((await visitor.open(`${path}?who=ada%40example.com`)).rows).toHaveLength(2);
  });
});

describe("the links for days", () => {
  const rows = [-2 * DAY, -DAY - 8 * 3_600, -8 * 3_600 - 1, -8 * 3_600, -1].map((ago, i) => ({
    at: NOW + ago,
    subject: `s${i}`,
  }));

  it("the audit log has links for yesterday, today and the last 7 days", async () => {
    const { visitor, path } = await start({ at: NOW - 7 * DAY, subject: "old" }, ...rows);
    const log = await visitor.open(path);
    const subjects = async (day: string) => (await visitor.open(log.link(day))).rows.map((row) => row[2]);
    expect(await subjects("Yesterday")).toEqual(["s2", "s1"]);
    expect(await subjects("Today")).toEqual(["s4", "s3"]);
    expect(await subjects("Last 7 days")).toEqual(["s4", "s3", "s2", "s1", "s0"]);
  });

  it("the link for yesterday uses the reader's time zone and keeps the rest of the filter", async () => {
    const { visitor, path } = await start(...rows.map((row, i) => ({ ...row, ...(i % 2 === 1 ? ADA : {}) })));
    visitor.cookies.set("__Host-zone", "Asia/Shanghai");
    const yesterday = (await visitor.open(`${path}?who=ada%40example.com`)).link("Yesterday");
    expect(yesterday).toBe(`${path}?who=ada%40example.com&since=2027-01-14T00%3A00&until=2027-01-14T23%3A59`);
    const page = await visitor.open(yesterday);
    expect(page.rows.map((row) => row[2])).toEqual(["s1"]);
    expect(page.html).toMatch(/aria-current="true">Yesterday</);
  });

  it("the link for yesterday is right on the days when the clocks change", async () => {
    const { world, path } = await start();
    const later = world.anotherIsolate();
    later.clock.now = Date.parse("2027-03-29T10:00:00Z") / 1000;
    const reader = await ConsoleVisitor.signedIn(later);
    reader.cookies.set("__Host-zone", "Europe/Berlin");
    expect((await reader.open(path)).link("Yesterday")).toBe(
      `${path}?since=2027-03-28T00%3A00&until=2027-03-28T23%3A59`,
    );
    expect((await reader.open(path)).link("Last 7 days")).toBe(`${path}?since=2027-03-23T00%3A00`);
  });
});
