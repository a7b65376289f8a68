import { searchAgents } from "../../services/agents.ts";
import type { Refusal } from "../../services/journal.ts";
import type { Site } from "../../services/sites.ts";
import { signTestCall, TEST_CUSTOMER } from "../../services/test-call.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask.tsx";
import { EmptyState, Facts, NoticeBox } from "../parts/parts.tsx";
import { reasonText } from "../reasons.ts";
import { refusedLocation } from "../secrets/rotate-secret.tsx";
import { useView } from "../view.ts";
import { refusalTexts } from "../violation-texts.ts";
import { appOf } from "./app-page.tsx";

/** How many agents the form offers as responsible agents. */
const MOST_OFFERED = 100;

/** Asks before a test call, which opens a session. The page says what is stored and who becomes the responsible agent. */
export async function testCallPage(c: PageContext, siteOfPath: Site, filled?: FilledForm): Promise<Response> {
  const { ctx, t } = c.var;
  const { app, site, path, isActive } = await appOf(c, siteOfPath);
  if (!isActive) return c.redirect(path, 303);
  const { items } = await searchAgents(ctx, { site: siteOfPath, status: "normal", limit: MOST_OFFERED });
  const title = t("Send a test call");
  if (items.length === 0) {
    const agents = `/console/sites/${site.id}/agents`;
    const body = (
      <EmptyState title={t("No agent is enabled.")} links={[[agents, t("To the agents")]]}>
        <span>{t("A session needs a responsible agent. Add or enable one first.")}</span>
      </EmptyState>
    );
    return showPage(c, { title, site, body, filled });
  }
  const options = items.map(({ id, name }): [string, string] => [String(id), `${name} (${id})`]);
  return askPage(c, {
    site,
    title,
    text: t(
      "Signs create_gd with the secret of this app and sends it through every step that a call of your program passes. It opens a real session, and webhooks get its event.",
    ),
    facts: [
      [t("App"), <bdi>{app.name}</bdi>],
      [t("Customer"), <code>{TEST_CUSTOMER}</code>],
      [t("Title"), wordsOf(c).title],
    ],
    hidden: { version: app.version },
    fields: { agent: { label: t("Responsible agent"), options } },
    filled,
    button: title,
    isHarmless: true,
    back: path,
  });
}

/** Answers the form of {@link testCallPage}: sends the call once, and redirects to the page with its result. */
export async function postTestCall(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { view } = c.var;
  const { app, path, isActive } = await appOf(c, siteOfPath);
  if (!isActive) return c.redirect(path, 303);
  const form = await readForm(c);
  const { agent = "", version = "" } = form;
  return formAction(c, form, {
    values: { agent },
    entered: /^[1-9]\d{0,15}$/.test(agent)
      ? { input: { site: siteOfPath, appid: app.appid, version, agentId: Number(agent) } }
      : { errors: { agent: view.t("Choose an agent.") } },
    page: (filled) => testCallPage(c, siteOfPath, filled),
    list: path,
    work: async (input) => {
      try {
        return await resultLocation(c, path, await send(c, input));
      } catch (error) {
        return refusedLocation(c, path, error);
      }
    },
  });
}

interface TestResult {
  status: number;
  body: string;
  requestId: string;
  ms: number;
  /** Undefined when the call was accepted. */
  reason: string | undefined;
  /** The detail and the violations of the answer, as in the journal. An address from an older release has none. */
  explanation?: Pick<Refusal, "detail" | "violations">;
}

async function send(c: PageContext, wanted: Omit<Parameters<typeof signTestCall>[1], "words">): Promise<TestResult> {
  const { ctx, isolate, sendSigned } = c.var;
  const { path, body, signature } = await signTestCall(ctx, { ...wanted, words: wordsOf(c) });
  const address = c.req.header("cf-connecting-ip");
  const request = new Request(new URL(path, c.req.url), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-chat-signature": signature,
      ...(address !== undefined && { "cf-connecting-ip": address }),
    },
    body,
  });
  const since = isolate.runtime.elapsed();
  const { answer, reason, violations } = await sendSigned(request, c.env, c.executionCtx);
  const text = await answer.text();
  return {
    status: answer.status,
    body: text,
    requestId: answer.headers.get("x-request-id") ?? "",
    ms: Math.round(isolate.runtime.elapsed() - since),
    reason,
    explanation: { detail: answer.headers.get("x-error-detail"), violations: violations ?? [] },
  };
}

