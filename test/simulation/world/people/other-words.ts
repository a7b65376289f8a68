import type { Chance } from "../../machine/chance.ts";

/** A copy with one text or number changed, also inside a list or an object. */
export function oneValueChanged<Value>(value: Value, chance: Chance): Value {
  if (typeof value === "string") return `${value}x` as Value;
  if (typeof value === "number") return (value + 1) as Value;
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) return value;
  const copy: Record<string, unknown> = (Array.isArray(value) ? [...value] : { ...value }) as never;
  const name = chance.one(Object.keys(copy));
  copy[name] = oneValueChanged(copy[name], chance);
  return copy as Value;
}
