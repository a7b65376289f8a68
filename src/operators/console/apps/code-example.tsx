import { searchAgents } from "../../services/agents.ts";
import type { Site } from "../../services/sites.ts";
import { docsPath, withParameter } from "../console-path.ts";
import { CODE_COOKIE, hostCookie, readCookie } from "../cookies.ts";
import type { PageContext } from "../env.ts";
import { ButtonLink, CopyButton } from "../parts/parts.tsx";

/** A program that opens a session, from src/client/examples. It reads its settings from the environment. */
type Program = Record<"language" | "file" | "run", string>;

/** The programs, each under the name of its language in an address. The docs show the same ones: src/tools/docs/programs.ts. */
export const PROGRAMS = {
  shell: { language: "Shell", file: "create-session.sh", run: "sh create-session.sh" },
  node: { language: "Node", file: "create-session.mjs", run: "node create-session.mjs" },
  python: { language: "Python", file: "create-session.py", run: "python3 create-session.py" },
  php: { language: "PHP", file: "create-session.php", run: "php create-session.php" },
  go: { language: "Go", file: "create-session.go", run: "go run create-session.go" },
  java: { language: "Java", file: "CreateSession.java", run: "java CreateSession.java" },
} satisfies Record<string, Program>;

const CODES = Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[];
const YEAR_SECONDS = 31_536_000;

/** The programming language that the reader chose. A choice in the address is kept in a cookie for later pages. */
function codeOf(c: PageContext) {
  const findProgram = (name: string | undefined) => CODES.find((code) => code === name);
  const program = findProgram(c.req.query("code"));
  if (program !== undefined) c.header("set-cookie", hostCookie(CODE_COOKIE, program, YEAR_SECONDS), { append: true });
  return program ?? findProgram(readCookie(c.req.raw, CODE_COOKIE)) ?? "shell";
}

/** The settings, but for the secret, that programs read from the environment. While no agent is enabled, there is none. */
type ProgramSettings = { baseUrl: string; appid: string; agentId: number | undefined };

/** The path at which the docs serve a program's file unchanged. */
const programPath = ({ file }: Program): string => `/docs/examples/${file}`;

const settingsText = ({ baseUrl, appid, agentId }: ProgramSettings, secret: string): string =>
  [`BASE_URL=${baseUrl}`, `APPID=${appid}`, ...(secret ? [secret] : []), `AGENT_ID=${agentId ?? "…"}`].join(" ");

/** Commands that fetch and run a program. They read the secret from the keyboard, so that the shell's history does not hold it. */
const commandsOf = (program: Program, settings: ProgramSettings): string =>
  [
    `curl -O ${settings.baseUrl}${programPath(program)}`,
    // One line, because a shell that runs pasted lines one by one would read the next line as the secret.
    `read -rs SECRET && export SECRET && ${settingsText(settings, "")} ${program.run}`,
  ].join("\n");

const sources = new Map<string, string>();

/** The source of a program, with the settings at its top. Undefined when the assets do not answer: then the page has the commands only. */
async function sourceOf(c: PageContext, program: Program, settings: ProgramSettings): Promise<string | undefined> {
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

/** A program that calls as this app. @param isNext it is the next step: unfolded, with a test call for readers who may send one */
export async function CodeExample(c: PageContext, app: { site: Site; appid: string; path: string }, isNext: boolean) {
  const { site, appid, path } = app;
  const { ctx, view, t } = c.var;
  const code = codeOf(c);
  const program = PROGRAMS[code];
  const { items } = await searchAgents(ctx, { site, status: "normal", limit: 1 });
  const settings = { baseUrl: new URL(c.req.url).origin, appid, agentId: items[0]?.id };
  const source = await sourceOf(c, program, settings);
  return (
    <details class="card program" id="code" open={isNext || c.req.query("code") !== undefined}>
      <summary>
        <h2>{t("Open a session from your program")}</h2>
      </summary>
      <nav class="chips" aria-label={t("Language of the program")}>
        {CODES.map((each) => (
          <a
            class="chip"
            href={`${withParameter(view.here, "code", each)}#code`}
            aria-current={each === code ? "true" : undefined}
          >
            {PROGRAMS[each].language}
          </a>
        ))}
      </nav>
      <p class="hint">
        {t("The second line waits for the secret: paste it and press Enter. So it stands in no history of a shell.")}
      </p>
      <Listing id="commands" label={t("Commands")} text={commandsOf(program, settings)} />
      {items.length === 0 && (
        <p>
          {t("No agent is enabled, so no session can be opened yet.")}{" "}
          <a href={`/console/sites/${site.id}/agents`}>{t("To the agents")}</a>
        </p>
      )}
      {source !== undefined && <Listing id="source" label={program.file} text={source} />}
      <div class="buttons">
        {isNext && view.may(`${path}/test`) && <ButtonLink href={`${path}/test`} label={t("Send a test call")} plain />}
        <a href={docsPath(view, "integrating", settings)}>{t("The guide for callers")}</a>
        <a href={programPath(program)}>{t("The program as a file")}</a>
      </div>
    </details>
  );
}

/** Lines of code to copy. */
export const Listing = ({ id, label, text }: { id: string; label: string; text: string }) => (
  <figure class="source">
    <figcaption>
      <span>{label}</span>
      <CopyButton id={id} label={label} />
    </figcaption>
    <pre tabindex={0}>
      <code id={id}>{text}</code>
    </pre>
  </figure>
);
