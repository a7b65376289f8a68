import * as z from "zod/mini";
import { PERSON_ROLES } from "../../access/role.ts";
import { type SchemaWords, time } from "../words.ts";

/** The fields of a person in every answer. */
export const personSchema = z.object({
  id: z.string(),
  email: z.nullable(z.string()),
  name: z.nullable(z.string()),
  role: z.enum(PERSON_ROLES),
  site_id: z.nullable(z.int()),
  created_at: z.int(),
  expires_at: z.nullable(z.int()),
  last_used_at: z.nullable(z.int()),
});

export const personWords = () =>
  ({
    id: {
      description:
        "The person's id. In the audit log, `who.id` is this id for somebody with a token, and the address for anybody else.",
      examples: ["per_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"],
    },
    email: {
      description: "The address that Cloudflare Access confirms, in small letters; null for somebody with a token.",
      examples: ["ada@example.com"],
    },
    name: { description: "What somebody with a token is called; null for an e-mail address.", examples: [null] },
    role: { description: "What they may do: each role may do what those before it may.", examples: ["operator"] },
    site_id: { description: "The one site that they see; null for all.", minimum: 1, examples: [1] },
    created_at: time("When they were let in."),
    expires_at: time("When their access ends; null for never."),
    last_used_at: time("The start of the hour of their last visit; null before the first."),
  }) satisfies SchemaWords;
