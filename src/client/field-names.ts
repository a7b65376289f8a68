import type { OperationName } from "./operations.ts";

/** This client's names for fields, by their names on the wire. A field that is missing here has the same name on the wire. */
export type OwnNames = Readonly<Record<string, string>>;

export const OWN_NAMES = {
  create_gd: {
    sbs: "customer.id",
    sbs_mc: "customer.name",
    ip: "customer.ip",
    kefu_id: "agentIds",
    fzr_uid: "responsibleAgentId",
    sender_type: "sender",
    "Idempotency-Key": "idempotencyKey",
  },
  add_kf: { chat_id: "chatId", kefu_ids: "agentIds", "Idempotency-Key": "idempotencyKey" },
} as const satisfies Partial<Record<OperationName, OwnNames>>;

/** `kefu_id.3: …; fzr_uid: must be one of kefu_id` → `agentIds[3]: …; responsibleAgentId: must be one of agentIds` */
export function inOwnNames(detail: string, names: OwnNames): string {
  return detail.replace(/([A-Za-z][\w-]*)(?:\.(\d+))?/g, (text, name: string, index: string | undefined) => {
    if (!Object.hasOwn(names, name)) return text;
    return index === undefined ? `${names[name]}` : `${names[name]}[${index}]`;
  });
}
