import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readTokenText } from "../../../../src/operators/access/token-text.ts";
import { accessWorld, PEOPLE, personAt } from "../../../support/access-world.ts";
import { ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { newPerson, signedInPerson } from "../../../support/new-person.ts";
import { NOW, type World } from "../../../support/world.ts";

afterEach(() => void vi.unstubAllGlobals());

const PATH = "/console/people";
const DAY = 86_400;

let names = 0;

/** A name that no other test uses. */
const fresh = () => `Mei ${++names}`;

const peopleNamed = async (name: string) =>
  (await env.DB.prepare("SELECT * FROM people WHERE coalesce(email, name) = ?").bind(name).all<{ id: string }>())
    .results;

const actionsAbout = async (id: string) => {
  const rows = env.DB.prepare("SELECT action, actor FROM audit_log WHERE subject = ? ORDER BY id").bind(id);
  return (await rows.all<{ action: string; actor: string }>()).results;
};

/** The name of a world's site, which no other site has. */
async function nameSite(world: World): Promise<string> {
  const name = `Shop ${world.siteId}`;
  await world.admin("PATCH", `/admin/sites/${world.siteId}`, { name });
  return name;
}

describe("the list of people", () => {
  it("the list of people shows who may come in, with role, site, way in and times, and after them whom the settings name", async () => {
    const world = await accessWorld();
    const siteName = await nameSite(world);
    const first = { id: `per_${"0".repeat(31)}1`, name: fresh(), lastUsedAt: NOW, expiresAt: NOW + 1 };
    await newPerson({ ...first, role: "viewer", siteId: world.siteId });
    const second = { id: `per_${"0".repeat(31)}2`, email: `${"a".repeat(3)}-${world.siteId}@example.com` };
    await newPerson({ ...second, expiresAt: NOW });
    const page = await (await personAt(world, PEOPLE.owner)).open(PATH);
    expect(page.rows.slice(0, 2)).toEqual([
      [
        `${first.name} ${first.id}`,
        "viewer",
        siteName,
        "own token",
        "08:00–09:00",
        "15 Jan 2027, 08:00",
        `Actions for ${first.name} End… ${first.name}`,
      ],
      [
        `${second.email} ${second.id}`,
        "operator",
        "all",
        "Cloudflare Access",
        "Never",
        "15 Jan 2027, 08:00 Expired",
        `Actions for ${second.email} End… ${second.email}`,
      ],
    ]);
    const named = (entry: string, role: string, setting: string) => [
      `${entry} set by ${setting}`,
      role,
      "all",
      "Cloudflare Access",
      "–",
      "–",
      "",
    ];
    expect(page.rows.slice(-4)).toEqual([
      named(PEOPLE.owner, "owner", "CONSOLE_OWNERS"),
      named(PEOPLE.operator, "operator", "CONSOLE_OPERATORS"),
      named(PEOPLE.owner, "operator", "CONSOLE_OPERATORS"),
      named("*@guests.example", "viewer", "CONSOLE_VIEWERS"),
    ]);
    expect(page.links).toContain(`/console/sites/${world.siteId}`);
  });

  it("the list of people goes on after 50, and only its first page names those of the settings", async () => {
    const world = await accessWorld();
    await env.DB.prepare(
      `INSERT INTO people (id, name, hash, role, created_at)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 51) SELECT printf('per_e%031d', i), 'Many', '', 'viewer', ${NOW} FROM n`,
    ).run();
    const owner = await personAt(world, PEOPLE.owner);
    const page = await owner.open(PATH);
    expect(page.rows).toHaveLength(54);
    const next = await owner.open(page.link("Next page"));
    expect([next.rows.length > 0, next.text.includes("set by")]).toEqual([true, false]);
    await env.DB.prepare("DELETE FROM people WHERE name = 'Many'").run();
  });

  it("the navigation leads to the list of people, which links to that of tokens", async () => {
    const { visitor } = await start("main");
    const page = await visitor.open((await visitor.open("/console")).link("People and tokens"));
    expect([page.heading, page.link("Tokens for programs")]).toEqual(["People", "/console/tokens"]);
  });
});

describe("letting somebody in with a token", () => {
  it("somebody who is let in by a name gets a token that is shown once, with the address to sign in at, and signs in with it", async () => {
    const { world, visitor } = await start("main");
    const siteName = await nameSite(world);
    const name = fresh();
    const form = await visitor.open(PATH);
    expect([form.value("Role"), form.value("Site"), form.value("Days")]).toEqual(["viewer", "", ""]);
    expect(form.html).toContain(`<option value="${world.siteId}">${siteName}</option>`);
    const fill = { Name: name, Role: "operator", Site: String(world.siteId), Days: "30" };
    const page = await visitor.press(form, "Let them in", fill);
    expect([page.status, page.heading, page.notices]).toEqual([200, `${name} may come in`, ["Copy the token now"]]);
    const token = page.code("token");
    expect(readTokenText(token)).toEqual({ kind: "person", isSlip: false });
    expect(page.text).toContain("They open https://worker/console, paste it");
    expect([page.headers.get("cache-control"), page.headers.get("refresh")]).toEqual(["no-store", `600; url=${PATH}`]);
    const [row, ...others] = await peopleNamed(name);
    expect(others).toEqual([]);
    expect(row).toMatchObject({ role: "operator", site_id: world.siteId, created_at: NOW, expires_at: NOW + 30 * DAY });
    expect(JSON.stringify(row)).not.toContain(token);
    expect(await actionsAbout(row?.id ?? "")).toEqual([{ action: "person.added", actor: "console" }]);
    const person = new ConsoleVisitor(world);
    expect((await person.signIn(token)).status).toBe(303);
    expect((await person.open("/console")).rows.map(([site]) => site)).toEqual([siteName]);
    expect((await visitor.open(PATH)).html).not.toContain(token);
  });

  it("a double click lets one person in, and the page says that the token is not shown a second time", async () => {
    const { visitor } = await start("main");
    const name = fresh();
    const form = await visitor.open(PATH);
    const press = () => visitor.press(form, "Let them in", { Name: name });
    const [first, second] = await Promise.all([press(), press()]);
    const notShownText =
      "They were let in, and the token is not shown a second time. If it was not kept, end this access and let them in again.";
    expect([first.notices, second.notices].flat().sort()).toEqual(["Copy the token now", notShownText]);
    const third = await press();
    expect([third.path.split(/[?#]/)[0], third.notices]).toEqual([PATH, [notShownText]]);
    expect(third.html).not.toContain("asp_");
    expect(await peopleNamed(name)).toHaveLength(1);
  });

  it("the form keeps what was typed after a change of language, and lets nobody in", async () => {
    const { visitor } = await start("main");
    const name = fresh();
    const refused = await visitor.press(await visitor.open(PATH), "Let them in", { Name: name, Days: "0" });
    const chinese = await visitor.press(refused, "中文");
    expect([chinese.value("who"), chinese.value("expires_in_days")]).toEqual([name, "0"]);
    expect(await peopleNamed(name)).toEqual([]);
  });
});

describe("letting somebody in by an e-mail address", () => {
  it("somebody who is let in by an e-mail address is in the list at once, and comes in by Access", async () => {
    const world = await accessWorld();
    const owner = await personAt(world, PEOPLE.owner);
    const email = `eve-${world.siteId}@elsewhere.example`;
    const form = await owner.open(PATH);
    expect(form.value("Way in")).toBe("email");
    const page = await owner.press(form, "Let them in", { "E-mail address or name": ` ${email.toUpperCase()}` });
    expect([page.path.split("?")[0], page.notices]).toEqual([PATH, ["They may come in."]]);
    expect(page.text).toContain(email);
    expect(await peopleNamed(email)).toMatchObject([{ role: "viewer", site_id: null, expires_at: null, hash: null }]);
    expect((await (await personAt(world, email)).get("/console")).status).toBe(200);
  });

  it("an address that has access already is refused at its field, and what was typed stays", async () => {
    const world = await accessWorld();
    const owner = await personAt(world, PEOPLE.owner);
    const email = `twice-${world.siteId}@elsewhere.example`;
    await newPerson({ email });
    const fill = { "E-mail address or name": email, Role: "owner" };
    const page = await owner.press(await owner.open(PATH), "Let them in", fill);
    expect([page.status, page.error("E-mail address or name")]).toEqual([
      400,
      "This address has access already: end its row in the list first.",
    ]);
    for (const [label, value] of Object.entries(fill)) expect(page.value(label)).toBe(value);
    expect(await peopleNamed(email)).toHaveLength(1);
  });

  it("the form offers the way in that CONSOLE_SIGN_IN has: a name, an e-mail address, or either", async () => {
    const world = await accessWorld();
    const owner = await personAt(world, PEOPLE.owner);
    const { visitor } = await start("main");
    const formAt = async (by: ConsoleVisitor) => {
      const { html } = await by.open(PATH);
      return [...html.matchAll(/<label for="(way|who)">([^<]*)/g)].map(([, , label]) => label);
    };
    expect(await formAt(visitor)).toEqual(["Name"]);
    expect(await formAt(owner)).toEqual(["Way in", "E-mail address or name"]);
    const shut = world.anotherIsolate({ CONSOLE_SIGN_IN: "access" } as never);
    expect(await formAt(owner.through(shut))).toEqual(["E-mail address"]);
  });
});

describe("the form that lets somebody in", () => {
  it.each<[Record<string, string>, Record<string, string>]>([
    [{ who: "r00t" }, { Name: expect.stringContaining("Must not look like root") as unknown as string }],
    [{ who: "ada@example.com" }, { Name: expect.stringContaining("Must not look like root") as unknown as string }],
    [{ role: "owner", site_id: "1" }, { Role: "Must be viewer or operator for a person of one site" }],
    [{ role: "metrics" }, { Role: "Must be viewer or operator or owner" }],
    [{ site_id: "987654321" }, { Site: "Must be a site's id" }],
    [{ expires_in_days: "0" }, { Days: "Must be an integer from 1 to 3650" }],
    [{ way: "email", who: "ada@example.com" }, { Name: "Nobody comes by Cloudflare Access: CONSOLE_SIGN_IN is token" }],
  ])(
    "the form that lets somebody in refuses %j at its field, keeps what was typed, and lets nobody in",
    async (wrong, errors) => {
      const { visitor } = await start("main");
      const count = () => env.DB.prepare("SELECT count(*) AS n FROM people").first("n");
      const before = await count();
      const form = (await visitor.open(PATH)).value("form");
      const sent = { form, who: fresh(), role: "viewer", site_id: "", expires_in_days: "", ...wrong };
      const page = await visitor.follow(await visitor.post(PATH, sent), PATH);
      expect([page.status, Object.fromEntries(Object.keys(errors).map((label) => [label, page.error(label)]))]).toEqual(
        [400, errors],
      );
      expect([page.value("Name"), page.value("Site"), page.value("Days")]).toEqual([
        sent.who,
        sent.site_id,
        sent.expires_in_days,
      ]);
      expect(await count()).toBe(before);
    },
  );

  it("with more than 200 sites the form takes the id of a site, and says so", async () => {
    const { world, visitor } = await start("main");
    await env.DB.prepare(
      `INSERT INTO sites (id, name, home, status, revision, first_chat_id, created_at, event_seq_floor)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 201) SELECT 800000 + i, 'Many', 'main', 'open', 0, 1, ${NOW}, 0 FROM n`,
    ).run();
    try {
      const form = await visitor.open(PATH);
      expect(form.text).toContain("The id of one site: there are too many to choose from.");
      const name = fresh();
      await visitor.press(form, "Let them in", { Name: name, Site: String(world.siteId) });
      expect(await peopleNamed(name)).toMatchObject([{ site_id: world.siteId }]);
    } finally {
      await env.DB.prepare("DELETE FROM sites WHERE id > 800000").run();
    }
  });
});

describe("ending somebody's access", () => {
  it("the page that asks says how many open sessions end, and ending signs the person out at once", async () => {
    const { world, visitor } = await start("main");
    const name = fresh();
    const person = await signedInPerson(world, { name });
    const list = await visitor.open(PATH);
    expect(list.links).toContain(`${PATH}/${person.id}/end?back=${encodeURIComponent(PATH)}`);
    const question = await visitor.open(`${PATH}/${person.id}/end`);
    expect([question.heading, question.link("Cancel")]).toEqual(["End this person's access?", PATH]);
    expect(question.text).toMatch(new RegExp(`Name ${name} .*Way in own token Open sessions that end 1 `));
    const page = await visitor.press(question, "End the access");
    expect([page.path.split("?")[0], page.notices]).toEqual([
      PATH,
      ["Their access has ended, and they are signed out."],
    ]);
    expect(page.text).not.toContain(name);
    expect((await person.visitor.get("/console")).status).toBe(303);
    expect(await actionsAbout(person.id)).toEqual([{ action: "person.ended", actor: "console" }]);
    expect((await visitor.get(`${PATH}/${person.id}/end`)).status).toBe(404);
  });

  it("ending an access that has ended changes nothing and leaves no second audit row", async () => {
    const { visitor } = await start("main");
    const { id } = await newPerson();
    const [one, two] = [await visitor.open(`${PATH}/${id}/end`), await visitor.open(`${PATH}/${id}/end`)];
    await visitor.submit(one, "End the access");
    const page = await visitor.press(two, "End the access");
    expect(page.notices).toEqual(["Their access had ended before. Nothing was changed now."]);
    expect(await actionsAbout(id)).toHaveLength(1);
  });

  it("the page that asks says of an address that the settings name too that it keeps their role", async () => {
    const world = await accessWorld();
    const email = `guest-${world.siteId}@guests.example`;
    const { id } = await newPerson({ email });
    const page = await (await personAt(world, PEOPLE.owner)).open(`${PATH}/${id}/end`);
    expect(page.text).toContain("The settings name this address too: after signing in again it has the role viewer.");
  });

  it("an owner may end their own access, and is signed out with it", async () => {
    const { world } = await start("main");
    const owner = await signedInPerson(world, { role: "owner" });
    const question = await owner.visitor.open(`${PATH}/${owner.id}/end`);
    expect(question.text).toContain("It is your own access.");
    const page = await owner.visitor.press(question, "End the access");
    expect([page.status, page.heading]).toEqual([200, "Sign in to the console"]);
  });

  it("the page that asks says of the only owner that nobody else is one", async () => {
    const { visitor } = await start("main");
    await env.DB.prepare("UPDATE people SET deleted_at = 1 WHERE role = 'owner'").run();
    const { id } = await newPerson({ role: "owner" });
    const path = `${PATH}/${id}/end`;
    const onlyOwner = "Nobody else is an owner: then only the ADMIN_TOKEN can let people in and end their access.";
    expect((await visitor.open(path)).text).toContain(onlyOwner);
    await newPerson({ role: "owner", expiresAt: NOW });
    // CONSOLE_SIGN_IN is token here, so an e-mail address lets nobody in.
    await newPerson({ role: "owner", email: "ada@only-owner.example" });
    expect((await visitor.open(path)).text).toContain(onlyOwner);
    await newPerson({ role: "owner" });
    const page = await visitor.open(path);
    expect(page.text).not.toContain(onlyOwner);
    expect(page.text).not.toContain("It is your own access.");
  });
});
