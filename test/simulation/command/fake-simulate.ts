/** The command with a fake simulation, for its tests. */
import type { Defect } from "../planted-defect.ts";
import { main } from "./main.ts";

const defect = (name: string): Defect => ({
  name,
  what: `what ${name} is`,
  edits: [{ file: name, find: "", replace: "" }],
});

process.exitCode = await main(process.argv.slice(2), {
  runModule: new URL("./fake-run.ts", import.meta.url).href,
  bundle: async (edits = []) => {
    if (edits.some(({ file }) => file === "does-not-fit")) throw new Error("it does not fit");
    return { worker: `return ${JSON.stringify({ changed: edits.map(({ file }) => file) })};`, client: "" };
  },
  defects: ["found-at-once", "found-late", "never-found", "does-not-fit"].map(defect),
});
