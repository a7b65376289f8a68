/**
 * What turns red when a step is left out: the types, the build of the docs, `npm run tables -- --check`, some seeds of the simulation, or a
 * test, by its path without `.test.ts`.
 */
export type Check = "types" | "docs" | "tables" | "simulation" | `test/${string}`;

/** A step of a recipe: an edit whose `find` matches once, or a new file. The text of a copied one stands in this folder, under its path. */
export type Step = { file: string; red: Check } & (
  | { find: RegExp; replace: string }
  | { text: string }
  | { copied: true }
);

/** Adds entries to a JSON object of texts. */
export const texts = (file: string, red: Check, added: Record<string, string>): Step => ({
  file,
  red,
  find: /^\{\n/,
  replace: `{\n${Object.entries(added)
    .map(([english, chinese]) => `  ${JSON.stringify(english)}: ${JSON.stringify(chinese)},\n`)
    .join("")}`,
});
