const TYPES: Record<string, string> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  object: "an object",
};

/** The end of a detail about a value of a wrong type, such as ", not an object"; "" for a right type. */
export function notA(value: unknown, ...takes: string[]): string {
  const type = value === null ? "null" : Array.isArray(value) ? "an array" : String(TYPES[typeof value]);
  return takes.includes(type) ? "" : `, not ${type}`;
}
