import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type AgentStatus, updateAgent } from "../../../../src/operators/store/home/agents.ts";
import { auditOf } from "../../../support/audit-of.ts";
import { NOW, runtimeAt } from "../../../support/test-runtime.ts";
import { World } from "../../../support/world.ts";

const runtime = runtimeAt(() => NOW * 1000);
const author = { actor: "admin-api", now: NOW, requestId: "a call", who: null, address: null } as const;

/** Changes the second agent of a new site, one change after another. */
async function applyChanges(...changes: { name?: string; status?: AgentStatus }[]) {
  const { siteId } = await World.create();
  const key = { siteId, id: 2 };
  let agent: unknown;
  for (const change of changes) {
    agent = await updateAgent(runtime, env.DB, key, change, author, runtime.elapsed() + 10_000);
  }
  const entries = (await auditOf("2")).filter((entry) => entry.siteId === siteId && entry.action.startsWith("agent."));
  return { agent, entries: entries.map(({ action, details }) => [action, details]) };
}

describe("changing an agent", () => {
  it("a renamed agent stays disabled, and the audit log has both names", async () => {
    expect(await applyChanges({ status: "disabled" }, { name: "Ada" })).toMatchObject({
      agent: { id: 2, name: "Ada", status: "disabled" },
      entries: [
        ["agent.disabled", {}],
        ["agent.renamed", { from: "Agent 2", to: "Ada" }],
      ],
    });
  });

  it("a disabled or enabled agent keeps its name, and the audit log has the name and both statuses", async () => {
    expect(await applyChanges({ name: "Ada" }, { status: "disabled" }, { status: "normal" })).toEqual({
      agent: { id: 2, name: "Ada", status: "normal" },
      entries: [
        ["agent.renamed", { from: "Agent 2", to: "Ada" }],
        ["agent.disabled", { name: "Ada", from: "normal", to: "disabled" }],
        ["agent.enabled", { name: "Ada", from: "disabled", to: "normal" }],
      ],
    });
  });
});
