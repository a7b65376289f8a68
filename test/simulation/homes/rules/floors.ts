import type { RowChange } from "../../platform/database.ts";

/** The columns below which no id and no seq is given, by table. */
const FLOORS: Record<string, string[]> = {
  home_sites: ["chat_id_floor", "event_seq_floor"],
  sites: ["first_chat_id", "event_seq_floor"],
};

/** docs/decisions.md, "the ids after a second restore": every change of a site keeps its floors or raises them. */
export function loweredFloor({ table, before, after }: RowChange): string | undefined {
  // An unfinished site of another home loses its row to the site that has the same id.
  if (before === null || after === null || before.home !== after.home) return undefined;
  const column = FLOORS[table]?.find((name) => Number(after[name]) < Number(before[name]));
  return column && `${column} of site ${after.site_id ?? after.id} falls from ${before[column]} to ${after[column]}`;
}
