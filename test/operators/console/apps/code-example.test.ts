import { beforeAll, describe, expect, it } from "vitest";
import { PROGRAMS } from "../../../../src/operators/console/apps/code-example.tsx";
import { CALLERS } from "../../../../src/tools/docs/programs.ts";
import { start } from "../../../support/console-visitor.ts";

/** The program on an app's page, for the author of its caller. */

const SOURCES = Object.fromEntries(
  Object.entries(
    import.meta.glob("../../../../src/client/examples/[Cc]reate*", { query: "?raw", import: "default", eager: true }),
  ).map(([path, text]) => [path.replace(/.*\//, ""), String(text)]),
);

describe("the program on an app's page", () => {
  let started: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    started = await start();
  });

  it("an app's page offers each program of the docs that opens a session, in the same order", () => {
    expect(Object.values(PROGRAMS)).toEqual(CALLERS.map(({ file, language, run }) => ({ file, language, run })));
    expect(Object.keys(SOURCES).sort()).toEqual(CALLERS.map(({ file }) => file).sort());
  });

  it.each(Object.entries(PROGRAMS))(
    "an app's page shows the whole example for %s, with the settings of this app",
    async (code, program) => {
      const { world, visitor, app } = started;
      const page = await visitor.open(`${app}?code=${code}`);
      expect(page.code("commands").split("\n")).toEqual([
        `curl -O https://worker/docs/examples/${program.file}`,
        `read -rs SECRET && export SECRET && BASE_URL=https://worker APPID=${world.appid} AGENT_ID=1 ${program.run}`,
      ]);
      const source = SOURCES[program.file] ?? "";
      const usage = /BASE_URL=\S+ APPID=\S+ SECRET=(\S+) AGENT_ID=\S+/;
      expect(source).toMatch(usage);
      expect(page.code("source")).toBe(
        source.replace(
          usage,
          (_, secret) => `BASE_URL=https://worker APPID=${world.appid} SECRET=${secret} AGENT_ID=1`,
        ),
      );
    },
  );

  it("an app's page remembers the programming language, also on another app's page", async () => {
    const { world, visitor, site, app } = await start();
    expect((await visitor.open(app)).html).toContain("create-session.sh");
    await visitor.open(`${app}?code=python`);
    const { appid } = await (await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Other" })).json<{
      appid: string;
    }>();
    const other = await visitor.open(`${site}/apps/${appid}`);
    expect(other.html).toContain("create-session.py");
    expect(other.html).not.toContain("create-session.sh");
    expect((await visitor.open(`${app}?code=cobol`)).html).toContain("create-session.py");
  });

  it("the program below a new secret does not contain it, and another programming language keeps the secret shown", async () => {
    const { visitor, site } = await start();
    const madePage = await visitor.press(await visitor.open(`${site}/apps`), "Issue app", { Name: "Shop" });
    const secret = madePage.code("secret");
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    const appid = madePage.code("appid");
    expect(madePage.code("commands")).toContain(`APPID=${appid}`);
    const go = await visitor.open(madePage.link("Go").replace(/#.*/, ""));
    expect(go.code("secret")).toBe(secret);
    expect(go.code("source")).toContain("package main");
    expect(go.html.split(secret)).toHaveLength(2);
  });

  it("an app's page says that no agent is enabled, and a revoked app has no program", async () => {
    const { world, visitor, site, app } = await start();
    for (const id of [1, 2, 3])
      await world.admin("PATCH", `/admin/sites/${world.siteId}/agents/${id}`, { status: "disabled" });
    const page = await visitor.open(app);
    expect(page.text).toContain("No agent is enabled, so no session can be opened yet.");
    expect(page.link("To the agents")).toBe(`${site}/agents`);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    expect((await visitor.open(app)).html).not.toContain('id="commands"');
  });
});
