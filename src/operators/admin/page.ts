import * as z from "zod/mini";

export const pageSchema = <Item extends z.ZodMiniType>(item: Item) =>
  z.object({ items: z.array(item), next_cursor: z.nullable(z.string()) });

/** The answer of a list that reads all homes. `homes_down` names the homes that did not answer. */
export const homesPageSchema = <Item extends z.ZodMiniType>(item: Item) =>
  z.extend(pageSchema(item), { homes_down: z.array(z.string()) });
