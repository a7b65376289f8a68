import type { Page } from "../services/page.ts";

/** A page of a list, as an answer holds it. */
export function shownPage<Item, Shown>({ items, nextCursor }: Page<Item>, show: (item: Item) => Shown) {
  return { items: items.map(show), next_cursor: nextCursor };
}
