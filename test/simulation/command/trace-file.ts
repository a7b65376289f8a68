import { closeSync, openSync, writeSync } from "node:fs";
import { UsageError } from "../../../src/cli/known-options.ts";

/** The file of --trace. */
export class TraceFile {
  readonly #file: number;

  private constructor(file: number) {
    this.#file = file;
  }

  /** @throws UsageError when the file cannot be written */
  static open(name: string | undefined): TraceFile | undefined {
    if (name === undefined) return undefined;
    try {
      return new TraceFile(openSync(name, "w"));
    } catch (error) {
      throw new UsageError(`The trace could not be written: ${(error as Error).message}`);
    }
  }

  write(line: string): void {
    writeSync(this.#file, `${line}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}
