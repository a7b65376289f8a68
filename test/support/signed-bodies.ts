export type Body = Record<string, unknown>;

/** Who signs, and when in Unix seconds. */
interface Stamp {
  appid: string;
  timestamp: number;
}

const stamped = ({ appid, timestamp }: Stamp): Body => ({ appid, timestamp, ranstr: crypto.randomUUID() });

/** A create_gd body that is accepted, with a ranstr of its own. A field set to undefined is left out. */
export const createBody = (stamp: Stamp, change: Body = {}): Body => ({
  ...stamped(stamp),
  sbs: "customer_001",
  ip: "127.0.0.1",
  sbs_mc: "Customer Name",
  content: "Initial message",
  kefu_id: [1, 2],
  fzr_uid: 1,
  ...change,
});

/** An add_kf body with a ranstr of its own. */
export const addBody = (stamp: Stamp, chatId: number, change: Body = {}): Body => ({
  ...stamped(stamp),
  chat_id: chatId,
  kefu_ids: "3",
  ...change,
});
