import { type SignedErrorCode, WIRE_ERRORS } from "../errors.ts";
import { FAILURES } from "./failures.ts";
import { ACCEPTED_VECTOR, DOCUMENTED_VECTOR, VECTOR_SECRET } from "./signature-vectors.ts";
import { signedPaths } from "./signed-operations.ts";

/** An example program: the name and the source of its file. */
interface Example {
  file: string;
  source: string;
}

type Programs = Record<string, { language: string; run: string }>;

/** Programs that open a session, in the order of their tabs. */
const CALLERS: Programs = {
  "create-session.sh": { language: "Shell", run: "sh create-session.sh" },
  "create-session.mjs": { language: "Node", run: "node create-session.mjs" },
  "create-session.py": { language: "Python", run: "python3 create-session.py" },
  "create-session.php": { language: "PHP", run: "php create-session.php" },
  "create-session.go": { language: "Go", run: "go run create-session.go" },
  "CreateSession.java": { language: "Java", run: "java CreateSession.java" },
};

/** Programs that receive events, in the same order. */
const RECEIVERS: Programs = {
  "receive-event.sh": { language: "Shell", run: "sh receive-event.sh    # by your web server, as CGI" },
  "receive-event.mjs": { language: "Node", run: "node receive-event.mjs" },
  "receive-event.py": { language: "Python", run: "python3 receive-event.py" },
  "receive-event.php": { language: "PHP", run: "php -S 127.0.0.1:8080 receive-event.php" },
  "receive-event.go": { language: "Go", run: "go run receive-event.go" },
  "ReceiveEvent.java": { language: "Java", run: "java ReceiveEvent.java" },
};

export const EXAMPLES: Programs = { ...CALLERS, ...RECEIVERS };

/**
 * Fills the page of the guide with texts and examples.
 *
 * @throws Error when the page has no place for one of them
 */
export function guidePage(page: string, examples: Example[]): string {
  const bodies = signedPaths["/openapi/chat/create_gd"]?.post.requestBody.content["application/json"].examples;
  const example = JSON.stringify(bodies?.documented?.value);
  const codes = Object.keys(WIRE_ERRORS) as SignedErrorCode[];
  const parts = {
    "create-example": escapeHtml(example),
    "vector-secret": VECTOR_SECRET,
    "accepted-body": escapeHtml(ACCEPTED_VECTOR.body),
    "accepted-signature": ACCEPTED_VECTOR.signature,
    "documented-body": escapeHtml(DOCUMENTED_VECTOR.body),
    "documented-signature": DOCUMENTED_VECTOR.signature,
    examples: examplesHtml(examples, CALLERS, "caller", CALL),
    receivers: examplesHtml(examples, RECEIVERS, "receiver", RECEIVE),
    refusals: codes.map(refusalHtml).join("\n"),
    "refusal-links": codes
      .map(
        (code) => `<a class="sub" href="#${code}">${WIRE_ERRORS[code].status} ${escapeHtml(FAILURES[code].name)}</a>`,
      )
      .join("\n"),
  };
  const filled = Object.entries(parts).reduce((html, [name, part]) => {
    if (!html.includes(`<!-- ${name} -->`)) throw new Error(`the guide has no place for ${name}`);
    return html.replace(`<!-- ${name} -->`, () => part);
  }, page);
  // Without a tabindex, a block that scrolls sideways cannot be reached by keyboard.
  return filled.replaceAll("<pre", '<pre tabindex="0"');
}

function refusalHtml(code: SignedErrorCode): string {
  const { status, message } = WIRE_ERRORS[code];
  const causes = FAILURES[code].causes
    .map(({ cause, cure }) => `<dt>${inline(cause)}</dt><dd>${inline(cure)}</dd>`)
    .join("\n");
  return `<section class="refusal" id="${code}">
<h3><span class="status">${status}</span> <code>${escapeHtml(message)}</code> ${escapeHtml(FAILURES[code].name)}</h3>
<dl>${causes}</dl>
</section>`;
}

/** The settings of a program in front of its command, as HTML. */
const CALL = `BASE_URL=<span data-origin>http://localhost:8787</span> \\
APPID=<i>appid</i> SECRET=<i>secret</i> AGENT_ID=<i>10411</i> \\
`;
const RECEIVE = "SECRET=<i>whsec_…</i> SEEN=<i>folder</i> ";

/** @param group name of the radio buttons: the reader chooses one tab of a group */
function examplesHtml(examples: Example[], programs: Programs, group: string, settings: string): string {
  const tabs = Object.entries(programs).map(([file, { language, run }], index) => {
    const source = examples.find((example) => example.file === file)?.source;
    if (source === undefined) throw new Error(`there is no example ${file}`);
    const id = `${group}-${language.toLowerCase()}`;
    return {
      input: `<input type="radio" name="${group}" id="${id}"${index === 0 ? " checked" : ""}>`,
      label: `<label for="${id}">${language}</label>`,
      panel: `<section aria-label="${language}, ${group}">
<pre><code>curl -O <span data-origin>http://localhost:8787</span>/docs/examples/${file}
${settings}${run}</code></pre>
<p>What goes wrong in ${language === "Shell" ? "the shell" : language}:</p>
<ul>${pitfallsOf(source)
        .map((pitfall) => `<li>${inline(pitfall)}</li>`)
        .join("\n")}</ul>
<p><a href="/docs/examples/${file}" download>${file}</a></p>
<pre><code>${code(source)}</code></pre>
</section>`,
    };
  });
  const all = (part: "input" | "label" | "panel") => tabs.map((tab) => tab[part]).join("\n");
  return `<div class="tabs">${all("input")}
<div class="labels">${all("label")}</div>
<div class="panels">${all("panel")}</div></div>`;
}

/** The items under "Pitfalls of …" in the first comment of an example. Wrapped lines are joined. */
function pitfallsOf(source: string): string[] {
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
  // In the comments of Python and Java a backslash is written twice, because both read escapes there.
  return pitfalls.map((pitfall) => pitfall.replaceAll("\\\\", "\\"));
}

const code = (source: string) =>
  source
    .trimEnd()
    .split("\n")
    .map((line) =>
      /^\s*(\/\/|#|\/?\*\*? )/.test(line) ? `<span class="comment">${escapeHtml(line)}</span>` : escapeHtml(line),
    )
    .join("\n");

/** HTML of a text whose code is in backquotes. */
const inline = (text: string) => escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");

const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`);
