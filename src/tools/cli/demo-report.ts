import { isDeepStrictEqual, styleText } from "node:util";
import type { Io } from "./io.ts";
import type { SignedAnswer } from "./post-signed.ts";

/** Prints requests and answers, and counts the checks that passed and failed. */
export class DemoReport {
  passed = 0;
  failed = 0;
  #steps = 0;
  readonly #out: Io["out"];

  constructor(out: Io["out"]) {
    this.#out = out;
  }

  section(title: string): void {
    this.#out(`\n${bold(title)}`);
  }

  step(title: string): void {
    this.#steps++;
    this.#out(`\n${String(this.#steps).padStart(2)}. ${title}`);
  }

  line(label: string, text: string): void {
    this.#out(`    ${label.padEnd(9)} ${text}`);
  }

  fields(object: Readonly<Record<string, unknown>>): void {
    const width = Math.max(...Object.keys(object).map((name) => name.length));
    for (const [name, value] of Object.entries(object)) {
      this.#out(`    ${name.padEnd(width)} ${JSON.stringify(value)}`);
    }
  }

  request(path: string, body: string, headers: Readonly<Record<string, string>> = {}): void {
    this.line("request", `POST ${path}`);
    for (const [name, value] of Object.entries(headers)) this.line("", `${name}: ${value}`);
    this.line("body", body);
  }

  answer({ status, headers, text }: SignedAnswer): void {
    const detail = headers.get("x-error-detail");
    const retryAfter = headers.get("retry-after");
    const replayed = headers.get("idempotency-replayed");
    this.line("status", String(status));
    if (detail !== null) this.line("detail", `x-error-detail: ${detail}`);
    if (retryAfter !== null) this.line("", `retry-after: ${retryAfter}`);
    if (replayed !== null) this.line("", `idempotency-replayed: ${replayed}`);
    this.line("envelope", text);
  }

  /** Checks one rule of the contract. */
  check(rule: string, actual: unknown, expected: unknown): void {
    if (isDeepStrictEqual(actual, expected)) {
      this.passed++;
      this.#out(`    ${green("✓")} ${rule}`);
      return;
    }
    this.failed++;
    this.#out(`    ${red("✗")} ${rule}`);
    this.line("  expected", JSON.stringify(expected));
    this.line("  was", JSON.stringify(actual));
  }

  summary(): void {
    this.#out(`\n${this.passed} passed, ${this.failed} failed`);
  }
}

// styleText adds no colours when the output is not a terminal.
const styler = (style: Parameters<typeof styleText>[0]) => (text: string) =>
  styleText(style, text, { stream: process.stdout });
const [bold, green, red] = [styler("bold"), styler("green"), styler("red")];
