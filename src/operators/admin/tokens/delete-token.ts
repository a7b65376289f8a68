import { deleteToken } from "../../services/tokens.ts";
import { adminCall } from "../admin-call.ts";
import type { CallDocumentation } from "../words.ts";

export default adminCall(
  {
    id: "deleteToken",
    method: "delete",
    path: "/tokens/:token_id",
    role: "owner",
    scope: "deployment",
    audit: ["token.deleted"],
  },
  (c) => deleteToken(c.var.ctx, { id: c.req.param("token_id") ?? "" }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Delete a token",
  chinese: "删除令牌",
  description: "From the next call on it opens nothing.",
  refusals: [404],
  answered: "The token is deleted.",
});
