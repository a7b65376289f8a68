import { raw } from "hono/html";
import { type SignedErrorCode, WIRE_ERRORS } from "../errors.ts";
import { FAILURES } from "../openapi/failures.ts";
import { codeBlock } from "./markdown.ts";
import { headingsOf, type Page } from "./page.ts";
import { CALLERS } from "./programs.ts";
import type { Texts } from "./texts.ts";

/** The signed call in a shell: four lines of code and the answer. test/e2e/docs-commands.test.ts runs it as it stands. */
export const FOUR_LINES = `export BASE_URL=https://sessions.example.com APPID=YOUR_APPID SECRET=YOUR_SECRET
BODY='{"appid":"'$APPID'","timestamp":'$(date +%s)',"ranstr":"'$(openssl rand -hex 16)'","sbs":"customer_001","sbs_mc":"Wang Wei","ip":"203.0.113.7","content":"Where is my order?","kefu_id":[10411],"fzr_uid":10411}'
SIGNATURE=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/.* //')
curl -sS -i "$BASE_URL/openapi/chat/create_gd" -H 'Content-Type: application/json' -H "x-chat-signature: $SIGNATURE" -d "$BODY"`;

/** @param ownMachine the commands of the README that issue an app on one's own machine */
export function frontPage(texts: Texts, ownMachine: string): Page {
  const { t, link } = texts;
  const codes = Object.keys(WIRE_ERRORS) as SignedErrorCode[];
  const doors = [
    ["integrating", "Integrating", "Sign, call, read the answer: from an appid to production."],
    ["receiving", "Receiving events", "Your program hears of each session at once."],
    ["retrying", "Retrying safely", "An answer was lost: what to do, and what not to do."],
    ["errors", "Errors", "A call was refused: find its cause and its cure."],
    ["check", "Check a request", "Paste what you sent. The page names the mistake, and sends nothing."],
    ["reference", "Reference", "Every call and event with its fields and answers."],
  ] as const;
  const body = String(
    <>
      <p class="lead">
        {t(
          "One signed call opens a support session with its customer, its agents and its first message: exactly once, all of it or nothing.",
        )}
      </p>
      <h2 id="first-call">{t("The first call")}</h2>
      <p>
        {t("You need an appid, its secret and the id of an agent. The operator of this service gives them to you.")}
      </p>
      {raw(codeBlock(FOUR_LINES, "sh"))}
      <p>{t("The answer is the number of the new session:")}</p>
      {raw(codeBlock('{"code":1,"msg":"ok","data":{"chat_id":1}}', "json"))}
      <p>
        {t("Something else came back?")} <a href={link("errors")}>{t("Find the error")}</a>
        {t(".")}
        {t(" ")}
        {t("For your own code, take the program in your language:")}{" "}
        <a href={link("integrating#programs-in-six-languages")}>{CALLERS.map(({ language }) => language).join(", ")}</a>
        {t(".")}
      </p>
      <h2 id="doors">{t("What do you want to do?")}</h2>
      <ul class="doors">
        {doors.map(([path, title, about]) => (
          <li>
            <a href={link(path)}>{t(title)}</a>
            <p>{t(about)}</p>
          </li>
        ))}
      </ul>
      <h2 id="messages">{t("An error in hand?")}</h2>
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
      {raw(codeBlock(ownMachine, "sh"))}
    </>,
  );
  return {
    path: "",
    title: t("Open a support session from your back end"),
    description: t(
      "One signed call opens a support session with its customer, its agents and its first message: exactly once, all of it or nothing.",
    ),
    body,
    headings: headingsOf(body),
  };
}
