import { drizzle } from "drizzle-orm/d1";
import { customers, sessions } from "../../../../src/core/store/schema.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import type { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import type { Site } from "../../../support/new-site.ts";
import { NOW } from "../../../support/world.ts";

/** Sends the search box, from a page of a site when one is given, and follows redirects to the last page. */
export async function searched(visitor: ConsoleVisitor, q: string, site?: number): Promise<ConsolePage> {
  const path = "/console/search";
  const fields = { q, ...(site !== undefined && { site: String(site) }) };
  return visitor.follow(await visitor.post(path, fields), path);
}

/** The links of a page that begin with `path`, each once. */
export const linksTo = (page: ConsolePage, path: string): string[] => [
  ...new Set(page.links.filter((href) => href.startsWith(path))),
];

type SessionValues = Partial<typeof sessions.$inferInsert>;

/** Stores a session with these columns, and its customer. */
export async function newSession({ siteId, home, appid }: Site, id: number, values: SessionValues = {}): Promise<void> {
  const store = drizzle(databaseOf(home));
  const customerExternalId = values.customerExternalId ?? "c1";
  const customer = { siteId, externalId: customerExternalId, name: "Ada", ip: "", createdAt: NOW, updatedAt: NOW };
  const row = { siteId, id, appid, kind: "chat", status: "waiting", autoTitle: "Hello", createdAt: NOW } as const;
  await store.batch([
    store.insert(customers).values(customer).onConflictDoNothing(),
    store.insert(sessions).values({ ...row, ...values, customerExternalId }),
  ]);
}
