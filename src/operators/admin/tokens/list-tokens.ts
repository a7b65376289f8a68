import * as z from "zod/mini";
import { pageQuerySchema } from "../../services/page.ts";
import { listTokens } from "../../services/tokens.ts";
import { adminCall } from "../admin-call.ts";
import { pageSchema } from "../page.ts";
import { type CallDocumentation, page, pageQuery, time } from "../words.ts";
import { tokenSchema, tokenWords } from "./token.ts";

const listedSchema = z.extend(tokenSchema, { expires_at: z.nullable(z.int()), last_used_at: z.nullable(z.int()) });

export default adminCall(
  {
    id: "listTokens",
    method: "get",
    path: "/tokens",
    role: "owner",
    scope: "deployment",
    audit: [],
    query: pageQuerySchema,
    response: pageSchema(listedSchema),
  },
  (c, { query }) => listTokens(c.var.ctx, query),
);

export const documentation = (): CallDocumentation => ({
  summary: "List the tokens for programs",
  chinese: "列出程序的令牌",
  description: "Expired ones too, until they are deleted.",
  query: pageQuery("^tok_[0-9a-f]{32}$"),
  response: page("TokenPage"),
  parts: [
    {
      name: "Token",
      schema: listedSchema,
      fields: {
        ...tokenWords(),
        last_used_at: time("The start of the hour in which it was last used; null before its first use."),
      },
    },
  ],
  answered: "A page of tokens, by id.",
});
