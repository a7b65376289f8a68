import { siteSchema } from "../../http/site-data.ts";
import { homeName, type JsonSchema, type NamedSchema, name, newName, siteId, time } from "../words.ts";

export { siteEntrySchema, siteSchema } from "../../http/site-data.ts";

export const site = () =>
  ({
    name: "Site",
    schema: siteSchema,
    fields: {
      id: siteId(),
      name: name("What the site is called", "Shop"),
      home: homeName(),
      status: {
        description:
          "`creating` while its home does not have it yet: the same call that made it finishes it. `deleting` while its data goes, `deleted` for 31 days after that.",
        examples: ["open"],
      },
    },
  }) satisfies NamedSchema;

export const createdAt = (): JsonSchema => time("When it was created.");

export const leavesEvents = (): JsonSchema => ({ description: "Whether accepted calls leave events." });

export const retentionDays = (): JsonSchema => ({
  description: "For how many days sessions are kept; null for ever.",
  minimum: 1,
  maximum: 3650,
  examples: [365],
});

export const newSiteName = (): JsonSchema => newName("What the site is called; need not be unique", "Shop");

/** @param more a sentence about who may set it, and its lower limit */
export const firstChatId = (more = ""): JsonSchema => ({
  description: `The site's next session gets this id. For callers that come from another service: take one above every id that was given there.${more}`,
  examples: [900220],
});

export const deletionId = (): JsonSchema => ({
  description: "The deletion's id.",
  examples: ["019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12"],
});
