/** The most entries of each Map that an isolate keeps per app, or per app and address. */
const MOST_ENTRIES = 1_000;

/** Sets an entry as the newest, and removes the oldest entries beyond 1,000. */
export function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= MOST_ENTRIES) break;
    map.delete(oldest);
  }
}
