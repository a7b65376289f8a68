// Made by `npm run generate` from the files of src/operations/. Do not edit.

/** The signed operations by their names on the wire: where each is, and the fields of its body beside appid, timestamp and ranstr. */
export const OPERATIONS = {
  create_gd: {
    path: "/openapi/chat/create_gd",
    fields: ["sbs", "ip", "sbs_mc", "content", "title", "kefu_id", "fzr_uid", "sender_type", "metadata"],
  },
  add_kf: {
    path: "/openapi/chat/add_kf",
    fields: ["chat_id", "kefu_ids"],
  },
} as const;

export type OperationName = keyof typeof OPERATIONS;
