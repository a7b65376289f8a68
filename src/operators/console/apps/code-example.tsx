import { searchAgents } from "../../services/agents.ts";
import type { Site } from "../../services/sites.ts";
import { withParameter } from "../console-path.ts";
import { CODE_COOKIE, hostCookie, readCookie } from "../cookies.ts";
import { docsPath } from "../docs-path.ts";
import type { PageContext } from "../env.ts";
import { CopyButton } from "../parts/parts.tsx";
import { type Code, commandsOf, PROGRAMS, programPath, sourceOf } from "./code-programs.ts";

const CODES = Object.keys(PROGRAMS) as Code[];
const YEAR_SECONDS = 31_536_000;

/** The programming language that the reader chose. A choice in the address is kept in a cookie for later pages. */
function codeOf(c: PageContext): Code {
  const findProgram = (name: string | undefined) => CODES.find((code) => code === name);
  const program = findProgram(c.req.query("code"));
  if (program !== undefined) c.header("set-cookie", hostCookie(CODE_COOKIE, program, YEAR_SECONDS), { append: true });
  return program ?? findProgram(readCookie(c.req.raw, CODE_COOKIE)) ?? "shell";
}

/** A program that calls as this app, ready to run, and a test call for readers who may send one. */
export async function CodeExample(c: PageContext, app: { site: Site; appid: string; path: string }) {
  const { ctx, view } = c.var;
  const { t } = view;
  const { site, appid, path } = app;
  const code = codeOf(c);
  const program = PROGRAMS[code];
  const { items } = await searchAgents(ctx, { site, status: "normal", limit: 1 });
  const settings = { baseUrl: new URL(c.req.url).origin, appid, agentId: items[0]?.id };
  const source = await sourceOf(c, program, settings);
  return (
    <section class="card program" id="code">
      <div class="head">
        <h2>{t("Open a session from your program")}</h2>
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
      </div>
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
        {view.may(`${path}/test`) && (
          <a class="button plain" href={`${path}/test`}>
            {t("Send a test call")}
          </a>
        )}
        <a href={docsPath(view, "integrating", settings)}>{t("The guide for callers")}</a>
        <a href={programPath(program)}>{t("The program as a file")}</a>
      </div>
    </section>
  );
}

/** Lines of code to copy. */
function Listing({ id, label, text }: { id: string; label: string; text: string }) {
  return (
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
}
