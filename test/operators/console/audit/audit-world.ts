import { drizzle } from "drizzle-orm/d1";
import { auditLog } from "../../../../src/operators/store/operator-schema.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { NOW, World } from "../../../support/world.ts";

export type Row = typeof auditLog.$inferInsert;

/** A site whose audit log has only these rows, oldest first. */
export async function start(...rows: Partial<Row>[]) {
  const world = await World.create({ HOME_APAC: undefined });
  const visitor = await ConsoleVisitor.signedIn(world);
  await databaseOf("main").prepare("DELETE FROM audit_log WHERE site_id = ?").bind(world.siteId).run();
  for (const row of rows) {
    const entry = { at: NOW, actor: "console", action: "agent.renamed", subject: "1", details: "{}", ...row } as const;
    await drizzle(databaseOf("main"))
      .insert(auditLog)
      .values({ siteId: world.siteId, ...entry });
  }
  return { world, visitor, path: `/console/sites/${world.siteId}/audit` };
}
