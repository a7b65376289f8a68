import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { WHOLE_LIMIT_MS } from "../../../../src/core/store/run-batch.ts";
import { ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { downDb } from "../../../support/down-db.ts";
import { eventually } from "../../../support/eventually.ts";
import { replacing } from "../../../support/replacing.ts";
import { ADMIN_TOKEN, type ReplacedBindings, type World } from "../../../support/world.ts";
import { findCustomerPage } from "../customers/customers-world.ts";

const NOTHING = "Nothing was changed.";
const UNKNOWN = "What you sent may or may not have been done: look before you repeat it.";

/** The page after a button of this page, in an isolate with other bindings. */
const pressThrough = (
  { world, visitor }: { world: World; visitor: ConsoleVisitor },
  bindings: ReplacedBindings,
  ...[page, button, fill]: Parameters<ConsoleVisitor["press"]>
) => visitor.through(world.anotherIsolate(bindings)).press(page, button, fill);

/** A database that answers no statement with this text. */
const downFor = (db: D1Database, text: string) =>
  replacing(db, { prepare: (sql: string) => (sql.includes(text) ? downDb(db) : db).prepare(sql) });

describe("the page of an error after a form", () => {
  it("a button that only asks changes nothing, and its error page says so", async () => {
    const started = await start();
    const { world, visitor, site } = started;
    await world.chatId({ sbs: "mei" });
    const page = await findCustomerPage(visitor, `${site}/customers`, "mei");
    for (const button of ["Erase this customer…", "Export as a file"]) {
      const answer = await pressThrough(started, { HOME_APAC: downDb(env.HOME_APAC) }, page, button);
      expect([button, answer.status, answer.heading]).toEqual([
        button,
        503,
        "The home apac or the directory does not answer",
      ]);
      expect([button, answer.text]).toEqual([button, expect.stringContaining(`${NOTHING} Try again in a moment.`)]);
    }
  });

  it("a form of a site whose home does not answer may be done", async () => {
    const started = await start();
    const { world, visitor, app, site } = started;
    const bindings = { HOME_APAC: downFor(env.HOME_APAC, 'update "apps"') };
    const answer = await pressThrough(started, bindings, await visitor.open(`${app}/revoke`), "Revoke for good");
    expect([answer.status, answer.text.includes(UNKNOWN)]).toEqual([503, true]);
    expect(answer.text).not.toContain(NOTHING);
    const form = await visitor.open(`${site}/agents`);
    const refused = await pressThrough(started, { DB: downDb(env.DB) }, form, "Add agent", { ID: "10", Name: "Ana" });
    expect([refused.status, refused.text.includes(`${NOTHING} Try again in a moment.`)]).toEqual([503, true]);
    expect((await world.operated()).agents.some(({ id }) => id === 10)).toBe(false);
  });

  it.each([
    [
      "has no database",
      { HOME_APAC: undefined },
      "The home apac has no database",
      `${NOTHING} Its sites stop until one is bound as HOME_APAC.`,
    ],
    [
      "is not migrated",
      { HOME_APAC: env.UNMIGRATED },
      "The home apac or the directory is not migrated",
      `${UNKNOWN} npm run`,
    ],
  ])(
    "a form of a site whose home %s has an error page that says what became of it",
    async (_, bindings, heading, text) => {
      const started = await start();
      const form = await started.visitor.open(`${started.site}/agents`);
      const answer = await pressThrough(started, bindings, form, "Add agent", { ID: "10", Name: "Ana" });
      expect([answer.status, answer.heading]).toEqual([503, heading]);
      expect(answer.text).toContain(text);
      const reading = await started.visitor
        .through(started.world.anotherIsolate(bindings))
        .open(`${started.site}/agents`);
      expect(reading.text).not.toMatch(new RegExp(`${NOTHING}|${UNKNOWN}`));
    },
  );

  it("the work of a form does not begin after an error page that says that nothing was changed", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { world, visitor, app } = await start("main");
    const form = await visitor.open(`${app}/revoke`);
    const statements: string[] = [];
    const prepare = (sql: string) => {
      statements.push(sql);
      return env.DB.prepare(sql);
    };
    const answered = Promise.withResolvers<void>();
    const batch = (each: D1PreparedStatement[]) => answered.promise.then(() => env.DB.batch(each));
    const real = globalThis.setTimeout;
    const spy = vi.spyOn(globalThis, "setTimeout");
    spy.mockImplementation(((run: () => void, ms = 0) =>
      real(run, ms === WHOLE_LIMIT_MS ? 0 : ms)) as typeof setTimeout);
    onTestFinished(() => void vi.restoreAllMocks());
    const slow = visitor.through(world.anotherIsolate({ DB: replacing(env.DB, { prepare, batch }) }));
    const answer = await slow.press(form, "Revoke for good");
    expect([answer.status, answer.text.includes(NOTHING)]).toEqual([503, true]);
    answered.resolve();
    await eventually(() => expect(statements.at(-1)).toContain('delete from "console_forms"'));
    expect((await world.operated()).apps[0]).toMatchObject({ revoked_at: null });
  });
});

