/**
 * The nightly gate: fails unless the given report shows that each event has happened and each rule was asked. See
 * docs/simulation.md.
 */
import { readFileSync } from "node:fs";
import { missingIn, type Report } from "./gate.ts";

const [file = ""] = process.argv.slice(2);
const missing = missingIn(JSON.parse(readFileSync(file, "utf8")) as Report);
for (const name of missing) console.error(`never in ${file}: ${name}`);
process.exitCode = missing.length > 0 ? 1 : 0;
