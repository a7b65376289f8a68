import {
  type Fields,
  noteRefused,
  type OperationModel,
  type RequestSender,
} from "../../../../../simulation/operations/shared/model.ts";
import type { Row } from "../../../../../simulation/platform/database.ts";

interface AskedFields {
  chatId: number;
}

const ask = ({ chance, site }: RequestSender): Fields => ({
  chat_id: site.chatIds.length === 0 ? 77_000_000 : chance.one(site.chatIds),
});

/** The model of the operation that tries the recipe, in a copy of the tree. */
const model: OperationModel<AskedFields> = {
  name: "throw_away_session",
  wireName: "throw_away_gd",

  ask,

  read: ({ chat_id }) => ({ chatId: Number(chat_id) }),

  refusals: {
    session_not_found: {
      status: 404,
      msg: "会话不存在",
      ask: () => ({ chat_id: 77_000_000 }),
    },
    binned_before: {
      status: 409,
      msg: "当前状态不允许操作",
      ask: ({ chance, site }) => {
        const binned = site.refusedSessions.get("binned_before") ?? [];
        return binned.length === 0 ? undefined : { chat_id: chance.one(binned) };
      },
    },
  },

  decide({ home, app: { siteId } }, { chatId }) {
    const session = home.sessions.get(`${siteId}/${chatId}`);
    if (session === undefined) return "session_not_found";
    return session.row.status === "binned" ? "binned_before" : { sessionId: chatId };
  },

  rows({ home, app: { siteId } }, { chatId }) {
    const row = home.sessions.get(`${siteId}/${chatId}`)?.row as Row;
    return [{ table: "sessions", after: { ...row, status: "binned" } }];
  },

  event: { type: "session.thrown_away", data: (_, { chatId }) => ({ chat_id: chatId, status: "binned" }) },

  answer: () => "",

  learn: (site, _, { chat_id }) => noteRefused(site, "binned_before", Number(chat_id)),
};

export default model;
