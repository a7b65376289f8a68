import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { PERSON_ROLES, type PersonRole, type Role } from "../../../../src/operators/access/role.ts";
import { ADMIN_CALLS } from "../../../../src/operators/admin/calls.ts";
import { CONSOLE_CALLS } from "../../../../src/operators/console/calls.ts";
import { mayByRole } from "../../../../src/operators/console/page-call.ts";
import { ownerActs } from "../../../../src/operators/console/parts/grant.tsx";
import type { Declaration } from "../../../../src/operators/http/call.ts";
import type { AuditAction } from "../../../../src/operators/services/audit.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import { pathOf, prepared } from "../../../support/admin-calls.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import type { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { signedInPerson } from "../../../support/new-person.ts";
import { unfinishSite } from "../../../support/new-site.ts";
import { endSite } from "../../../support/site-end.ts";
import { World } from "../../../support/world.ts";

afterEach(() => void vi.unstubAllGlobals());

/** The walk skips further pages of lists, examples in other languages, and the docs. */
const isElsewhere = (path: string) => /^(?!\/console)|[?&](?:cursor|code)=/.test(path);

/** Whether a link leads from a filtered list to the same list with another filter. The walk skips such links, because there are too many. */
const isRefiltered = (path: string, href: string) => path.includes("?") && path.split("?")[0] === href.split("?")[0];

/** The pattern of a path: its ids are replaced by parameter names. */
const patternOf = (path: string) =>
  CONSOLE_CALLS.find((call) => {
    const pattern = `^/console${call.path === "/" ? "" : call.path.replaceAll(/:\w+/g, "[^/]+")}(\\?|$)`;
    return new RegExp(pattern).test(path);
  })?.path ?? path;

/** The kind of a page. Pages of one kind differ only in what they show, so the walk opens one of them. */
function kindOf(path: string): string {
  const { pathname, searchParams } = new URL(path, "https://worker");
  const [site] = searchParams.size === 0 ? (/\/sites\/\d+/.exec(pathname) ?? []) : [];
  return [site, patternOf(pathname), ...searchParams.keys(), searchParams.get("status")].join(" ");
}

/** Opens a page of each linked kind, beginning at the list of sites and these sites. A redirect counts for its target. */
async function walkPages(visitor: ConsoleVisitor, sites: number[]): Promise<ConsolePage[]> {
  const kinds = new Set<string>();
  const pages: ConsolePage[] = [];
  const pathsLeft = ["/console", ...sites.map((id) => `/console/sites/${id}`)];
  for (let path = pathsLeft.shift(); path !== undefined; path = pathsLeft.shift()) {
    const [, site] = /^\/console\/sites\/(\d+)/.exec(path) ?? [];
    // The database also has sites of other tests.
    if (kinds.has(kindOf(path)) || (site !== undefined && !sites.includes(Number(site)))) continue;
    kinds.add(kindOf(path));
    const page = await visitor.open(path);
    pages.push(page);
    pathsLeft.push(...linksOf(page).filter((href) => !isElsewhere(href) && !isRefiltered(page.path, href)));
  }
  return pages;
}

const linksOf = ({ links }: ConsolePage) => links.map((href) => href.replace(/#.*/, ""));

const mayOf = mayByRole(CONSOLE_CALLS);
const start = async () => prepared(await World.create());

const webhookOf = (world: World) => pathOf({ path: "/sites/:site_id/webhooks/:webhook_id" }, world);

/** States of a site. Each state has other forms and links. */
const LOOKS: Record<string, (world: World) => Promise<unknown>> = {
  "in use": async () => {},
  "closed, without events, its webhook disabled": async (world) => {
    await world.admin("PATCH", webhookOf(world), { status: "disabled" });
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { status: "closed", events: false, retention_days: 30 });
  },
  "being deleted": async (world) => void (await endSite(world)),
  "with overlaps and failed deliveries": async (world) => {
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 3600 });
    await world.admin("POST", `${webhookOf(world)}/rotate`, { overlap_seconds: 3600 });
    const fail = "UPDATE deliveries SET status = 'failed' WHERE site_id = ?";
    await databaseOf(world.home).prepare(fail).bind(world.siteId).run();
  },
  "without its app": ({ home, appid }) =>
    databaseOf(home).prepare("DELETE FROM apps WHERE appid = ?").bind(appid).run(),
  unfinished: unfinishSite,
};