describe("a form that a silent database has refused", () => {
  const BACK = "Back to the form, with what you entered";

  it.each([
    ["its home", { HOME_APAC: downDb(env.HOME_APAC) }],
    ["the directory", { DB: downDb(env.DB) }],
  ])("the error page of a form offers what was typed when %s does not answer", async (_, bindings) => {
    const started = await start();
    const { world, visitor, site } = started;
    const form = await visitor.open(`${site}/agents`);
    const lines = "10, Ana\r\n11, Ben & <b>";
    const fill = { "One agent a line: id, name": lines };
    const refused = await pressThrough(started, bindings, form, "Add all", fill);
    expect([refused.status, refused.has(BACK)]).toEqual([503, true]);
    const still = await pressThrough(started, bindings, refused, BACK);
    expect([still.status, still.has(BACK)]).toEqual([503, true]);
    const before = await world.operated();
    for (const button of [BACK, "中文"]) {
      const back = await visitor.press(still, button);
      expect([
        back.status,
        back.value(button === BACK ? "One agent a line: id, name" : "每行一名客服：ID, 名称"),
      ]).toEqual([200, lines]);
      expect(await world.operated()).toEqual(before);
    }
  });

  it("the error page of a form keeps no secret of it, and none that is typed to sign in", async () => {
    const started = await start("main");
    const { world, visitor, site } = started;
    const down = { DB: downDb(env.DB) };
    const fill = { Name: "Shop", Secret: "a secret of 24 characters" };
    const refused = await pressThrough(started, down, await visitor.open(`${site}/apps`), "Issue app", fill);
    expect([refused.status, refused.has(BACK)]).toEqual([503, true]);
    expect(refused.html).not.toContain(fill.Secret);
    const form = await visitor.open(`${site}/agents`);
    visitor.cookies.clear();
    const signIn = await visitor.press(form, "Add agent", { ID: "10", Name: "Ana" });
    const notSignedIn = await pressThrough(started, down, signIn, "Sign in", { Token: ADMIN_TOKEN });
    expect([notSignedIn.status, notSignedIn.has(BACK)]).toEqual([503, true]);
    expect(notSignedIn.html).not.toContain(ADMIN_TOKEN);
    const again = await visitor.press(await visitor.press(notSignedIn, BACK), "Sign in", { Token: ADMIN_TOKEN });
    expect([again.value("ID"), again.value("Name")]).toEqual(["10", "Ana"]);
    visitor.cookies.clear();
    const alone = await pressThrough(started, down, await visitor.open("/console/sign-in"), "Sign in", {
      Token: ADMIN_TOKEN,
    });
    expect([alone.status, alone.has(BACK), alone.html.includes(ADMIN_TOKEN)]).toEqual([503, false, false]);
    expect((await world.operated()).agents.some(({ id }) => id === 10)).toBe(false);
  });

  it("no page of another website puts text into an error page of the console", async () => {
    const { world, site } = await start("main");
    const visitor = new ConsoleVisitor(world.anotherIsolate({ DB: downDb(env.DB) }));
    const elsewhere = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    const answer = await visitor.post(`${site}/agents`, { list: "their text" }, elsewhere);
    expect([answer.status, (await answer.text()).includes("their text")]).toEqual([403, false]);
  });
});
