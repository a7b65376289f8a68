import type { PageContext } from "../env.ts";

/** A program that opens a session, from src/client/examples. It reads its settings from the environment. */
interface Program {
  language: string;
  file: string;
  run: string;
}

/** The programs, each under the name of its language in an address. The docs show the same ones: src/tools/docs/programs.ts. */
export const PROGRAMS = {
  shell: { language: "Shell", file: "create-session.sh", run: "sh create-session.sh" },
  node: { language: "Node", file: "create-session.mjs", run: "node create-session.mjs" },
  python: { language: "Python", file: "create-session.py", run: "python3 create-session.py" },
  php: { language: "PHP", file: "create-session.php", run: "php create-session.php" },
  go: { language: "Go", file: "create-session.go", run: "go run create-session.go" },
  java: { language: "Java", file: "CreateSession.java", run: "java CreateSession.java" },
} satisfies Record<string, Program>;

export type Code = keyof typeof PROGRAMS;

/** The settings that the programs read from the environment. The secret is read there too, but is not part of them. */
export interface ProgramSettings {
  baseUrl: string;
  appid: string;
  /** Undefined while the site has no enabled agent. */
  agentId: number | undefined;
}

/** The path at which the docs serve a program's file unchanged. */
export const programPath = ({ file }: Program): string => `/docs/examples/${file}`;

const settingsText = ({ baseUrl, appid, agentId }: ProgramSettings, secret: string): string =>
  [`BASE_URL=${baseUrl}`, `APPID=${appid}`, ...(secret ? [secret] : []), `AGENT_ID=${agentId ?? "…"}`].join(" ");

/** Commands that fetch and run a program. They read the secret from the keyboard, so that the shell's history does not hold it. */
export const commandsOf = (program: Program, settings: ProgramSettings): string =>
  [
    `curl -O ${settings.baseUrl}${programPath(program)}`,
    // One line, because a shell that runs pasted lines one by one would read the next line as the secret.
    `read -rs SECRET && export SECRET && ${settingsText(settings, "")} ${program.run}`,
  ].join("\n");

const sources = new Map<string, string>();

/** The source of a program, with the settings at its top. Undefined when the assets do not answer: then the page has the commands only. */
export async function sourceOf(
  c: PageContext,
  program: Program,
  settings: ProgramSettings,
): Promise<string | undefined> {
  const { file } = program;
  try {
    const answer = sources.has(file) ? undefined : await c.env.ASSETS?.fetch(new URL(programPath(program), c.req.url));
    if (answer?.ok) sources.set(file, await answer.text());
  } catch {
    c.var.isolate.telemetry.warn({ warning: `the example ${file} did not load: the page shows its commands alone` });
  }
  return sources
    .get(file)
    ?.replace(/BASE_URL=\S+ APPID=\S+ SECRET=(\S+) AGENT_ID=\S+/, (_, secret: string) =>
      settingsText(settings, `SECRET=${secret}`),
    );
}
