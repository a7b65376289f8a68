export type Body = Record<string, unknown>;

/** Who signs, and when in Unix seconds. */
interface Signer {
  appid: string;
  timestamp: number;
}

const signedBy = ({ appid, timestamp }: Signer): Body => ({ appid, timestamp, ranstr: crypto.randomUUID() });

/** A create_gd body that is accepted, with its own ranstr. A field set to undefined is left out. */
export const createBody = (signer: Signer, change: Body = {}): Body => ({
  ...signedBy(signer),
  sbs: "customer_001",
  ip: "127.0.0.1",
  sbs_mc: "Customer Name",
  content: "Initial message",
  kefu_id: [1, 2],
  fzr_uid: 1,
  ...change,
});

/** An add_kf body with its own ranstr. */
export const addBody = (signer: Signer, chatId: number, change: Body = {}): Body => ({
  ...signedBy(signer),
  chat_id: chatId,
  kefu_ids: "3",
  ...change,
});
