import { ROLES } from "../../operators/access/role.ts";
import { newTokenSchema } from "../../operators/services/tokens.ts";
import { NAME, pageSchema, TIME } from "./admin-schemas.ts";
import { exactly, integer, orNull, string, time } from "./components.ts";
import { jsonSchemaOf } from "./json-schema.ts";

const id = string("The token's id: what its rows of the audit log have as `who.id`.", {
  examples: ["tok_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"],
});
const name = string("What the token is called, for people.", { examples: ["Nightly export"] });
const role = string("What it may do: each role may do what those before it may.", {
  enum: ROLES,
  examples: ["operator"],
});
const site_id = orNull(integer("The one site that it opens; null for all.", { minimum: 1, examples: [1] }));
const created_at = time("When it was made.", TIME);
const expires_at = orNull(time("When it stops; null for never.", TIME));

/** The schemas of tokens for programs. */
export const tokenSchemas = {
  RestoredToken: exactly({ id, name, role, site_id, created_at }),
  NewToken: jsonSchemaOf(newTokenSchema, {
    name: NAME("What the token is called", "Nightly export"),
    role: {
      description: "What it may do: each role may do what those before it may. A token of one site is no `owner`.",
      examples: ["operator"],
    },
    site_id: { description: "The one site that it opens. Leave it out for all sites.", examples: [1] },
    expires_in_days: { description: "Leave it out for a token that does not expire.", examples: [90] },
  }),
  IssuedToken: exactly({
    id,
    name,
    role,
    site_id,
    token: string("The token. Shown in this answer and never again.", {
      examples: ["ast_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno4Fukel"],
      pattern: "^ast_[0-9A-Za-z]{49}$",
    }),
    expires_at,
  }),
  Token: exactly({
    id,
    name,
    role,
    site_id,
    created_at,
    expires_at,
    last_used_at: orNull(time("The start of the hour in which it was last used; null before its first use.", TIME)),
  }),
  TokenPage: pageSchema("Token"),
};
