import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readTokenText } from "../../../../src/operators/access/token-text.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import { start } from "../../../support/console-visitor.ts";
import { newToken } from "../../../support/new-token.ts";
import { NOW, type World } from "../../../support/world.ts";

afterEach(() => void vi.unstubAllGlobals());

const PATH = "/console/tokens";
const DAY = 86_400;

let names = 0;

/** A name that no other test uses. */
const fresh = () => `Export ${++names}`;

const tokensOf = async (name: string) =>
  (await env.DB.prepare("SELECT * FROM admin_tokens WHERE name = ?").bind(name).all<{ id: string }>()).results;

async function auditOf(id: string) {
  const rows = "SELECT action, actor, site_id, who_name, details FROM audit_log WHERE subject = ? ORDER BY id";
  return (await env.DB.prepare(rows).bind(id).all()).results;
}

/** The status of the admin API's answer to a token. */
const statusWith = async (world: World, token: string, path = "/admin/sites") =>
  (await world.fetch(new Request(`http://worker${path}`, { headers: { authorization: `Bearer ${token}` } }))).status;

describe("the list of tokens", () => {
  it("the list of tokens shows each token's name, role, site and times, and marks expired ones", async () => {
    const { world, visitor } = await start("main");
    const [usedName, expiredName, siteName] = [fresh(), fresh(), `Shop ${world.siteId}`];
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { name: siteName });
    const first = { id: `tok_${"0".repeat(31)}1`, createdAt: NOW - DAY, lastUsedAt: NOW };
    await newToken({ ...first, name: usedName, role: "viewer", siteId: world.siteId, expiresAt: NOW + 1 });
    await newToken({ id: `tok_${"0".repeat(31)}2`, name: expiredName, createdAt: NOW - DAY, expiresAt: NOW });
    const { rows, links } = await visitor.open(PATH);
    expect(rows.slice(0, 2)).toEqual([
      [
        `${usedName} ${first.id}`,
        "viewer",
        siteName,
        "14 Jan, 08:00",
        "08:00–09:00",
        "15 Jan 2027, 08:00",
        `Actions for ${usedName} Delete… ${usedName}`,
      ],
      [
        `${expiredName} tok_${"0".repeat(31)}2`,
        "operator",
        "all",
        "14 Jan, 08:00",
        "Never",
        "15 Jan 2027, 08:00 Expired",
        `Actions for ${expiredName} Delete… ${expiredName}`,
      ],
    ]);
    expect(links).toContain(`/console/sites/${world.siteId}`);
  });

  it("the list of tokens goes on after 50", async () => {
    const { visitor } = await start("main");
    await env.DB.prepare(
      `INSERT INTO admin_tokens (id, hash, name, role, created_at)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 51) SELECT printf('tok_e%031d', i), '', 'Many', 'viewer', ${NOW} FROM n`,
    ).run();
    const page = await visitor.open(PATH);
    expect(page.rows).toHaveLength(50);
    expect((await visitor.open(page.link("Next page"))).rows.length).toBeGreaterThan(0);
  });
});

