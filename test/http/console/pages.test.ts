import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { NOW, World } from "../../support/world.ts";

async function start() {
  const world = await World.create();
  const visitor = await ConsoleVisitor.signedIn(world);
  return { world, visitor, site: `/console/sites/${world.siteId}` };
}

const shown = (page: string, id: string) => new RegExp(`<code id="${id}">([^<]*)</code>`).exec(page)?.[1] ?? "";

describe("sites", () => {
  it("are created and led to, with what their name says escaped", async () => {
    const { visitor } = await start();
    const name = `<script>alert("1")</script> & 'co'`;
    const answer = await visitor.post("/console/sites", { name });
    expect(answer.status).toBe(303);
    const page = await visitor.page(answer.headers.get("location") ?? "");
    expect(page).toContain("<h1>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;co&#39;</h1>");
    expect(page).not.toContain("<script>alert");
    expect(page).toContain("The site was created.");
    const sessions = await visitor.page(`${answer.headers.get("location")?.split("?")[0]}/sessions`);
    expect(sessions).toContain("<title>Sessions · &lt;script&gt;");
  });

  it("need a name; what is wrong stands beside the field and what was typed stays", async () => {
    const { visitor } = await start();
    const answer = await visitor.post("/console/sites", { name: "x".repeat(101) });
    expect(answer.status).toBe(400);
    const page = await answer.text();
    expect(page).toContain(`value="${"x".repeat(101)}"`);
    expect(page).toMatch(/<input [^>]*aria-describedby="name-error" autofocus/);
    expect(page).toContain('<p class="error" id="name-error">Must be a string of 1 to 100 characters</p>');
  });

  it("show sessions of the reader's day and week, from Monday, by status", async () => {
    const { world, site } = await start();
    // 2027-01-15 is a Friday; the reader is in UTC here.
    const at = async (now: number, sender_type: number) => {
      world.clock.now = now;
      await world.chatId({ sender_type });
    };
    const monday = Date.UTC(2027, 0, 11) / 1000;
    await at(monday - 1, 1);
    await at(monday, 1);
    await at(monday + 86_400, 2);
    await at(Date.UTC(2027, 0, 15) / 1000 - 1, 2);
    await at(Date.UTC(2027, 0, 15) / 1000, 1);
    await at(NOW, 2);
    await at(NOW, 2);
    world.clock.now = NOW;
    const signedIn = await ConsoleVisitor.signedIn(world);
    const page = await signedIn.page(site);
    const tiles = [...page.matchAll(/<p class="total">([^<]*)<\/p><dl>.*?<dd>(\d+)<\/dd>.*?<dd>(\d+)<\/dd>/g)];
    expect(tiles.map(([, ...numbers]) => numbers)).toEqual([
      ["3", "1", "2"],
      ["6", "2", "4"],
    ]);
  });
});

