import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { start } from "../../../support/console-visitor.ts";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { databaseOf } from "../../../support/homes.ts";
import { lateDb } from "../../../support/late-db.ts";
import type { World } from "../../../support/world.ts";

/** The site as the directory and its home store it, and its audit entries. */
async function siteOf({ siteId, home }: World) {
  const db = databaseOf(home);
  return {
    directory: await env.DB.prepare("SELECT name, status FROM sites WHERE id = ?").bind(siteId).first(),
    home: await db.prepare("SELECT name, status, chat_id_floor FROM home_sites WHERE site_id = ?").bind(siteId).first(),
    audit: (
      await db
        .prepare("SELECT action, details FROM audit_log WHERE site_id = ? AND subject = ? ORDER BY id")
        .bind(siteId, String(siteId))
        .all<{ action: string; details: string }>()
    ).results
      .filter(({ action }) => action !== "site.begun" && action !== "site.created")
      .map(({ action, details }) => [action, JSON.parse(details)]),
  };
}

describe("the settings of a site", () => {
  it.each([
    ["main, of one home", "main", { HOME_APAC: undefined }],
    ["main, of two homes", "main", {}],
    ["apac, of two homes", "apac", {}],
  ] as const)("the settings rename a site in both databases: %s", async (_, home, bindings) => {
    const { world, visitor, site } = await start(home, bindings);
    const form = await visitor.open((await visitor.open(site)).link("Settings"));
    expect([form.path, form.value("Name")]).toEqual([`${site}/settings`, "Site"]);
    const page = await visitor.press(form, "Rename", { Name: "Northwind" });
    expect([page.path.split("?")[0], page.notices, page.value("Name")]).toEqual([
      `${site}/settings`,
      ["The site was renamed."],
      "Northwind",
    ]);
    expect(await siteOf(world)).toMatchObject({
      directory: { name: "Northwind" },
      home: { name: "Northwind" },
      audit: [["site.renamed", { from: "Site", to: "Northwind" }]],
    });
    expect((await visitor.open(`${site}/audit`)).text).toContain("Site renamed");
  });

  it("the settings close a site after a page that says what callers get, and open it again", async () => {
    const { world, visitor, site } = await start();
    const askPage = await visitor.open((await visitor.open(`${site}/settings`)).link("Close this site…"));
    expect(askPage.heading).toBe("Close this site?");
    expect(askPage.text).toContain("503 with Retry-After: 30.");
    expect(askPage.link("Cancel")).toBe(`${site}/settings`);
    expect((await world.create()).status).toBe(200);

    const closedPage = await visitor.press(askPage, "Close now");
    expect(closedPage.notices).toEqual(["The site was closed.", "This site is closed"]);
    const refusedAnswer = await world.create({ ranstr: "kept" });
    expect([refusedAnswer.status, refusedAnswer.headers.get("retry-after")]).toEqual([503, "30"]);
    expect(await siteOf(world)).toMatchObject({ directory: { status: "closed" }, home: { status: "closed" } });
    for (const tab of ["", "/apps", "/agents", "/sessions", "/audit"]) {
      const page = await visitor.open(site + tab);
      expect([page.notices, page.link("To the settings")]).toEqual([["This site is closed"], `${site}/settings`]);
    }
    // A closed site needs no confirmation.
    expect((await visitor.open(`${site}/close`)).path).toBe(`${site}/settings`);

    const openedPage = await visitor.press(closedPage, "Open this site");
    expect(openedPage.notices).toEqual(["The site was opened."]);
    expect((await world.create({ ranstr: "kept" })).status).toBe(200);
    expect((await siteOf(world)).audit.map(([action]) => action)).toEqual(["site.closed", "site.opened"]);
    const log = await visitor.open(`${site}/audit`);
    for (const text of ["Site closed", "Site opened"]) expect(log.text).toContain(text);
  });

  it("the settings of a site set the next chat_id after a page that shows the jump, and never to an id that was given", async () => {
    const { world, visitor, site } = await start();
    expect(await world.chatId()).toBe(1);
    const form = await visitor.open(`${site}/settings`);
    const askPage = await visitor.press(form, "Set the chat_id…", { "Next chat_id": "5000" });
    expect([askPage.heading, (await siteOf(world)).audit]).toEqual(["Go on at chat_id 5000?", []]);
    expect(askPage.text).toContain(
      "Without this, the next session gets 2 With this, it gets 5000 Numbers that are never given 4,998",
    );
    expect(askPage.link("Cancel")).toBe(`${site}/settings`);
    // Sessions that are opened meanwhile do not change the question.
    expect(await world.chatId()).toBe(2);
    for (const again of [1, 2]) {
      const page = await visitor.press(askPage, "Set the chat_id");
      expect([again, page.notices]).toEqual([again, ["The next chat_id was set."]]);
    }
    expect(await world.chatId()).toBe(5000);
    const before = await siteOf(world);
    expect(before.audit).toEqual([["site.first_chat_id_set", { first_chat_id: 5000, from: 1, to: 5000 }]]);
    const low = await visitor.press(form, "Set the chat_id…", { "Next chat_id": "400" });
    expect([low.status, low.value("Next chat_id"), low.error("Next chat_id")]).toEqual([
      400,
      "400",
      "Must be above 5000, the highest chat_id that the site has given or skipped",
    ]);
    expect(await siteOf(world)).toEqual(before);
    expect((await visitor.open(`${site}/audit`)).text).toContain("First chat_id set");
  });

  it("the settings of a site ask again for the chat_id when somebody else has set it meanwhile", async () => {
    const { world, visitor, site } = await start();
    const text = "Somebody else changed it meanwhile. Nothing was changed now: look at it once more.";
    const askPage = await visitor.open(`${site}/first-chat-id?first_chat_id=500`);
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { first_chat_id: 300 });
    const newForm = await visitor.press(askPage, "Set the chat_id");
    expect([newForm.notices, newForm.heading]).toEqual([[text], "Go on at chat_id 500?"]);
    expect(newForm.text).toContain("the next session gets 300 With this, it gets 500 Numbers that are never given 200");
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { first_chat_id: 900 });
    const low = await visitor.press(newForm, "Set the chat_id");
    expect([low.status, low.link("Next chat_id")]).toEqual([400, "#first_chat_id"]);
    expect(low.text).toContain("Must be above 899");
    expect(await world.chatId()).toBe(900);
  });
});