describe("making a token", () => {
  it("a new token is shown once and works, and only its hash is stored", async () => {
    const { world, visitor } = await start("main");
    const name = fresh();
    const fill = { Name: name, Role: "operator", Site: String(world.siteId), Days: "30" };
    const page = await visitor.press(await visitor.open(PATH), "Make the token", fill);
    expect([page.status, page.heading, page.notices]).toEqual([200, "The token was made", ["Copy the token now"]]);
    const token = page.code("token");
    expect(readTokenText(token)).toEqual({ kind: "program", isSlip: false });
    expect(page.html).toContain('data-copy="token"');
    expect([page.headers.get("cache-control"), page.headers.get("refresh")]).toEqual(["no-store", `600; url=${PATH}`]);
    const [row, ...others] = await tokensOf(name);
    expect(others).toEqual([]);
    expect(row).toMatchObject({ role: "operator", site_id: world.siteId, created_at: NOW, expires_at: NOW + 30 * DAY });
    expect(JSON.stringify(row)).not.toContain(token);
    expect(await auditOf(row?.id ?? "")).toEqual([
      {
        action: "token.created",
        actor: "console",
        site_id: null,
        who_name: "ADMIN_TOKEN",
        details: JSON.stringify({ name, role: "operator", site_id: world.siteId, expires_at: NOW + 30 * DAY }),
      },
    ]);
    expect(await statusWith(world, token, `/admin/sites/${world.siteId}/apps`)).toBe(200);
    expect((await visitor.open(PATH)).html).not.toContain(token);
  });

  it("a new token is for all sites and never expires when both fields are left empty", async () => {
    const { visitor } = await start("main");
    const name = fresh();
    const form = await visitor.open(PATH);
    expect([form.value("Role"), form.value("Site"), form.value("Days")]).toEqual(["viewer", "", "90"]);
    await visitor.submit(form, "Make the token", { Name: name, Role: "owner", Days: "" });
    expect(await tokensOf(name)).toMatchObject([{ role: "owner", site_id: null, expires_at: null }]);
  });

  it("a double click makes one token, and the page says that the token is not shown a second time", async () => {
    const { visitor } = await start("main");
    const name = fresh();
    const form = await visitor.open(PATH);
    const press = () => visitor.press(form, "Make the token", { Name: name });
    const [first, second] = await Promise.all([press(), press()]);
    const notShownText =
      "The token was made, and is not shown a second time. If it was not kept, delete it and make another.";
    expect([first.notices, second.notices].flat().sort()).toEqual(["Copy the token now", notShownText]);
    const third = await press();
    expect([third.path.split("?")[0], third.notices]).toEqual([PATH, [notShownText]]);
    expect(third.html).not.toContain("ast_");
    expect(await tokensOf(name)).toHaveLength(1);
    // A form with another name is another form.
    await visitor.submit(form, "Make the token", { Name: `${name} again` });
    expect(await tokensOf(`${name} again`)).toHaveLength(1);
  });

  it("the form for a new token refuses wrong fields at these fields, and keeps what was typed", async () => {
    const { visitor } = await start("main");
    const name = fresh();
    for (const [wrong, errors] of [
      [
        { Name: " ", Site: "one", Days: "0" },
        {
          Name: expect.stringContaining("Must be a string of 1 to 100 characters"),
          Site: "Must be an integer from 1 to 9007199254740991",
          Days: "Must be an integer from 1 to 3650",
        },
      ],
      [{ Role: "owner", Site: "1" }, { Role: "Must be viewer or operator for a token of one site" }],
      [{ Site: "987654321", Days: "" }, { Site: "Must be a site's id" }],
    ] as const) {
      const fill: Record<string, string> = { Name: name, Role: "operator", Days: "7", ...wrong };
      // A site that is gone by now was a choice when the form was opened, so the form is sent without its page.
      const { Name = "", Role = "", Site = "", Days = "" } = fill;
      const form = (await visitor.open(PATH)).value("form");
      const sent = { form, name: Name, role: Role, site_id: Site, expires_in_days: Days };
      const page = await visitor.follow(await visitor.post(PATH, sent), PATH);
      expect([page.status, Object.fromEntries(Object.keys(errors).map((label) => [label, page.error(label)]))]).toEqual(
        [400, errors],
      );
      for (const [label, value] of Object.entries(fill)) expect(page.value(label)).toBe(value);
    }
    expect(await tokensOf(name)).toEqual([]);
  });
});

describe("the last use of a token", () => {
  it("the last use of a token is shown as its hour in the reader's time zone, and after a day as its day", async () => {
    const { world, visitor } = await start("main");
    const { id, token } = await newToken({ name: fresh(), role: "viewer" });
    world.clock.now = NOW + 45 * 60;
    await statusWith(world, token);
    visitor.cookies.set("__Host-zone", "Asia/Kolkata");
    const old = await newToken({ name: fresh(), lastUsedAt: NOW - DAY });
    const yesterdays = await newToken({ name: fresh(), lastUsedAt: NOW - 20 * 3600 });
    const lastUseOf = async (of: string) =>
      /Last used (.+?) Role/.exec((await visitor.open(`${PATH}/${of}/delete`)).text)?.[1];
    expect([await lastUseOf(id), await lastUseOf(old.id)]).toEqual(["13:30–14:30", "14 Jan 2027"]);
    // By the clock of this page, 17:30 is in the future.
    expect(await lastUseOf(yesterdays.id)).toBe("14 Jan, 17:30–18:30");
  });
});

