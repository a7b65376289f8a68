import { searchAgents } from "../../services/agents.ts";
import type { Refusal } from "../../services/journal.ts";
import type { Site } from "../../services/sites.ts";
import { signTestCall, TEST_CUSTOMER } from "../../services/test-call.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import { type FilledForm, ticketEnd, ticketFor } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask.tsx";
import { Card, EmptyState, NameLink, NoticeBox } from "../parts/parts.tsx";
import { reasonText } from "../reasons.ts";
import { refusedLocation } from "../secrets/rotate-secret.tsx";
import type { View } from "../view.ts";
import { refusalTexts } from "../violation-texts.ts";
import { appOf } from "./app-page.tsx";

/** How many agents the form offers as responsible agents. */
const MOST_OFFERED = 100;

/** Asks before a test call, which opens a session. The page says what is stored and who becomes the responsible agent. */
export async function testCallPage(c: PageContext, siteOfPath: Site, filled?: FilledForm): Promise<Response> {
  const { ctx, view, t } = c.var;
  const { app, site, path, isActive } = await appOf(c, siteOfPath);
  if (!isActive) return c.redirect(path, 303);
  const { items } = await searchAgents(ctx, { site, status: "normal", limit: MOST_OFFERED });
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
      [t("Title"), wordsOf(view).title],
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
  const { app, site, path, isActive } = await appOf(c, siteOfPath);
  if (!isActive) return c.redirect(path, 303);
  const { agent = "", version = "" } = c.var.form;
  return formAction(c, {
    entered: /^[1-9]\d{0,15}$/.test(agent)
      ? { input: { site, appid: app.appid, version, agentId: Number(agent) } }
      : { errors: { agent: c.var.t("Choose an agent.") } },
    page: (filled) => testCallPage(c, siteOfPath, filled),
    list: path,
    work: (input) => send(c, path, input).catch((error) => refusedLocation(c, path, error)),
  });
}

/** What an address of {@link testResultPage} holds. `reason` is undefined when the call was accepted. */
type TestResult = { status: number; body: string; requestId: string; ms: number; reason: string | undefined } & {
  /** As in the journal. An address from an older release has none. */
  explanation?: Pick<Refusal, "detail" | "violations">;
};

const wordsOf = ({ t }: View) => ({
  title: t("Test call from the console"),
  customer: t("Test customer"),
  content: t("This is a test call that an operator sent from the console."),
});

const purposeOf = (path: string, result: string) => ["test-call", path, result];

/** Sends the call. The address of its result's page has the result itself and a ticket, so nobody can make up another result. */
async function send(c: PageContext, path: string, wanted: Omit<Parameters<typeof signTestCall>[1], "words">) {
  const { ctx, isolate, sendSigned, view } = c.var;
  const signed = await signTestCall(ctx, { ...wanted, words: wordsOf(view) });
  const address = c.req.header("cf-connecting-ip");
  const headers = {
    "content-type": "application/json",
    "x-chat-signature": signed.signature,
    ...(address !== undefined && { "cf-connecting-ip": address }),
  };
  const request = new Request(new URL(signed.path, c.req.url), { method: "POST", headers, body: signed.body });
  const since = isolate.runtime.elapsed();
  const { answer, reason, violations } = await sendSigned(request, c.env, c.executionCtx);
  const result = JSON.stringify({
    status: answer.status,
    body: await answer.text(),
    requestId: answer.headers.get("x-request-id") ?? "",
    ms: Math.round(isolate.runtime.elapsed() - since),
    reason,
    explanation: { detail: answer.headers.get("x-error-detail"), violations: violations ?? [] },
  } satisfies TestResult);
  if (view.session === undefined) return path;
  const ticket = await ticketFor(view.session, purposeOf(path, result), view.now);
  return `${path}/test/result?${new URLSearchParams({ result, ticket })}`;
}

/** After one of these failures the database may have done the call, although its answer did not arrive. */
const MAY_BE_DONE: ReadonlySet<string> = new Set(["d1_unavailable", "d1_answer_incomplete", "unexpected"]);

export async function testResultPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { view, t } = c.var;
  const { session, now } = view;
  const { app, site, path } = await appOf(c, siteOfPath);
  const text = c.req.query("result") ?? "";
  const end = session && (await ticketEnd(session, purposeOf(path, text), c.req.query("ticket") ?? "", now));
  if (end === undefined) return c.redirect(path, 303);
  const { status, body: answer, ms, requestId, reason = "unexpected", explanation } = JSON.parse(text) as TestResult;
  const { code, data } = JSON.parse(answer) as { code?: number; data?: { chat_id?: number } };
  const chatId = code === 1 ? data?.chat_id : undefined;
  const openedPath = `/console/sites/${site.id}/sessions/${chatId}`;
  const { what, cure } = reasonText(view, reason);
  const links = [
    chatId !== undefined && [openedPath, t("Open the session")],
    [`${path}/test`, t("Send another test call")],
    [path, t("Back to the app")],
  ].filter((link) => link !== false);
  const body = (
    <>
      {chatId !== undefined ? (
        <NoticeBox kind="good" title={t("It arrived: the session {0} was opened.", chatId)} />
      ) : (
        <NoticeBox
          kind="bad"
          title={
            MAY_BE_DONE.has(reason)
              ? t("It is not known whether a session was opened: look among the sessions before you send another.")
              : t("It was refused, and no session was opened.")
          }
        >
          {[what, ...refusalTexts(view, explanation ?? { detail: null, violations: null }), cure].map((each) => (
            <p>{each}</p>
          ))}
        </NoticeBox>
      )}
      <Card
        facts={[
          [t("App"), <NameLink href={path} name={app.name} />],
          chatId !== undefined && [t("Session"), <a href={openedPath}>{chatId}</a>],
          [t("Status"), status],
          [t("Answer"), <code>{answer}</code>],
          [t("Time taken"), t("{0} ms", ms)],
          [t("Request id"), requestId, "request-id"],
        ]}
      >
        <div class="buttons">
          {links.map(([href, label], i) => (
            <a class={i === 0 ? "button" : "button plain"} href={href}>
              {label}
            </a>
          ))}
        </div>
      </Card>
    </>
  );
  return showPage(c, { title: t("Result of the test call"), site, body });
}
