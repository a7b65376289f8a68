import * as z from "zod/mini";
import { ROLES } from "../../access/role.ts";
import { type SchemaWords, time } from "../words.ts";

/** The fields of an existing token in every answer. */
export const tokenSchema = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  site_id: z.nullable(z.int()),
  created_at: z.int(),
});

export const tokenWords = () =>
  ({
    id: {
      description: "The token's id: what its rows of the audit log have as `who.id`.",
      examples: ["tok_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"],
    },
    name: { description: "What the token is called, for people.", examples: ["Nightly export"] },
    role: { description: "What it may do: each role may do what those before it may.", examples: ["operator"] },
    site_id: { description: "The one site that it opens; null for all.", minimum: 1, examples: [1] },
    created_at: time("When it was made."),
    expires_at: time("When it stops; null for never."),
  }) satisfies SchemaWords;