describe("the pages of each role", () => {
  const pagesOf = new Map<PersonRole, ConsolePage[]>();
  const pagesOfOneSite = new Map<PersonRole, ConsolePage[]>();
  let ownSite = 0;

  beforeAll(async () => {
    const worlds: World[] = [];
    for (const change of Object.values(LOOKS)) {
      const world = await start();
      await change(world);
      worlds.push(world);
    }
    const [world] = worlds as [World];
    const sites = worlds.map(({ siteId }) => siteId);
    for (const role of PERSON_ROLES) {
      // Each reader also has another session, which "Your access" can end.
      await visitorWithRole(world, role);
      pagesOf.set(role, await walkPages(await visitorWithRole(world, role), sites));
    }
    ownSite = world.siteId;
    for (const role of ["viewer", "operator"] as const) {
      const { visitor } = await signedInPerson(world, { role, siteId: ownSite });
      pagesOfOneSite.set(role, await walkPages(visitor, [ownSite]));
    }
  });

  it.each(PERSON_ROLES)("a reader with the role %s finds no link and no form that they may not use", (role) => {
    for (const page of pagesOf.get(role) ?? []) {
      expect([page.path, page.status]).toEqual([page.path, 200]);
      const links = linksOf(page).filter((path) => path.startsWith("/console"));
      for (const { method, path } of [...page.forms, ...links.map((path) => ({ method: "GET" as const, path }))]) {
        expect([page.path, method, path, mayOf({ role, onlySite: undefined })(path, method)]).toEqual([
          page.path,
          method,
          path,
          true,
        ]);
      }
    }
  });

  it.each(["viewer", "operator"] as const)(
    "a reader of one site with the role %s finds no link and no form to anything else",
    (role) => {
      const pages = pagesOfOneSite.get(role) ?? [];
      expect(pages.length).toBeGreaterThan(15);
      for (const page of pages) {
        expect([page.path, page.status]).toEqual([page.path, 200]);
        const links = linksOf(page).filter((path) => path.startsWith("/console"));
        for (const { method, path } of [...page.forms, ...links.map((path) => ({ method: "GET" as const, path }))]) {
          const may = mayOf({ role, onlySite: ownSite })(path, method);
          expect([page.path, method, path, may]).toEqual([page.path, method, path, true]);
        }
      }
    },
  );

  it("a viewer finds only forms that change nothing and forms of their own session", () => {
    const posts = (pagesOf.get("viewer") ?? []).flatMap(({ forms }) => forms.filter(({ method }) => method === "POST"));
    const paths = new Set(
      posts.map(({ path }) => path.replace(/[0-9a-f]{16}/, ":session").replace(/\/\d+\//, "/:site_id/")),
    );
    const own = ["/console/access/:session/end", "/console/sign-out"];
    const reading = ["/console/language", "/console/search", "/console/signature-check"];
    expect([...paths].sort()).toEqual([...own, ...reading, "/console/sites/:site_id/customers/find"].sort());
  });

  it("an owner finds links or forms for every call of the console", () => {
    const pages = pagesOf.get("owner") ?? [];
    const offeredPaths = new Set(
      pages.flatMap(({ path, forms }) => [path, ...forms.map((form) => form.path)].map(patternOf)),
    );
    const missedPaths = CONSOLE_CALLS.filter(({ path }) => !offeredPaths.has(path)).map(({ path }) => path);
    // Forms lead to the pages of new secrets, test calls and erasures. A button of the form that exports erases.
    const customers = ["/sites/:site_id/customers/erase", "/sites/:site_id/customers/erasures/:erasure_id"];
    const testResult = "/sites/:site_id/apps/:appid/test/result";
    const formPages = [
      testResult,
      "/sites/:site_id/apps/:appid/secret",
      "/sites/:site_id/webhooks/:webhook_id/secret",
      ...customers,
    ];
    expect([...new Set(missedPaths)].sort()).toEqual(["/sign-in", ...formPages].sort());
  });
});

describe("what a role may", () => {
  it.each<[Role | undefined, string, "GET" | "POST", boolean]>([
    [undefined, "/console", "GET", false],
    [undefined, "/console/language", "POST", true],
    ["viewer", "/console", "GET", true],
    ["viewer", "/console/sites", "POST", false],
    ["operator", "/console/sites", "POST", true],
    ["operator", "/console/sites/1/settings?draft=1#name", "POST", true],
    ["operator", "/console/homes/main/restored", "POST", false],
    ["owner", "/console/homes/main/restored", "POST", true],
    ["owner", "/console/nothing", "GET", false],
    ["owner", "/console/sites/1/2/close", "POST", false],
  ])("the declaration of a call decides what a role may do: %s, %s %s", (role, path, method, may) => {
    expect(mayOf(role && { role, onlySite: undefined })(path, method)).toBe(may);
  });
});

describe("what a reader of one site may", () => {
  it.each<[string, "GET" | "POST", boolean]>([
    ["/console", "GET", true],
    ["/console/access", "GET", true],
    ["/console/signature-check", "POST", true],
    ["/console/sites/7/settings", "GET", true],
    ["/console/sites/7/settings", "POST", true],
    ["/console/sites/77/settings", "GET", false],
    ["/console/sites", "POST", false],
    ["/console/homes", "GET", false],
    ["/console/sites/7/delete", "POST", false],
  ])("the scope of a call decides what an operator of site 7 may do: %s, %s", (path, method, may) => {
    expect(mayOf({ role: "operator", onlySite: 7 })(path, method)).toBe(may);
  });
});

describe("what an owner may do, in words", () => {
  it('the page "Your access" describes every audit action that only owners can cause', () => {
    const calls: readonly Declaration[] = [...CONSOLE_CALLS, ...ADMIN_CALLS];
    const acts = calls.filter(({ role }) => role === "owner").flatMap(({ audit }) => audit as readonly AuditAction[]);
    const listedActions = ownerActs({ t: (english) => english }).flatMap(([, ...actions]) => actions);
    expect(acts.length).toBeGreaterThan(5);
    expect(acts.filter((action) => !listedActions.includes(action))).toEqual([]);
  });
});

describe("an address that needs a higher role", () => {
  it("a page above the reader's role names the needed role and the reader, and says that a form changed nothing", async () => {
    const world = await start();
    const visitor = await visitorWithRole(world, "viewer", "ada@example.com");
    const page = await visitor.open(`/console/sites/${world.siteId}/close`);
    expect([page.status, page.heading]).toEqual([403, "Your role does not allow this"]);
    expect(page.text).toContain("It needs the role operator or higher. You are ada@example.com, with the role viewer.");
    expect(page.text).not.toContain("Nothing was changed");
    expect(await (await visitor.post(page.path, {})).text()).toContain("Nothing was changed.");
    visitor.cookies.set("__Host-language", "zh");
    const inChinese = await visitor.open(`/console/sites/${world.siteId}/close`);
    expect(inChinese.text).toMatch(/ada@example\.com.*查看者/);
  });
});

describe("an operator", () => {
  it("an operator finds no field for the chat_id of a site, which only owners may set", async () => {
    const world = await start();
    const labels = ["First chat_id", "Next chat_id"];
    for (const role of ["owner", "operator"] as const) {
      const visitor = await visitorWithRole(world, role);
      const pages = [await visitor.open("/console"), await visitor.open(`/console/sites/${world.siteId}/settings`)];
      expect(pages.map(({ html }, i) => html.includes(`${labels[i]}<`))).toEqual(Array(2).fill(role === "owner"));
    }
    const operator = await visitorWithRole(world, "operator");
    const form = await operator.open("/console");
    const token = /name="form" value="([^"]+)"/.exec(form.html)?.[1] ?? "";
    const forged = await operator.post("/console/sites", { form: token, name: "N", first_chat_id: "9" });
    expect([forged.status, await forged.text()]).toEqual([
      403,
      expect.stringContaining("Your role does not allow this"),
    ]);
  });
});

describe("a viewer", () => {
  it("a viewer sees the settings of a site as facts without forms", async () => {
    const world = await start();
    const page = await (await visitorWithRole(world, "viewer")).open(`/console/sites/${world.siteId}/settings`);
    expect(page.text).toMatch(
      /Name .* Status Open First chat_id \d+ Events On How long sessions are kept For ever Created/,
    );
  });
});
