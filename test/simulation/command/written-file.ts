import { closeSync, openSync, writeSync } from "node:fs";
import { UsageError } from "../../../src/cli/known-options.ts";

/** The file of --trace, or of --report. */
export class WrittenFile {
  readonly #file: number;

  private constructor(file: number) {
    this.#file = file;
  }

  /** @throws UsageError when the file cannot be written */
  static open(what: string, name: string | undefined): WrittenFile | undefined {
    if (name === undefined) return undefined;
    try {
      return new WrittenFile(openSync(name, "w"));
    } catch (error) {
      throw new UsageError(`The ${what} could not be written: ${(error as Error).message}`);
    }
  }

  write(line: string): void {
    writeSync(this.#file, `${line}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}
