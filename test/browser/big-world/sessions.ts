import { SHOWN } from "../shown-time.ts";
import type { SeededAgent } from "./agents.ts";
import { insertRows, pick, range, requestIdAt } from "./rows.ts";

/** Names of customers. Some of them would break a careless page. */
const CUSTOMERS = [
  "Mei Tanaka",
  "Luca Moretti",
  "周明",
  "Nadia Haddad",
  "Tom Becker",
  "Zoë Åkesson",
  "Íñigo Álvarez",
  "أمينة الزهراني",
  "<script>alert(1)</script>",
  "W".repeat(30),
  "O'Connor & Söhne",
  "רחל לוי",
  "🦊 Fox",
  "李",
];

/** Titles from visitors or agents. Undefined means that the session has only its automatic title. */
const TITLES = [
  "Parcel not received",
  "Refund for order 20418",
  "我的订单在哪里",
  undefined,
  `A title of 120 letters, such as people write who put the whole story of their order into the one line they are given, ok`,
  "Charger does not charge",
  "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunter".padEnd(120, "W"),
  "لم يصل الطرد بعد، أين هو؟",
  undefined,
  `<script>document.title = "ran"</script>`,
  "😀 Thank you! 🎉🎉",
  "订单 20433 一直显示处理中，请帮忙看一下，已经等了三天了，还没有任何更新，客服电话也打不通",
  "Invoice 2026-10-0931",
  "התשלום נכשל פעמיים",
];

const CONTENTS = [
  "The parcel says delivered, but nothing is here. Could you check with the courier?",
  "Your refund of €48.20 was sent today and arrives in two to three working days.",
  "您好，我的订单一直显示处理中，请帮忙看一下。订单号 20433。",
  "The invoice for October has the wrong VAT number. Can it be issued again?\n\nOurs is DE 811 907 980.",
  "We have replaced the charger free of charge; the tracking number follows by mail.",
  "ok",
];

export const SESSIONS = 300;

/** The ids of sessions that show something special. */
export const OF_NOTE = { crowded: 297, metadata: 295, long: 285, script: 290, quiet: 3 } as const;

/** How long ago session `id` was opened: the newest within the hour, the oldest two weeks ago. */
const secondsAgo = (id: number) => Math.round(240 + ((SESSIONS - id) / SESSIONS) ** 1.5 * 14 * 86_400);

export const openedAt = (id: number) => SHOWN - secondsAgo(id);

/** @param appids the apps that opened the sessions, the busiest first */
export async function seedSessions(
  db: D1Database,
  siteId: number,
  appids: readonly string[],
  agents: readonly SeededAgent[],
): Promise<void> {
  const ids = range(SESSIONS).map((index) => index + 1);
  const ofSite = { site_id: siteId };
  const customers = range(120).map((index) => ({
    ...ofSite,
    external_id: customerOf(index),
    name: pick(CUSTOMERS, index),
    ip: `203.0.113.${index + 1}`,
    created_at: SHOWN - 20 * 86_400,
    updated_at: SHOWN - 86_400,
  }));
  await insertRows(db, "customers", customers);
  await insertRows(
    db,
    "sessions",
    ids.map((id) => ({
      ...ofSite,
      id,
      appid: pick(appids, Math.floor(((id * 7) % 10) / 4)),
      kind: "ticket",
      customer_external_id: customerOf(id % 120),
      responsible_agent_id: pick(agents, id).id,
      status: id % 3 === 0 ? "replied" : "waiting",
      visitor_title: id % 4 === 1 ? (pick(TITLES, id) ?? null) : null,
      agent_title: id % 4 === 1 ? null : (pick(TITLES, id) ?? null),
      auto_title: autoTitleOf(id),
      created_at: openedAt(id),
      request_id: id < 20 ? null : requestIdAt(openedAt(id), `session ${id}`),
      metadata: id === OF_NOTE.metadata ? JSON.stringify(METADATA) : null,
    })),
  );
  await insertRows(
    db,
    "participants",
    ids.flatMap((id) =>
      range(id === OF_NOTE.crowded ? 80 : 1 + (id % 3)).map((index) => ({
        ...ofSite,
        session_id: id,
        agent_id: pick(agents, id + index).id,
        added_by: pick(agents, id).id,
        added_at: openedAt(id) + (index > 1 ? 60 : 0),
      })),
    ),
  );
  await insertRows(
    db,
    "messages",
    ids.flatMap((id) => {
      const messages = range(id === OF_NOTE.metadata ? 9 : id % 5 === 0 ? 3 : 1);
      return messages.map((index) => {
        const isVisitor = (id + index) % 2 === 0;
        return {
          ...ofSite,
          session_id: id,
          seq: index + 1,
          sender: isVisitor ? "visitor" : "agent",
          sender_uid: isVisitor ? null : pick(agents, id).id,
          content: pick(CONTENTS, id + index),
          created_at: openedAt(id) + index * 20,
        };
      });
    }),
  );
}

/** A customer's id, from the caller's own system. */
export const customerOf = (index: number): string =>
  index === LONG_ID ? "a".repeat(64) : `customer_${String(index + 1).padStart(3, "0")}`;

/** The index of the customer whose id has the maximum length. */
const LONG_ID = 55;

const autoTitleOf = (id: number) => {
  const [line = ""] = pick(CONTENTS, id).split("\n");
  return line.length > 40 ? `${line.slice(0, 39).trimEnd()}…` : line;
};

const METADATA = {
  order: "20433",
  channel: "whatsapp",
  "utm_source-of-the-campaign": "newsletter-2026-11",
  note: "Prefers to be called after six in the evening, speaks Arabic and French, has two open orders",
  语言: "中文",
};
