import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import { start } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { replacing } from "../../../support/replacing.ts";
import type { World } from "../../../support/world.ts";

/**
 * A test call from the console is a real call: it is signed, checked and stored like any other. The sites are in another home than
 * the directory, so that the tests notice a write to the wrong database.
 */

const rowsOf = async <Row>(world: World, sql: string): Promise<Row[]> =>
  (await databaseOf(world.home).prepare(sql).bind(world.siteId).all<Row>()).results;

const sessionsOf = (world: World) =>
  rowsOf<Record<string, unknown>>(
    world,
    "SELECT id, appid, customer_external_id AS customer, responsible_agent_id AS agent, agent_title AS title, request_id AS request FROM sessions WHERE site_id = ?",
  );

describe("a test call", () => {
  it("a test call asks first, opens one session, shows that it arrived, and is in the audit log", async () => {
    const { world, visitor, app, site } = await start();
    const page = await visitor.open(`${app}/test`);
    expect(page.heading).toBe("Send a test call");
    expect(await sessionsOf(world)).toEqual([]);
    const result = await visitor.press(page, "Send a test call", { "Responsible agent": "2" });
    const [session, ...others] = await sessionsOf(world);
    expect(others).toEqual([]);
    expect(session).toMatchObject({
      appid: world.appid,
      customer: "console-test",
      agent: 2,
      title: "Test call from the console",
    });
    expect(result.heading).toBe("Result of the test call");
    expect(result.notices).toEqual([`It arrived: the session ${session?.id} was opened.`]);
    expect(result.text).toContain("Status 200");
    expect(result.text).toContain(`"chat_id":${session?.id}`);
    // The page shows the request id of the call, not of the page.
    expect(result.text).toContain(`Request id ${session?.request}`);
    expect(result.link("Open the session")).toBe(`${site}/sessions/${session?.id}`);
    const nonces = await rowsOf(world, "SELECT appid, operation, outcome FROM nonces WHERE site_id = ?");
    expect(nonces).toEqual([{ appid: world.appid, operation: "create_session", outcome: "accepted" }]);
    const testedRow = { action: "app.tested", actor: "console", subject: world.appid, who_id: "root" };
    const { audit } = await world.operated();
    expect(audit.at(-1)).toMatchObject({ ...testedRow, details: JSON.stringify({ agent_id: 2 }) });
  });

  it("a test call whose button is pressed twice opens one session, and both presses show the same result", async () => {
    const { world, visitor, app } = await start();
    const page = await visitor.open(`${app}/test`);
    const press = () => visitor.submit(page, "Send a test call", { "Responsible agent": "1" });
    const answers = await Promise.all([press(), press()]);
    const again = await press();
    expect(await sessionsOf(world)).toHaveLength(1);
    expect(new Set([...answers, again].map((answer) => answer.headers.get("location"))).size).toBe(1);
  });

  it("a refused test call shows the reason and the cure, and opens no session", async () => {
    const { world, visitor, app } = await start();
    const page = await visitor.open(`${app}/test`);
    await world.admin("PATCH", `/admin/sites/${world.siteId}/agents/1`, { status: "disabled" });
    const refusal = await visitor.press(page, "Send a test call", { "Responsible agent": "1" });
    expect(refusal.notices).toEqual(["It was refused, and no session was opened."]);
    expect(refusal.text).toContain("An agent was unknown, foreign or disabled. kefu_id: Disabled: 1.");
    expect(refusal.text).toContain("Send enabled agents of this site, or add them to it.");
    expect(refusal.text).toContain("Status 400");
    expect(await sessionsOf(world)).toEqual([]);
  });

  it("a test call is not reported as refused when the database may have stored it", async () => {
    const { world, visitor, app } = await start();
    const page = await visitor.open(`${app}/test`);
    // Only the batch of the call has more than five statements. The batch is run, but its answer is lost at each try.
    const batch = async (statements: D1PreparedStatement[]) => {
      const results = await env.HOME_APAC.batch(statements);
      if (results.length > 5) throw new Error("D1_ERROR: Network connection lost.");
      return results;
    };
    const losing = visitor.through(world.anotherIsolate({ HOME_APAC: replacing(env.HOME_APAC, { batch }) }));
    const result = await losing.press(page, "Send a test call", { "Responsible agent": "1" });
    expect(result.notices).toEqual([
      "It is not known whether a session was opened: look among the sessions before you send another.",
    ]);
    expect(await sessionsOf(world)).toHaveLength(1);
  });

  it("a test call shows no more than a caller would learn", async () => {
    const { world, visitor, app } = await start();
    const page = await visitor.open(`${app}/test`);
    const closedVisitor = visitor.through(world.anotherIsolate(closedHomeVars("apac")));
    const result = await closedVisitor.press(page, "Send a test call", { "Responsible agent": "1" });
    expect(result.text).toContain("It was refused, and no session was opened. The home was closed. Open it:");
  });

  it("a test call is signed with the secret in use, also during an overlap", async () => {
    const { world, visitor, app } = await start();
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 3600 });
    await visitor.submit(await visitor.open(`${app}/test`), "Send a test call", { "Responsible agent": "1" });
    const [nonce] = await rowsOf<{ secret: string }>(world, "SELECT secret FROM nonces WHERE site_id = ?");
    const [{ version } = { version: "" }] = await rowsOf<{ version: string }>(
      world,
      "SELECT version FROM apps WHERE site_id = ?",
    );
    expect(nonce?.secret).toBe(version);
  });

  it("a test call does nothing when the secret was rotated since the page was shown", async () => {
    const { world, visitor, app } = await start();
    const page = await visitor.open(`${app}/test`);
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, {});
    const after = await visitor.press(page, "Send a test call", { "Responsible agent": "1" });
    expect(after.notices).toContain("The secret was rotated since this form was shown. Nothing was changed now.");
    expect(await sessionsOf(world)).toEqual([]);
    expect((await world.operated()).audit.map(({ action }) => action)).not.toContain("app.tested");
  });

  it("a test call is not offered while no agent is enabled, or for a revoked app", async () => {
    const { world, visitor, site, app } = await start();
    await databaseOf(world.home)
      .prepare("UPDATE agents SET status = 'disabled' WHERE site_id = ?")
      .bind(world.siteId)
      .run();
    const page = await visitor.open(`${app}/test`);
    expect(page.has("Send a test call")).toBe(false);
    expect(page.text).toContain("No agent is enabled.");
    expect(page.link("To the agents")).toBe(`${site}/agents`);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    expect((await visitor.open(`${app}/test`)).path).toBe(app);
  });

  it("a forged link shows no result of a test call", async () => {
    const { visitor, app } = await start();
    const madePage = await visitor.press(await visitor.open(`${app}/test`), "Send a test call", {
      "Responsible agent": "1",
    });
    const forged = new URL(madePage.path, "https://worker");
    forged.searchParams.set("result", (forged.searchParams.get("result") ?? "").replace("200", "201"));
    expect((await visitor.open(forged.pathname + forged.search)).path).toBe(app);
    expect((await visitor.open(`${app}/test/result`)).path).toBe(app);
  });
});
