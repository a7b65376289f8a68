import { describe, expect, it } from "vitest";
import { newRequestId } from "../../../src/core/request-id.ts";
import { systemRuntime } from "../../../src/core/runtime.ts";
import { ConsoleVisitor, start } from "../../support/console-visitor.ts";
import { World } from "../../support/world.ts";

describe("a thing that a site does not have", () => {
  it("a page of something that the site does not have keeps the site's tabs and links to the list", async () => {
    const { visitor, site } = await start("main");
    for (const [path, title, all, list] of [
      ["/apps/nothing", "This site has no such app", "All apps", "/apps"],
      ["/agents/999999", "This site has no such agent", "All agents", "/agents"],
      ["/webhooks/nothing", "This site has no such webhook", "All webhooks", "/webhooks"],
      [`/requests/${newRequestId(systemRuntime)}`, "This site knows no such call", "All refused calls", "/refusals"],
      ["/customers/erasures/nothing", "This site has no such erasure", "All customers", "/customers"],
    ] as const) {
      const page = await visitor.open(site + path);
      expect([page.status, page.heading, page.text.includes(title)]).toEqual([404, "Not found", true]);
      expect(page.link(all)).toBe(site + list);
      expect(page.html).toContain(`<a href="${site}${list}" aria-current="page">`);
    }
  });

  it("an unknown page shows nothing of a site without a sign-in, and an unknown site has no tabs", async () => {
    const world = await World.create();
    const signedOutAnswer = await new ConsoleVisitor(world).get(`/console/sites/${world.siteId}/sessions/999999`);
    expect(signedOutAnswer.status).toBe(303);
    const visitor = await ConsoleVisitor.signedIn(world);
    const page = await visitor.open("/console/sites/999999/sessions/1");
    expect([page.status, page.heading, page.html.includes('class="tabs"')]).toEqual([
      404,
      "There is no such page",
      false,
    ]);
  });
});
