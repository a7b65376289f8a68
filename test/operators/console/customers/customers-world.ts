import type { ConsolePage } from "../../../support/console-page.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import type { ReplacedBindings } from "../../../support/isolate.ts";
import { NOW, World } from "../../../support/world.ts";

/** A signed-in owner, and the path of the customers' pages. */
export async function start(home = "apac", bindings: ReplacedBindings = {}) {
  const world = await World.create(bindings, home);
  const visitor = await ConsoleVisitor.signedIn(world);
  return { world, visitor, path: `/console/sites/${world.siteId}/customers` };
}

/** The label of the field that finds a customer. */
export const SBS = "Name begins with, or exact customer id";

/** The customer's page, found from the list of customers, or the list with an error. */
export const findCustomerPage = async (visitor: ConsoleVisitor, path: string, sbs: string): Promise<ConsolePage> =>
  visitor.follow(await visitor.post(`${path}/find`, { sbs }), path);

/** The page that asks before it erases this customer. */
export const askedToErase = async (visitor: ConsoleVisitor, path: string, sbs: string): Promise<ConsolePage> =>
  visitor.press(await findCustomerPage(visitor, path, sbs), "Erase this customer…");

/** Stores many sessions of one customer, with a message each. @returns their chat ids */
export async function manySessions({ home, siteId, appid }: World, sbs: string, count: number): Promise<number[]> {
  const db = databaseOf(home);
  const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)";
  await db.batch([
    db
      .prepare(
        "INSERT INTO customers (site_id, external_id, name, ip, created_at, updated_at) VALUES (?1, ?2, 'Many', '127.0.0.1', ?3, ?3)",
      )
      .bind(siteId, sbs, NOW),
    db
      .prepare(
        `${numbers} INSERT INTO sessions (id, site_id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at)
         SELECT i, ?1, ?3, 'ticket', ?4, 1, 'waiting', '', ?5 FROM n`,
      )
      .bind(siteId, count, appid, sbs, NOW),
    db
      .prepare(
        `${numbers} INSERT INTO messages (site_id, session_id, seq, sender, sender_uid, content, created_at)
         SELECT ?1, i, 1, 'visitor', NULL, 'said ' || i, ?3 FROM n`,
      )
      .bind(siteId, count, NOW),
  ]);
  return Array.from({ length: count }, (_, at) => at + 1);
}

/** Stores customers with a session each: `id-000001` with the name `Name 000001`, and so on. @param first of their numbers */
export async function manyCustomers({ home, siteId, appid }: World, first: number, count: number): Promise<void> {
  const db = databaseOf(home);
  const numbers = `WITH RECURSIVE n(i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${first + count - 1})`;
  await db.batch([
    db
      .prepare(
        `${numbers} INSERT INTO customers (site_id, external_id, name, ip, created_at, updated_at)
         SELECT ?1, format('id-%06d', i), format('Name %06d', i), '127.0.0.1', ?2, ?2 FROM n`,
      )
      .bind(siteId, NOW),
    db
      .prepare(
        `${numbers} INSERT INTO sessions (id, site_id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at)
         SELECT i, ?1, ?2, 'ticket', format('id-%06d', i), 1, 'waiting', '', ?3 FROM n`,
      )
      .bind(siteId, appid, NOW),
  ]);
}

/** A visitor that records every address that was requested or redirected to. */
export function watchVisitor(world: World): { visitor: ConsoleVisitor; addresses: string[] } {
  const addresses: string[] = [];
  const visitor = new ConsoleVisitor({
    fetch: async (request: Request) => {
      addresses.push(request.url);
      const answer = await world.fetch(request);
      addresses.push(answer.headers.get("location") ?? "");
      return answer;
    },
  });
  return { visitor, addresses };
}

/** The rows of the audit log about customers: action, subject and details. */
export async function auditRows(world: World): Promise<[string, string, Record<string, unknown>][]> {
  const { audit } = await world.operated();
  return audit
    .filter(({ action }) => String(action).startsWith("customer."))
    .map(({ action, subject, details }) => [String(action), String(subject), JSON.parse(String(details))]);
}
