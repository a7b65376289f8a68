import * as z from "zod/mini";

/** The answer of a list. */
export const pageSchema = <Item extends z.ZodMiniType>(item: Item) =>
  z.object({ items: z.array(item), next_cursor: z.nullable(z.string()) });

/** The answer of a list of all homes: `homes_down` names those that did not answer. */
export const homesPageSchema = <Item extends z.ZodMiniType>(item: Item) =>
  z.extend(pageSchema(item), { homes_down: z.array(z.string()) });
