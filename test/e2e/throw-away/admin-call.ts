import type { Step } from "./step.ts";

/** The call `POST /admin/sites/:site_id/agents/:id/disable`, by the steps in CONTRIBUTING.md. It only tries the recipe, in a copy of the tree. */
export const ADMIN_CALL: Step[] = [
  {
    file: "src/operators/services/agents.ts",
    red: "types",
    find: /\};?\n$/,
    replace: `$&
/** Disables an agent. @throws ServiceError as {@link changeAgent} does */
export const disableAgent = (ctx: ServiceContext, which: { site: Site; id: number }): Promise<Agent> =>
  changeAgent(ctx, { ...which, change: { status: "disabled" } });
`,
  },
  {
    file: "src/operators/admin/agents/disable-agent.ts",
    red: "types",
    text: `import { pathId } from "../../http/path-id.ts";
import { disableAgent } from "../../services/agents.ts";
import { agentUnknown } from "../../services/refusals.ts";
import { adminCall } from "../admin-call.ts";
import type { CallDocumentation } from "../words.ts";
import { agent, agentSchema } from "./agent.ts";

export default adminCall(
  {
    id: "disableAgent",
    method: "post",
    path: "/sites/:site_id/agents/:id/disable",
    role: "operator",
    scope: "site",
    audit: ["agent.disabled"],
    response: agentSchema,
  },
  (c, { site }) => disableAgent(c.var.ctx, { site, id: pathId(c, "id", agentUnknown) }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Disable an agent",
  chinese: "停用一名客服",
  response: agent(),
  answered: "The agent as it is now.",
});
`,
  },
  {
    file: "src/operators/admin/calls.ts",
    red: "test/operators/admin/lists",
    find: /(import changeAgent,.*?\n)(.*\n {2}changeAgent,\n)(.*\n {2}changeAgent: .*?\n)/s,
    replace: `$1import disableAgent, { documentation as disableAgentDocumentation } from "./agents/disable-agent.ts";
$2  disableAgent,
$3  disableAgent: disableAgentDocumentation,
`,
  },
  {
    file: "test/operators/admin/disable-agent.test.ts",
    red: "test/operators/admin/lists",
    text: `import { describe, expect, it } from "vitest";
import { call } from "../../support/admin-calls.ts";
import { World } from "../../support/world.ts";

describe("POST /admin/sites/:site_id/agents/:id/disable", () => {
  it("disables the agent, so that a session with it is refused", async () => {
    const world = await World.create();
    const answer = await call(world, "POST", \`/admin/sites/\${world.siteId}/agents/1/disable\`);
    expect(answer).toMatchObject({ status: 200, body: { id: 1, status: "disabled" } });
    expect((await world.create()).status).toBe(400);
  });

  it("is 404 for an agent that the site does not have", async () => {
    const world = await World.create();
    expect((await call(world, "POST", \`/admin/sites/\${world.siteId}/agents/99/disable\`)).status).toBe(404);
  });
});
`,
  },
];