describe("a change that the directory missed", () => {
  it("a site change that the directory missed counts as made, and is complete when the form is sent again", async () => {
    const { world, visitor } = await start();
    const path = `/console/sites/${world.siteId}/settings`;
    const form = await visitor.open(path);
    const faults = new Faults(({ name }) => (name === "DB.run" ? "before" : undefined));
    const brokenVisitor = visitor.through(world.anotherIsolate({ DB: faultyD1(env.DB, faults) }));
    const failedPage = await brokenVisitor.press(form, "Rename", { Name: "Renamed" });
    expect([failedPage.status, failedPage.heading]).toEqual([
      503,
      "The site is changed, but the list of sites does not show it yet",
    ]);
    expect(await siteOf(world)).toMatchObject({ directory: { name: "Site" }, home: { name: "Renamed" } });
    const pageAgain = await visitor.press(await visitor.open(path), "Rename", { Name: "Renamed" });
    expect(pageAgain.notices).toEqual(["The site was renamed."]);
    expect(await siteOf(world)).toMatchObject({
      directory: { name: "Renamed" },
      audit: [["site.renamed", { from: "Site", to: "Renamed" }]],
    });
  });
});

describe("a change whose answer was lost while another change was made", () => {
  it.each([
    ["en", "Somebody else changed it meanwhile", "Look at it, and send yours again if it is still wanted."],
    ["zh", "其间有其他人更改了它", "若仍需要您的更改，请重新提交。"],
  ])(
    "a site change that was overtaken by another change is explained, and changes nothing more: %s",
    async (language, heading, words) => {
      const { world, visitor } = await start();
      const path = `/console/sites/${world.siteId}/settings`;
      const form = await visitor.open(path);
      const renameTwice = async () => {
        for (const name of ["Theirs", "Theirs too"])
          await world.admin("PATCH", `/admin/sites/${world.siteId}`, { name });
      };
      const { db, commitLate } = lateDb(env.HOME_APAC, "late", renameTwice);
      const brokenVisitor = visitor.through(world.anotherIsolate({ HOME_APAC: db }));
      brokenVisitor.cookies.set("__Host-language", language);
      const refusal = await brokenVisitor.press(form, "Rename", { Name: "Mine" });
      expect([refusal.status, refusal.heading]).toEqual([409, heading]);
      expect(refusal.text).toContain(words);
      await commitLate();
      expect(await siteOf(world)).toMatchObject({ directory: { name: "Theirs too" }, home: { name: "Theirs too" } });
      const pageAgain = await visitor.press(await visitor.open(path), "Rename", { Name: "Mine" });
      expect(pageAgain.notices).toEqual(["The site was renamed."]);
    },
  );
});
