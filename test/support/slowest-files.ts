import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

const MOST = 10;

/** Appends the slowest files of a run, with their wall times, to the file that SLOWEST_FILES names. */
export default class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const times = modules.map((module) => {
      const { collectDuration, setupDuration, duration } = module.diagnostic();
      const seconds = (collectDuration + setupDuration + duration) / 1_000;
      return { name: `${module.project.name} ${relative(process.cwd(), module.moduleId)}`, seconds };
    });
    const slowest = times.toSorted((a, b) => b.seconds - a.seconds).slice(0, MOST);
    const lines = slowest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}\n`);
    appendFileSync(process.env.SLOWEST_FILES ?? "", `\nThe slowest files of ${modules.length}:\n${lines.join("")}`);
  }
}
