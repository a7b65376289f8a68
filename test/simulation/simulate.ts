/** `npm run simulate`: the whole service under years of bad days, each replayable from a number. docs/simulation.md says how to use it. */
import { bundle } from "./bundle.ts";
import { main } from "./command/main.ts";
import { DEFECTS } from "./defects.ts";

process.exitCode = await main(process.argv.slice(2), {
  runModule: new URL("./run.ts", import.meta.url).href,
  bundle,
  defects: DEFECTS,
});