describe("apps", () => {
  it("are issued with a secret shown once, which signs", async () => {
    const { world, visitor, site } = await start();
    const page = await (await visitor.post(`${site}/apps`, { name: "Shop", appid: "", secret: "" })).text();
    const [appid, secret] = [shown(page, "appid"), shown(page, "secret")];
    expect([appid, secret]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
    Object.assign(world, { appid, secret });
    expect((await world.create()).status).toBe(200);
    for (const path of [site, `${site}/apps`, `${site}/apps/${appid}`, `${site}/audit`]) {
      expect(await visitor.page(path)).not.toContain(secret);
    }
  });

  it("are brought along; a taken appid is said, and no secret comes back in a form", async () => {
    const { visitor, site } = await start();
    const appid = crypto.randomUUID();
    const input = { name: "Moved", appid, secret: "brought-along-secret" };
    expect(shown(await (await visitor.post(`${site}/apps`, input)).text(), "secret")).toBe("brought-along-secret");
    const again = await visitor.post(`${site}/apps`, { ...input, secret: "another-secret-of-mine" });
    expect(again.status).toBe(400);
    const page = await again.text();
    expect(page).toContain("This appid is taken.");
    expect(page).not.toContain("another-secret-of-mine");
    const bad = await (await visitor.post(`${site}/apps`, { name: "Bad", appid: "a b", secret: "short" })).text();
    expect(bad).toContain("Must be 1 to 64 of A-Z a-z 0-9 _ -");
    expect(bad).toContain("Must be 8 to 256 printable ASCII characters");
    expect(bad).toContain("<details open");
    expect(bad).not.toContain("short");
  });

  it("are rotated with the chosen overlap, counted down, and both secrets verify until then", async () => {
    const { world, visitor, site } = await start();
    const path = `${site}/apps/${world.appid}`;
    const page = await (await visitor.post(`${path}/rotate`, { overlap_seconds: "3600" })).text();
    const next = shown(page, "secret");
    expect(page).toContain(`data-until="${NOW + 3600}">(01:00:00)`);
    expect(await visitor.page(path)).toContain("Two secrets");
    expect((await world.create()).status).toBe(200);
    world.secret = next;
    expect((await world.create()).status).toBe(200);
    expect(await visitor.page(path)).not.toContain(next);
  });

  it("are rotated once by a form that is sent again, so that the secret in use is not pushed out", async () => {
    const { world, visitor, site } = await start();
    const path = `${site}/apps/${world.appid}`;
    const version = /name="version" value="(\d+)"/.exec(await visitor.page(path))?.[1] ?? "";
    const form = { overlap_seconds: "3600", version };
    const next = shown(await (await visitor.post(`${path}/rotate`, form)).text(), "secret");
    const again = await visitor.post(`${path}/rotate`, form);
    expect(again.status).toBe(409);
    const page = await again.text();
    expect(page).toContain("The app was rotated since this form was shown.");
    expect(page).not.toContain('id="secret"');
    for (const secret of [world.secret, next]) {
      world.secret = secret;
      expect((await world.create()).status).toBe(200);
    }
  });

  it.each(["", "-1", "604801", "1.5", "soon"])("are not rotated with an overlap of %j", async (overlap_seconds) => {
    const { world, visitor, site } = await start();
    const before = await world.operated();
    const answer = await visitor.post(`${site}/apps/${world.appid}/rotate`, { overlap_seconds });
    // An empty field is a 0 to Number(), and must not be one here.
    expect(answer.status).toBe(409);
    expect(await world.operated()).toEqual(before);
  });

  it("are revoked after a page that asks, and only by its form", async () => {
    const { world, visitor, site } = await start();
    const path = `${site}/apps/${world.appid}`;
    expect(await visitor.page(`${path}/revoke`)).toContain("Revoke for good");
    expect((await world.create()).status).toBe(200);
    const answer = await visitor.post(`${path}/revoke`, {});
    expect([answer.status, answer.headers.get("location")]).toEqual([303, `${path}?done=revoked`]);
    expect((await world.create()).status).toBe(401);
    const page = await visitor.page(path);
    expect(page).toContain("Revoked");
    expect(page).not.toContain("/rotate");
    expect((await visitor.post(`${path}/rotate`, { overlap_seconds: "0" })).status).toBe(409);
  });

  it("of another site are not there", async () => {
    const { world, visitor } = await start();
    const other = await World.create();
    const path = `/console/sites/${other.siteId}/apps/${world.appid}`;
    expect((await visitor.get(path)).status).toBe(404);
    expect((await visitor.post(`${path}/revoke`, {})).status).toBe(404);
    expect((await visitor.post(`${path}/rotate`, { overlap_seconds: "0" })).status).toBe(404);
    expect((await world.create()).status).toBe(200);
  });
});

describe("agents", () => {
  it("are added one by one, renamed, disabled and enabled", async () => {
    const { world, visitor, site } = await start();
    expect((await visitor.post(`${site}/agents`, { id: "10", name: "Ana, née Souza" })).status).toBe(303);
    expect((await visitor.post(`${site}/agents/10`, { name: "Ana Costa" })).status).toBe(303);
    expect((await visitor.post(`${site}/agents/10`, { status: "disabled" })).status).toBe(303);
    expect((await world.create({ kefu_id: [10], fzr_uid: 10 })).status).toBe(400);
    expect((await visitor.post(`${site}/agents/10`, { status: "normal" })).status).toBe(303);
    expect((await world.create({ kefu_id: [10], fzr_uid: 10 })).status).toBe(200);
    const { agents } = await world.operated();
    expect(agents.at(-1)).toEqual({ site_id: world.siteId, id: 10, name: "Ana Costa", status: "normal" });
    expect(await visitor.page(`${site}/agents?done=renamed`)).toContain("The agent was renamed.");
  });

  it("are pasted all or none, and every bad line is named", async () => {
    const { world, visitor, site } = await start();
    const before = await world.operated();
    const list = "20, Ana\r\nten, Ben\r\n1, Taken\r\n20, Twice\r\n\r\n21";
    const answer = await visitor.post(`${site}/agents`, { list });
    expect(answer.status).toBe(400);
    const page = await answer.text();
    const lines = [...page.matchAll(/<li>Line (\d) <code>([^<]*)<\/code> ([^<]*)<\/li>/g)].map(([, ...said]) => said);
    expect(lines).toEqual([
      ["2", "ten, Ben", "The id must be a whole number from 1 to 9007199254740991."],
      ["3", "1, Taken", "The site has an agent of this id."],
      ["4", "20, Twice", "The id stands on an earlier line too."],
      ["6", "21", "Is not “id, name”."],
    ]);
    expect(page).toContain(`>\n${list}</textarea>`);
    expect(await world.operated()).toEqual(before);
    expect((await visitor.post(`${site}/agents`, { list: "20, Ana\r\n1, Taken" })).status).toBe(400);
    expect(await world.operated()).toEqual(before);
    expect((await visitor.post(`${site}/agents`, { list: "20, Ana\r\n21, Ben" })).status).toBe(303);
    const { agents, audit } = await world.operated();
    expect(agents.slice(-2).map((agent) => agent.name)).toEqual(["Ana", "Ben"]);
    expect(audit.slice(before.audit.length).map((entry) => entry.subject)).toEqual(["20", "21"]);
  });

  it("of no site are not there", async () => {
    const { visitor, site } = await start();
    expect((await visitor.get(`${site}/agents/99`)).status).toBe(404);
    expect((await visitor.post(`${site}/agents/99`, { name: "Nobody" })).status).toBe(404);
    expect((await visitor.post(`${site}/agents/1`, { name: "" })).status).toBe(400);
    expect((await visitor.post(`${site}/agents/1`, { status: "asleep" })).status).toBe(400);
  });
});

describe("sessions", () => {
  const ids = (page: string) => [...page.matchAll(/sessions\/(\d+)"/g)].map(([, id]) => Number(id));

  it("are listed newest first, by status, by customer, and by both, in pages", async () => {
    const { world, visitor, site } = await start();
    const made: number[] = [];
    for (let i = 0; i < 23; i++)
      made.unshift(await world.chatId({ sbs: `c${i % 2}`, sender_type: i % 4 === 0 ? 1 : 2 }));
    const first = await visitor.page(`${site}/sessions`);
    expect(ids(first)).toEqual(made.slice(0, 20));
    const next = /href="([^"]*)" rel="next"/.exec(first)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect(ids(await visitor.page(next))).toEqual(made.slice(20));
    const of = (keep: (made: number) => boolean) => made.filter((_, i) => keep(22 - i));
    expect(ids(await visitor.page(`${site}/sessions?status=waiting`))).toEqual(of((i) => i % 4 === 0));
    expect(ids(await visitor.page(`${site}/sessions?sbs=c1`))).toEqual(of((i) => i % 2 === 1));
    expect(ids(await visitor.page(`${site}/sessions?sbs=c0&status=replied`))).toEqual(of((i) => i % 4 === 2));
    expect(ids(await visitor.page(`${site}/sessions?sbs=nobody`))).toEqual([]);
  });

  it("of another site's customer of the same sbs stay there", async () => {
    const { world, visitor } = await start();
    const other = await World.create();
    await world.chatId({ sbs: "same" });
    const mine = await other.chatId({ sbs: "same" });
    expect(ids(await visitor.page(`/console/sites/${other.siteId}/sessions?sbs=same`))).toEqual([mine]);
  });

  it("are found by chat_id, on their own site only", async () => {
    const { world, visitor, site } = await start();
    const id = await world.chatId();
    const answer = await visitor.get(`${site}/sessions?chat_id=${id}`);
    expect([answer.status, answer.headers.get("location")]).toEqual([303, `${site}/sessions/${id}`]);
    const other = await World.create();
    const elsewhere = `/console/sites/${other.siteId}/sessions`;
    expect(await visitor.page(`${elsewhere}?chat_id=${id}`)).toContain(`This site has no session ${id}`);
    expect((await visitor.get(`${elsewhere}/${id}`)).status).toBe(404);
  });

  it("show who said what, who takes part and the titles, all escaped", async () => {
    const { world, visitor, site } = await start();
    const id = await world.chatId({
      sender_type: 1,
      sbs_mc: "<b>Mei</b>",
      title: "<i>Title</i>",
      content: "<script>alert(1)</script>\nsecond line",
      kefu_id: [1, 2, 3],
    });
    const page = await visitor.page(`${site}/sessions/${id}`);
    expect(page).toContain('<p class="said">&lt;script&gt;alert(1)&lt;/script&gt;\nsecond line</p>');
    expect(page).toContain('<li class="visitor">');
    expect(page).toContain("<strong>&lt;b&gt;Mei&lt;/b&gt;</strong>");
    for (const text of [
      "<bdi>Agent 1</bdi> (1)",
      "<bdi>Agent 2</bdi> (2)",
      "<bdi>Agent 3</bdi> (3)",
      "&lt;i&gt;Title&lt;/i&gt;",
      "127.0.0.1",
      "Waiting",
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toMatch(/<script>|<b>|<i>/);
    const system = await world.chatId({ sender_type: 3 });
    expect(await visitor.page(`${site}/sessions/${system}`)).toContain("System (uid 0)");
  });

  it("cost a create one written row for being found by customer", async () => {
    const world = await World.create();
    await world.chatId();
    let written = 0;
    const batch = async (statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch(statements);
      written += results.reduce((sum, { meta }) => sum + meta.rows_written, 0);
      return results;
    };
    const db = new Proxy(env.DB, {
      get: (target, name) => (name === "batch" ? batch : Reflect.get(target, name).bind(target)),
    });
    await world.anotherIsolate({ DB: db }).chatId({ sbs: "new" });
    // nonce, customer and its index, session and its two indexes, participant, message
    expect(written).toBe(8);
  });
});
