/** Filters as parameters of an address. An empty one does not filter. */
type FilterParameters = Readonly<Record<string, string | undefined>>;

/**
 * The address of a list with these filters. Empty ones are left out.
 *
 * @param droppedName the name of a filter to leave out too
 */
export function filteredPath(path: string, filters: FilterParameters, droppedName?: string): string {
  const set = Object.entries(filters).filter(([name, value]) => value && name !== droppedName);
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set as [string, string][])}`;
}
