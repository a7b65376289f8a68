/** What turns red when a step is left out: the types, the build of the docs, `npm run tables -- --check`, or a test by its path from test/ without `.test.ts`. */
export type Check = "types" | "docs" | "tables" | "simulation" | `test/${string}`;
/** A step of a recipe: an edit whose `find` matches once, or a new file, whose text is `text`. */
export type Step = { file: string; red: Check } & ({ find: RegExp; replace: string } | { text: string });