describe("deleting a token", () => {
  it("a token is deleted after a confirmation, and is refused afterwards", async () => {
    const { world, visitor } = await start("main");
    const name = fresh();
    const { id, token } = await newToken({ name, role: "viewer" });
    expect(await statusWith(world, token)).toBe(200);
    const question = await visitor.open(`${PATH}/${id}/delete`);
    expect([question.heading, question.text.includes(name), question.link("Cancel")]).toEqual([
      "Delete this token?",
      true,
      PATH,
    ]);
    const page = await visitor.press(question, "Delete");
    expect([page.path.split("?")[0], page.notices]).toEqual([
      PATH,
      ["The token was deleted: it opens nothing any more."],
    ]);
    expect(await statusWith(world, token)).toBe(401);
    expect(await auditOf(id)).toMatchObject([{ action: "token.deleted", who_name: "ADMIN_TOKEN" }]);
    expect((await visitor.get(`${PATH}/${id}/delete`)).status).toBe(404);
  });

  it("deleting a deleted token changes nothing and leaves no second audit row", async () => {
    const { visitor } = await start("main");
    const { id } = await newToken({ name: fresh() });
    const [one, two] = [await visitor.open(`${PATH}/${id}/delete`), await visitor.open(`${PATH}/${id}/delete`)];
    await visitor.submit(one, "Delete");
    const page = await visitor.press(two, "Delete");
    expect(page.notices).toEqual(["The token had been deleted before. Nothing was changed now."]);
    expect(await auditOf(id)).toHaveLength(1);
  });

  it("deleting a token leads back to the page it came from, but only within the console", async () => {
    const { visitor } = await start("main");
    for (const [back, leads] of [
      [`${PATH}?cursor=tok_${"0".repeat(32)}&trail=`, `${PATH}?cursor=tok_${"0".repeat(32)}&trail=&done=`],
      ["https://evil.example", `${PATH}?done=`],
    ] as const) {
      const { id } = await newToken({ name: fresh() });
      const question = await visitor.open(`${PATH}/${id}/delete?${new URLSearchParams({ back })}`);
      const { path } = await visitor.press(question, "Delete");
      expect(path.startsWith(leads)).toBe(true);
    }
  });
});

describe("the page of tokens", () => {
  it.each(["viewer", "metrics"])(
    "the page of tokens has a filled-in form for a program's token with the role %s",
    async (role) => {
      const { visitor, world } = await start("main");
      const all = (await visitor.open(PATH)).links.find((href) => href.includes(`role=${role}`)) ?? "";
      const page = await visitor.open(all.replace(/#.*/, ""));
      expect(page.html).toMatch(/<details class="fold" open[^>]*><summary[^>]*>Make a token/);
      expect(page.value("Role")).toBe(role);
      const madePage = await visitor.press(page, "Make the token", { Name: fresh() });
      const [token = ""] = /ast_\w+/.exec(madePage.html) ?? [];
      const statuses = ["/admin/metrics", "/admin/sites"].map((path) => statusWith(world, token, path));
      expect(await Promise.all(statuses)).toEqual([200, role === "viewer" ? 200 : 403]);
    },
  );

  it('the page "Your access" links owners to the page of people, and tells others whom to ask', async () => {
    const { world, visitor } = await start("main");
    const link = (await visitor.open("/console/access")).link("Let somebody in");
    expect(link).toBe("/console/people");
    expect((await visitor.open(link)).links).toContain(PATH);
    const viewer = await (await visitorWithRole(world, "viewer")).open("/console/access");
    expect(viewer.text).toContain("An owner of this deployment can let others in, and make tokens for programs.");
    expect(viewer.links).not.toContain(link);
  });
});