function wordsOf(c: PageContext) {
  const { t } = c.var;
  return {
    title: t("Test call from the console"),
    customer: t("Test customer"),
    content: t("This is a test call that an operator sent from the console."),
  };
}

const purposeOf = (path: string, result: string) => ["test-call", path, result];

/** The address of a result's page. It holds the result itself and a ticket, so nobody can make up another result. */
async function resultLocation(c: PageContext, path: string, result: TestResult): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  const text = JSON.stringify(result);
  const ticket = await ticketFor(session, purposeOf(path, text), now);
  return `${path}/test/result?${new URLSearchParams({ result: text, ticket })}`;
}

export async function testResultPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { t, session, now } = c.var.view;
  const { app, site, path } = await appOf(c, siteOfPath);
  const text = c.req.query("result") ?? "";
  const end = session && (await ticketEnd(session, purposeOf(path, text), c.req.query("ticket") ?? "", now));
  if (end === undefined) return c.redirect(path, 303);
  const result = JSON.parse(text) as TestResult;
  const { status, body: answer, ms, requestId } = result;
  const chatId = chatIdOf(result);
  const isOpened = chatId !== undefined;
  const openedPath = `/console/sites/${site.id}/sessions/${chatId}`;
  const links = [
    ...(isOpened ? [[openedPath, t("Open the session")]] : []),
    [`${path}/test`, t("Send another test call")],
    [path, t("Back to the app")],
  ];
  const body = (
    <>
      {isOpened && <NoticeBox kind="good" title={t("It arrived: the session {0} was opened.", chatId)} />}
      {!isOpened && <Refused result={result} />}
      <section class="card">
        <Facts
          rows={[
            [
              t("App"),
              <a href={path}>
                <bdi>{app.name}</bdi>
              </a>,
            ],
            isOpened && [t("Session"), <a href={openedPath}>{chatId}</a>],
            [t("Status"), status],
            [t("Answer"), <code>{answer}</code>],
            [t("Time taken"), t("{0} ms", ms)],
            [t("Request id"), requestId, "request-id"],
          ]}
        />
        <div class="buttons">
          {links.map(([href, label], i) => (
            <a class={i === 0 ? "button" : "button plain"} href={href}>
              {label}
            </a>
          ))}
        </div>
      </section>
    </>
  );
  return showPage(c, { title: t("Result of the test call"), site, body });
}

/** After one of these failures the database may have done the call, although its answer did not arrive. */
const MAY_BE_DONE: ReadonlySet<string> = new Set(["d1_unavailable", "d1_answer_incomplete", "unexpected"]);

function Refused({ result: { reason = "unexpected", explanation } }: { result: TestResult }) {
  const view = useView();
  const { t } = view;
  const { what, cure } = reasonText(view, reason);
  const texts = [what, ...refusalTexts(view, explanation ?? { detail: null, violations: null }), cure];
  const title = MAY_BE_DONE.has(reason)
    ? t("It is not known whether a session was opened: look among the sessions before you send another.")
    : t("It was refused, and no session was opened.");
  return (
    <NoticeBox kind="bad" title={title}>
      {texts.map((text) => (
        <p>{text}</p>
      ))}
    </NoticeBox>
  );
}

/** The id of the session that the call opened; undefined when the call was refused. */
function chatIdOf({ body }: TestResult): number | undefined {
  const { code, data } = JSON.parse(body) as { code?: number; data?: { chat_id?: number } };
  return code === 1 ? data?.chat_id : undefined;
}
