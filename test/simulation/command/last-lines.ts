/** The last lines of a trace that mention certain names. */
export class LastLines {
  readonly about: readonly string[];
  readonly #most: number;
  readonly lines: string[] = [];
  /** The number of such lines in the whole trace. */
  count = 0;

  constructor(about: readonly string[], most = 60) {
    this.about = about;
    this.#most = most;
  }

  add(line: string): void {
    // A violation without names concerns every line.
    if (this.about.length > 0 && !this.about.some((name) => mentions(line, name))) return;
    this.count++;
    this.lines.push(line);
    if (this.lines.length > this.#most) this.lines.shift();
  }
}

/** Matches whole names only: "call-1" does not occur in "call-12". */
function mentions(line: string, name: string): boolean {
  for (let at = line.indexOf(name); at >= 0; at = line.indexOf(name, at + 1)) {
    if (!isPartOfName(line[at - 1]) && !isPartOfName(line[at + name.length])) return true;
  }
  return false;
}

const isPartOfName = (character = " "): boolean => /[\p{L}\p{N}_-]/u.test(character);
