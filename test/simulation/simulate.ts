/**
 * `npm run simulate`: simulates the whole service under many faults. The same seed gives the same run. See
 * docs/simulation.md.
 */
import { bundle } from "./bundle.ts";
import { main } from "./command/main.ts";
import { DEFECTS } from "./defects.ts";

process.exitCode = await main(process.argv.slice(2), {
  runModule: new URL("./run.ts", import.meta.url).href,
  bundle,
  defects: DEFECTS,
});
