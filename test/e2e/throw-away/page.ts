import type { Step } from "./step.ts";

/** The page `/console/sites/:site_id/throw-away`, by the steps in CONTRIBUTING.md. It only tries the recipe, in a copy of the tree. */
export const PAGE: Step[] = [
  {
    file: "src/operators/console/agents/throw-away-page.tsx",
    red: "types",
    text: `import { searchAgents } from "../../services/agents.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { MoreLink } from "../parts/list.tsx";
import { AgentTable } from "./agent-page.tsx";

export async function throwAwayPage(c: PageContext, site: Site): Promise<Response> {
  const view = c.var.view;
  const path = \`/console/sites/\${site.id}/throw-away\`;
  const input = { site, status: "disabled" as const, cursor: c.req.query("cursor"), limit: 50 };
  const agents = await searchAgents(c.var.ctx, input);
  const body = (
    <>
      <AgentTable siteId={site.id} agents={agents.items} empty={view.t("All agents are enabled.")} />
      <MoreLink path={path} query={{}} cursor={agents.nextCursor} />
    </>
  );
  return showPage(c, { title: view.t("Agents out of work"), site: { ...site, tab: "agents" }, back: path, body });
}
`,
  },
  {
    file: "src/operators/console/calls.ts",
    red: "test/operators/console/agents/throw-away-page",
    find: /(import \{ agentsPage,.*?\n)(.*?)( {2}page\("viewer", "\/sites\/:site_id\/agents",)/s,
    replace: `$1import { throwAwayPage } from "./agents/throw-away-page.tsx";
$2  page("viewer", "/sites/:site_id/throw-away", throwAwayPage),
$3`,
  },
  {
    file: "src/operators/console/agents/agents-page.tsx",
    red: "test/operators/console/agents/throw-away-page",
    find: /const body = \(\n( {4}<List\n.*?\n {4}\/>)\n/s,
    replace: `const body = (
    <>
$1
      <p>
        <a href={\`/console/sites/\${site.id}/throw-away\`}>{t("Agents out of work")}</a>
      </p>
    </>
`,
  },
  {
    file: "src/assets/console/zh.json",
    red: "test/operators/console/language",
    find: /^\{\n/,
    replace: `{
  "Agents out of work": "已停用的客服",
  "All agents are enabled.": "所有客服都已启用。",
`,
  },
  {
    file: "test/operators/console/agents/throw-away-page.test.ts",
    red: "test/operators/console/pictures",
    text: `import { expect, it } from "vitest";
import { start } from "../../../support/console-visitor.ts";

it("the page of disabled agents is linked from the list of agents, and has no other agent", async () => {
  const { world, visitor, site } = await start("main");
  await world.admin("PATCH", \`/admin/sites/\${world.siteId}/agents/2\`, { status: "disabled" });
  const page = await visitor.open((await visitor.open(\`\${site}/agents\`)).link("Agents out of work"));
  expect(page.path).toBe(\`\${site}/throw-away\`);
  expect([page.text.includes("Agent 2"), page.text.includes("Agent 1")]).toEqual([true, false]);
});
`,
  },
];
