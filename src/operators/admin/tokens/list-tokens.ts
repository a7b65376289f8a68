import * as z from "zod/mini";
import { ROLES } from "../../access/role.ts";
import { pageQuerySchema } from "../../services/page.ts";
import { listTokens } from "../../services/tokens.ts";
import { adminCall } from "../call.ts";
import { pageSchema } from "../page.ts";
import { type CallDocumentation, page, pageQuery, time } from "../words.ts";
import { tokenWords } from "./token.ts";

const tokenSchema = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  site_id: z.nullable(z.int()),
  created_at: z.int(),
  expires_at: z.nullable(z.int()),
  last_used_at: z.nullable(z.int()),
});

export default adminCall(
  {
    id: "listTokens",
    method: "get",
    path: "/tokens",
    role: "owner",
    scope: "deployment",
    audit: [],
    query: pageQuerySchema,
    response: pageSchema(tokenSchema),
  },
  (c, { query }) => listTokens(c.var.ctx, query),
);

export const documentation = (): CallDocumentation => ({
  summary: "List the tokens for programs",
  description: "Expired ones too, until they are deleted.",
  query: pageQuery("^tok_[0-9a-f]{32}$"),
  response: page("TokenPage"),
  parts: [
    {
      name: "Token",
      schema: tokenSchema,
      fields: {
        ...tokenWords(),
        last_used_at: time("The start of the hour in which it was last used; null before its first use."),
      },
    },
  ],
  row: "200, a list of `{id, name, role, site_id, created_at, expires_at, last_used_at}`, expired ones too; `last_used_at` is the start of the hour",
  answered: "A page of tokens, by id.",
});
