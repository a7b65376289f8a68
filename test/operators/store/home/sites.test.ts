import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { selectHomeSite, updateHomeSite } from "../../../../src/operators/store/home/sites.ts";
import { NOW, runtimeAt } from "../../../support/test-runtime.ts";
import { World } from "../../../support/world.ts";

const author = { actor: "admin-api", now: NOW, requestId: "a call", who: null, address: null } as const;

it.each<["open" | "closed", Parameters<typeof updateHomeSite>[3]]>([
  ["closed", { name: "New" }],
  ["closed", { chatIdFloor: 99 }],
  ["closed", { events: false }],
  ["closed", { retentionDays: 5 }],
  ["closed", { status: "open" }],
  ["open", { status: "closed" }],
])("the change of a site that is %s by %j changes nothing else", async (status, change) => {
  const { siteId } = await World.create();
  await env.DB.prepare(
    "UPDATE home_sites SET status = ?, events = 1, retention_days = 30, chat_id_floor = 9 WHERE site_id = ?",
  )
    .bind(status, siteId)
    .run();
  const before = await selectHomeSite(env.DB, siteId);
  if (before === undefined) throw new Error("the site is not there");
  await updateHomeSite(
    runtimeAt(() => NOW * 1000),
    env.DB,
    { ...before, home: "main" },
    change,
    author,
  );
  expect(await selectHomeSite(env.DB, siteId)).toEqual({ ...before, ...change, revision: before.revision + 1 });
});
