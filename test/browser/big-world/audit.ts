import { SHOWN } from "../shown-time.ts";
import { digits, insertRows, pick, range, requestIdAt } from "./rows.ts";

const HOUR = 3_600;

const WHO = [
  { who_kind: "person", who_id: "amara.okafor@northwind.example", who_name: "amara.okafor@northwind.example" },
  { who_kind: "root", who_id: "root", who_name: "ADMIN_TOKEN" },
  { who_kind: "token", who_id: `tok_${digits("deployments")}`, who_name: "Deployments" },
  {
    who_kind: "person",
    who_id: "bartholomew.montgomery-featherstonehaugh@northwind-customer-care.example",
    who_name: "bartholomew.montgomery-featherstonehaugh@northwind-customer-care.example",
  },
  { who_kind: "person", who_id: "linxiaowen@northwind.example", who_name: "linxiaowen@northwind.example" },
];

/** The person whose rows of yesterday a test looks for. */
export const YESTERDAY = "amara.okafor@northwind.example";

type WrittenAuditRow = [action: string, subject: string, details: Record<string, unknown>];

/**
 * Makes 400 rows of three weeks. They are older than the rows of the calls that filled the world.
 *
 * @param of the subjects of the rows
 */
export async function seedAudit(
  db: D1Database,
  siteId: number,
  of: { appids: readonly string[]; webhooks: readonly string[] },
): Promise<void> {
  // Lists are in the order of the ids, so the rows of earlier calls get higher ids.
  await db.exec("UPDATE audit_log SET id = -id");
  await db.exec("UPDATE audit_log SET id = 100000 - id");
  const webhook = (index: number) => pick(of.webhooks, index);
  const app = (index: number) => pick(of.appids, index);
  const kinds: ((index: number) => WrittenAuditRow)[] = [
    (i) => ["agent.disabled", String(10_401 + (i % 150)), { from: "normal", to: "disabled" }],
    (i) => ["agent.enabled", String(10_401 + (i % 150)), { from: "disabled", to: "normal" }],
    (i) => ["app.rotated", app(i), { previous_expires_at: SHOWN - i * HOUR + 86_400 }],
    (i) => [
      "webhook.redelivered",
      webhook(i),
      { status: ["failed", "missed"], since: SHOWN - i * HOUR, queued: 40 + i },
    ],
    (i) => ["agent.renamed", String(10_401 + (i % 150)), { from: "Ana Souza", to: "Ana Souza-Lindqvist" }],
    (i) => ["agent.added", String(10_401 + (i % 150)), { name: "Ines Rossi" }],
    () => ["operator.signed_in", "root", {}],
    (i) => ["webhook.disabled", webhook(i), { reason: "failing" }],
    () => ["site.renamed", String(siteId), { from: "Northwind", to: "Northwind Store" }],
    (i) => ["webhook.pinged", webhook(i), {}],
    () => ["root.read", "root", { count: 12 }],
    (i) => ["app.overlap_ended", app(i), {}],
  ];
  const rows = range(400).map((index) => {
    const at = SHOWN - 600 - Math.round(index ** 1.3 * 720);
    const [action, subject, details] = pick(kinds, index)(index);
    const byWorker = action === "webhook.disabled";
    return {
      id: 1_000 - index,
      site_id: /^(operator|root)/.test(action) ? null : siteId,
      at,
      actor: byWorker ? "worker" : index % 5 === 2 ? "admin-api" : "console",
      action,
      subject,
      details: JSON.stringify(details),
      request_id: byWorker ? null : requestIdAt(at, `audit ${index}`),
      ...(byWorker ? { who_kind: null, who_id: null, who_name: null } : pick(WHO, index)),
      address: byWorker ? null : `198.51.100.${(index % 2) * 128}/24`,
    };
  });
  await insertRows(db, "audit_log", rows);
}
