import { raw } from "hono/html";
import { Inline } from "./inline.tsx";
import { codeBlock } from "./markdown.ts";
import { type Program, pitfallsOf } from "./programs.ts";
import type { Texts } from "./texts.ts";

/** The settings before the command of a program. */
const SETTINGS = {
  caller: "BASE_URL=https://sessions.example.com APPID=YOUR_APPID SECRET=YOUR_SECRET AGENT_ID=10411 \\\n  ",
  receiver: "mkdir -p events\nSECRET=whsec_… SEEN=events ",
};

const MARKUP: Record<string, string> = { sh: "sh", mjs: "js", py: "python", php: "php", go: "go", java: "java" };

/**
 * Complete programs, each in a tab. Tabs are radio buttons, which work without a script and with the arrow keys.
 *
 * @param sources the text of each program by its file name
 */
export function ProgramTabs(props: {
  texts: Texts;
  kind: keyof typeof SETTINGS;
  programs: readonly Program[];
  sources: Record<string, string>;
}) {
  const { texts, kind, programs, sources } = props;
  const { t } = texts;
  const idOf = ({ language }: Program) => `${kind}-${language.toLowerCase()}`;
  return (
    <div class="programs">
      {programs.map((program, index) => (
        <input type="radio" name={kind} id={idOf(program)} checked={index === 0} />
      ))}
      <div class="labels">
        {programs.map((program) => (
          <label for={idOf(program)}>{program.language}</label>
        ))}
      </div>
      <div class="panels">
        {programs.map((program) => (
          <Panel texts={texts} kind={kind} program={program} source={sources[program.file] ?? ""}>
            {t("What goes wrong in {0}", program.language)}
          </Panel>
        ))}
      </div>
    </div>
  );
}

function Panel(props: {
  texts: Texts;
  kind: keyof typeof SETTINGS;
  program: Program;
  source: string;
  children: string;
}) {
  const { texts, kind, program, source, children } = props;
  const { t } = texts;
  const { file, language, needs, build, run } = program;
  const made = build === undefined ? "" : `${build}\n`;
  const commands = `curl -O https://sessions.example.com/docs/examples/${file}\n${made}${SETTINGS[kind]}${run}`;
  return (
    <section aria-label={`${language}, ${t(kind === "caller" ? "opens a session" : "receives events")}`}>
      {raw(codeBlock(commands, "sh"))}
      <p>{t("Needs {0}.", /\d/.test(needs) ? t("{0} or later", needs) : needs.replaceAll(", ", t(", ")))}</p>
      <details>
        <summary>{children}</summary>
        <ul>
          {pitfallsOf(source).map((pitfall) => (
            <li>
              <Inline text={t(pitfall)} />
            </li>
          ))}
        </ul>
      </details>
      <p>
        <a href={`/docs/examples/${file}`} download>
          {file}
        </a>
      </p>
      {raw(codeBlock(source, MARKUP[file.split(".").at(-1) ?? ""]))}
    </section>
  );
}
