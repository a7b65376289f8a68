/** Stores the Worker of this checkout, for test/e2e/last-release.test.ts to run. `npm run release` does it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildProductionBundle, ROOT } from "../bench/production-bundle.ts";

const { code, compatibilityDate, vars } = buildProductionBundle();
const folder = join(ROOT, "test/last-release");
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "worker.js"), code);
writeFileSync(join(folder, "settings.json"), `${JSON.stringify({ compatibilityDate, vars }, null, 2)}\n`);
console.log(`Kept ${code.length} characters in test/last-release/worker.js.`);
