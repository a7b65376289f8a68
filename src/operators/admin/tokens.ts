import { pageQuerySchema } from "../services/page.ts";
import { createToken, deleteToken, listTokens, newTokenSchema, type Token } from "../services/tokens.ts";
import { adminCall } from "./call.ts";
import { shownPage } from "./page.ts";

const shownToken = ({ id, name, role, siteId, createdAt, expiresAt, lastUsedAt }: Token) => ({
  id,
  name,
  role,
  site_id: siteId,
  created_at: createdAt,
  expires_at: expiresAt,
  last_used_at: lastUsedAt,
});

export const tokenCalls = [
  adminCall(
    {
      id: "createToken",
      method: "post",
      path: "/tokens",
      role: "owner",
      scope: "deployment",
      audit: ["token.created"],
      body: newTokenSchema,
    },
    async (c, { body: { name, role, site_id: siteId, expires_in_days: expiresInDays } }) => {
      const made = await createToken(c.var.ctx, { name, role, siteId, expiresInDays });
      const { id, token, expiresAt } = made;
      return c.json({ id, name, role, site_id: made.siteId, token, expires_at: expiresAt }, 201);
    },
  ),

  adminCall(
    {
      id: "listTokens",
      method: "get",
      path: "/tokens",
      role: "owner",
      scope: "deployment",
      audit: [],
      query: pageQuerySchema,
    },
    async (c, { query }) => c.json(shownPage(await listTokens(c.var.ctx, query), shownToken)),
  ),

  adminCall(
    {
      id: "deleteToken",
      method: "delete",
      path: "/tokens/:token_id",
      role: "owner",
      scope: "deployment",
      audit: ["token.deleted"],
    },
    async (c) => {
      await deleteToken(c.var.ctx, { id: c.req.param("token_id") ?? "" });
      return c.body(null, 204);
    },
  ),
];
