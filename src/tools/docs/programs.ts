/** A program of src/client/examples. It reads its settings from the environment. */
export interface Program {
  file: string;
  language: string;
  /** The versions that it runs on. */
  needs: string;
  /** The command that builds the program which `run` starts. */
  build?: string;
  run: string;
}

/** Programs that open a session, in the order of their tabs. */
export const CALLERS: readonly Program[] = [
  { file: "create-session.sh", language: "Shell", needs: "openssl, curl", run: "sh create-session.sh" },
  { file: "create-session.mjs", language: "Node", needs: "Node 18", run: "node create-session.mjs" },
  { file: "create-session.py", language: "Python", needs: "Python 3.7", run: "python3 create-session.py" },
  { file: "create-session.php", language: "PHP", needs: "PHP 7.4", run: "php create-session.php" },
  { file: "create-session.go", language: "Go", needs: "Go 1.16", run: "go run create-session.go" },
  { file: "CreateSession.java", language: "Java", needs: "Java 17", run: "java CreateSession.java" },
];

/** What each caller does. test/e2e/caller-examples.test.ts tries each rule on each program, and the page on integrating lists them. */
export const CALLER_RULES = {
  whole:
    "A try takes at most 10 s, from the connection to the last byte of the answer, and reads at most 64 KiB. In Node and PHP the look-up of the name can take longer.",
  tries:
    "It makes at most three tries. Each is signed anew, and all have the same `Idempotency-Key`: its first argument, or a random one.",
  again:
    "It tries again after no answer in time, a broken connection, a cut answer, 408, 429, and each status from 500 on but a 500 of the service itself. Where refusals have status 200, it tries again after those with `Retry-After`.",
  pause:
    "Before it tries again it waits 1 to 3 s, and as many seconds more as `Retry-After` says. It ends when that is over 60 s, or is no number of seconds: a date is none.",
  clock:
    "When the service refuses its timestamp, it tries once more at once, with the time that `x-error-detail` gives.",
  redirect: "It follows no redirect.",
  success:
    "A success is status 200 with `code` 1 and a `chat_id`. Then it prints the `chat_id`, and exits with 0. The shell and Java have no JSON reader: they know only answers in the service's own order of keys, without a quote in `msg` and with nothing nested in `data`.",
  failure:
    "Anything else ends it with exit code 1 and one plain line on stderr, which has the key and `x-request-id`. No line has the secret. When a setting or the key is missing or wrong, the line says which one, and nothing is sent. `BASE_URL` has no slash at its end.",
} as const;

/** Programs that receive events, in the same order. There is none in shell, for a reason that docs/receiving.md gives. */
export const RECEIVERS: readonly Program[] = [
  { file: "receive-event.mjs", language: "Node", needs: "Node 18", run: "node receive-event.mjs" },
  { file: "receive-event.py", language: "Python", needs: "Python 3.7", run: "python3 receive-event.py" },
  { file: "receive-event.php", language: "PHP", needs: "PHP 7.4", run: "php receive-event.php" },
  {
    file: "receive-event.go",
    language: "Go",
    needs: "Go 1.16",
    build: "go build -o receive-event receive-event.go",
    run: "./receive-event",
  },
  { file: "ReceiveEvent.java", language: "Java", needs: "Java 17", run: "java ReceiveEvent.java" },
];

/** What each receiver must do. test/e2e/receiver-examples.test.ts tries all rules on each, except the one about constant time. */
export const RECEIVER_RULES = {
  starts:
    "ends at once, with one plain line on stderr, when its secret is not `whsec_` and base64 of at least 24 bytes",
  verifies:
    "verifies the bytes as they came, in constant time, by each signature in the header, and refuses a timestamp more than 300 s off",
  stores:
    "stores an event under its id before it answers 2xx, takes a duplicate once, and answers 503 while it cannot store",
  bounds_bytes: "reads no more than 256 KiB of a body before it has verified it",
  bounds_time: "hangs up when a request is not whole after 10 s, also when a byte comes each second",
  bounds_places: "answers an event at once while 500 half-sent requests hang",
  stays_plain: "answers a wrong request without a stack trace, and goes on",
  ends: "ends on SIGTERM",
} as const;

export const PROGRAMS = [...CALLERS, ...RECEIVERS];

/**
 * The items under "Pitfalls of …" in the first comment of a program. Wrapped lines are joined.
 *
 * @throws Error when the comment names none
 */
export function pitfallsOf(source: string): string[] {
  const pitfalls: string[] = [];
  const lines = source.split("\n").map((line) => line.replace(/^\s*(\/\/|#)\s?/, "").trimEnd());
  const start = lines.findIndex((line) => line.startsWith("Pitfalls of "));
  for (const line of start === -1 ? [] : lines.slice(start + 1)) {
    const [, item] = /^\s*- (.*)$/.exec(line) ?? [];
    if (item !== undefined) pitfalls.push(item);
    else if (/^\s+\S/.test(line) && pitfalls.length > 0) pitfalls.push(`${pitfalls.pop()} ${line.trim()}`);
    else break;
  }
  if (pitfalls.length === 0) throw new Error("an example names no pitfalls");
  // A comment of Python or Java has each backslash twice, because both languages read escapes there.
  return pitfalls.map((pitfall) => pitfall.replaceAll("\\\\", "\\"));
}

/** A program without the comment at its top. */
export const codeOf = (source: string): string => source.slice(source.search(/^(set -eu|import )/m));
