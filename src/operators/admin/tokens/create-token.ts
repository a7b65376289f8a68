import * as z from "zod/mini";
import { ROLES } from "../../access/role.ts";
import { TOKEN_NAME_RULE } from "../../services/token-names.ts";
import { createToken, newTokenSchema } from "../../services/tokens.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, newName } from "../words.ts";
import { tokenWords } from "./token.ts";

export default adminCall(
  {
    id: "createToken",
    method: "post",
    path: "/tokens",
    role: "owner",
    scope: "deployment",
    audit: ["token.created"],
    body: newTokenSchema,
    status: 201,
    response: z.object({
      id: z.string(),
      name: z.string(),
      role: z.enum(ROLES),
      site_id: z.nullable(z.int()),
      token: z.string(),
      expires_at: z.nullable(z.int()),
    }),
  },
  (c, { body: { name, role, site_id: siteId, expires_in_days: expiresInDays } }) =>
    createToken(c.var.ctx, { name, role, siteId, expiresInDays }),
);

export const documentation = (): CallDocumentation => {
  const { created_at: _, ...fields } = tokenWords();
  const name = newName("What the token is called", "Nightly export");
  return {
    summary: "Make a token for a program",
    chinese: "为程序创建令牌",
    description:
      "`ast_`, 32 random bytes in base62, and the CRC32 of the characters before it in base62. Only its hash is stored. Each call makes another token: when an answer was lost, delete the token that nobody has. 400 for a `site_id` with the role `metrics` or `owner`, and for a name that looks like that of somebody else in the audit log.",
    body: {
      name: "NewToken",
      fields: {
        name: { ...name, description: `${name.description} The audit log names others so: it ${TOKEN_NAME_RULE}.` },
        role: {
          description:
            "What it may do: each role may do what those before it may. A token of one site is `viewer` or `operator`. `metrics` reads the metrics and nothing else: for a scraper.",
          examples: ["operator"],
        },
        site_id: { description: "The one site that it opens. Leave it out for all sites.", examples: [1] },
        expires_in_days: { description: "Leave it out for a token that does not expire.", examples: [90] },
      },
    },
    response: {
      name: "IssuedToken",
      fields: {
        ...fields,
        token: {
          description: "The token. Shown in this answer and never again.",
          examples: ["ast_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno4Fukel"],
          pattern: "^ast_[0-9A-Za-z]{49}$",
        },
      },
    },
    answered: "The token was made. It is shown here only.",
  };
};
