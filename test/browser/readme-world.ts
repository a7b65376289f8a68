import { AgentSessionClient } from "../../src/client/client.ts";
import type { BuiltWorker } from "../support/built-worker.ts";
import { digits } from "./big-world/rows.ts";
import { SHOWN } from "./shown-time.ts";

const AGENTS = [
  { id: 10411, name: "Amara Okafor" },
  { id: 10427, name: "Jonas Lindqvist" },
  { id: 10428, name: "林晓雯" },
  { id: 10436, name: "Priya Raman" },
];

const SESSIONS = [
  [
    "customer_001",
    "Mei Tanaka",
    "The parcel says delivered, but nothing is here. Could you check with the courier?",
    "Parcel not received",
    1,
  ],
  [
    "customer_002",
    "Luca Moretti",
    "Your refund of €48.20 was sent today and arrives in two to three working days.",
    "Refund for order 20418",
    2,
  ],
  ["customer_003", "周明", "您好，我的订单一直显示处理中，请帮忙看一下。订单号 20433。", "订单处理中", 1],
  [
    "customer_001",
    "Mei Tanaka",
    "Address changed at the customer's request: 4-2-8 Shibakoen, Minato-ku.",
    "Address change",
    3,
  ],
  [
    "customer_004",
    "Nadia Haddad",
    "The invoice for October has the wrong VAT number. Can it be issued again?\n\nOurs is DE 811 907 980.",
    "Invoice 2026-10-0931",
    1,
  ],
  [
    "customer_005",
    "Tom Becker",
    "We have replaced the charger free of charge; the tracking number follows by mail.",
    "Charger does not charge",
    2,
  ],
] as const;

/** Fills a small site for the README's pictures. Its ids and times are the same on each run. */
export async function seedReadmeWorld(worker: BuiltWorker) {
  const site = await worker.admin<{ id: number }>("POST", "/admin/sites", { name: "Northwind Store" });
  await worker.admin("POST", "/admin/sites", { name: "Southwind Outlet" });
  for (const agent of AGENTS) await worker.admin("POST", `/admin/sites/${site.id}/agents`, agent);
  await worker.admin("PATCH", `/admin/sites/${site.id}/agents/10436`, { status: "disabled" });
  const issue = (name: string) => {
    const appid = digits(name);
    const app = { name, appid, secret: `secret of ${appid}, for pictures only` };
    return worker.admin<{ appid: string; secret: string }>("POST", `/admin/sites/${site.id}/apps`, app);
  };
  const app = await issue("Shop back end");
  const old = await issue("Warehouse");
  await worker.admin("DELETE", `/admin/apps/${(await issue("Old CRM")).appid}`);
  await worker.admin("POST", `/admin/apps/${old.appid}/rotate`, { overlap_seconds: 86_400 });
  const client = new AgentSessionClient({ baseUrl: worker.url, ...app });
  for (const [index, [sbs, sbs_mc, content, title, sender_type]] of SESSIONS.entries()) {
    const kefu_id = [10411, 10427, 10428].slice(index % 2);
    const { envelope } = await client.send("create_gd", {
      timestamp: SHOWN,
      sbs,
      sbs_mc,
      ip: `203.0.113.${10 + index}`,
      content,
      title,
      sender_type,
      kefu_id,
      fzr_uid: kefu_id[0],
    });
    if (envelope.code !== 1) throw new Error(`session ${index + 1} was refused: ${envelope.msg}`);
  }
  return { site: `/console/sites/${site.id}`, app };
}
