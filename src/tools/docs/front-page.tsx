import { raw } from "hono/html";
import { type SignedErrorCode, WIRE_ERRORS } from "../../core/errors.ts";
import { FAILURES } from "../openapi/failures.ts";
import { Inline } from "./inline.tsx";
import { codeBlock } from "./markdown.ts";
import { headingsOf, type Page } from "./page.ts";
import { CALLERS } from "./programs.ts";
import type { Texts } from "./texts.ts";

/** The settings that a reader of this deployment puts before the commands. */
const VARIABLES = "export BASE_URL=https://sessions.example.com APPID=YOUR_APPID SECRET=YOUR_SECRET\n";

/** @param readme its commands are shown on this page: the first call, and how to make an app on the reader's own machine */
export function frontPage(texts: Texts, readme: string): Page {
  const { t, link } = texts;
  const codes = Object.keys(WIRE_ERRORS) as SignedErrorCode[];
  const doors = [
    ["integrating", "Integrating", "Sign, call, read the answer: from an appid to production."],
    ["receiving", "Receiving events", "Your program is told of each session at once."],
    ["retrying", "Retrying safely", "An answer was lost: what to do, and what not to do."],
    ["errors", "Errors", "A call was refused: find its cause and its cure."],
    ["check", "Check a request", "Paste what you sent. The page names the mistake, and sends nothing."],
    ["reference", "Reference", "Every call and event with its fields and answers."],
  ] as const;
  const body = String(
    <>
      <p class="lead">
        {t(
          "One signed call opens a support session with its customer, its agents and its first message: exactly once, all or nothing.",
        )}
      </p>
      <h2 id="first-call">{t("The first call")}</h2>
      <p>
        {t("You need an appid, its secret and the id of an agent. The operator of this service gives them to you.")}
        {t(" ")}
        {t("Put your agent's id in place of 10411.")}
      </p>
      {raw(codeBlock(VARIABLES + commandsOf(readme, "BODY="), "sh"))}
      <p>
        <Inline text={t("The answer has the number of the new session in `chat_id`.")} />
      </p>
      <p>
        {t("Something else came back?")}
        {t(" ")}
        <a href={link("errors")}>{t("Find the error")}</a>
        {t(".")}
        {t(" ")}
        {t("For your own code, take the program in your language:")}
        {t(" ")}
        <a href={link("integrating#programs-in-six-languages")}>
          {CALLERS.map(({ language }) => language).join(t(", "))}
        </a>
        {t(".")}
      </p>
      <p>
        {t("For TypeScript and JavaScript, this service has a client, which signs and retries for you:")}
        {t(" ")}
        <a href={link("client")}>@agent-session/client</a>
        {t(".")}
      </p>
      {raw(codeBlock("npm i https://sessions.example.com/client.tgz", "sh"))}
      <h2 id="doors">{t("What do you want to do?")}</h2>
      <ul class="doors">
        {doors.map(([path, title, about]) => (
          <li>
            <a href={link(path)}>{t(title)}</a>
            <p>{t(about)}</p>
          </li>
        ))}
      </ul>
      <h2 id="messages">{t("Got an error?")}</h2>
      <ul class="messages">
        {codes.map((code) => (
          <li>
            <a href={link(`errors#${code}`)}>
              <span class="status bad">{WIRE_ERRORS[code].status}</span> <code>{WIRE_ERRORS[code].message}</code>
            </a>{" "}
            {t(FAILURES[code].name) !== WIRE_ERRORS[code].message && t(FAILURES[code].name)}
          </li>
        ))}
      </ul>
      <h2 id="own-machine">{t("On your own machine")}</h2>
      <p>{t("In a checkout of the repository, start the service. It needs Node 20 and no account.")}</p>
      {raw(codeBlock("npm ci && npm start", "sh"))}
      <p>{t("In a second terminal, make a site, an agent and an app, then call:")}</p>
      {raw(codeBlock(commandsOf(readme, "export BASE_URL="), "sh"))}
      <p>
        <Inline text={t("The last call is refused, and `x-error-detail` says why: agent 10427 does not exist yet.")} />
      </p>
    </>,
  );
  return {
    path: "",
    title: t("Open a support session from your back end"),
    description: t(
      "One signed call opens a support session with its customer, its agents and its first message: exactly once, all or nothing.",
    ),
    body,
    headings: headingsOf(body),
  };
}

/** The block of commands in a README that begins with the given text. @throws Error when there is none */
function commandsOf(readme: string, beginning: string): string {
  const blocks = [...readme.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block);
  const commandBlock = blocks.find((block) => block.startsWith(beginning));
  if (commandBlock === undefined) throw new Error(`a README has no commands that begin with ${beginning}`);
  return commandBlock;
}
