import type { Refusal } from "../../services/journal.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";
import { refusalTexts } from "../journal/refusal-texts.ts";
import { showPage } from "../layout.tsx";
import { Copyable, NoticeBox } from "../parts/parts.tsx";
import { reasonText } from "../reasons.ts";
import { appOf } from "./app-of.tsx";

export interface TestResult {
  status: number;
  body: string;
  requestId: string;
  ms: number;
  /** Undefined when the call was accepted. */
  reason: string | undefined;
  /** The detail and the violations of the answer, as in the journal. An address from an older release has none. */
  explanation?: Pick<Refusal, "detail" | "violations">;
}

const purposeOf = (path: string, result: string) => ["test-call", path, result];

/** The address of a result's page. It holds the result itself and a ticket, so nobody can make up another result. */
export async function resultLocation(c: PageContext, path: string, result: TestResult): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  const text = JSON.stringify(result);
  const ticket = await ticketFor(session, purposeOf(path, text), now);
  return `${path}/test/result?${new URLSearchParams({ result: text, ticket })}`;
}

export async function testResultPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { view } = c.var;
  const { t, session, now } = view;
  const { app, site, path } = await appOf(c, siteOfPath);
  const text = c.req.query("result") ?? "";
  const end = session && (await ticketEnd(session, purposeOf(path, text), c.req.query("ticket") ?? "", now));
  if (end === undefined) return c.redirect(path, 303);
  const result = JSON.parse(text) as TestResult;
  const chatId = chatIdOf(result);
  const session_ = `/console/sites/${site.id}/sessions/${chatId}`;
  const body = (
    <>
      {chatId === undefined ? (
        <Refused view={view} result={result} />
      ) : (
        <NoticeBox kind="good" title={t("It arrived: the session {0} was opened.", chatId)} />
      )}
      <section class="card">
        <dl class="facts">
          <dt>{t("App")}</dt>
          <dd>
            <a href={path}>
              <bdi>{app.name}</bdi>
            </a>
          </dd>
          {chatId !== undefined && (
            <>
              <dt>{t("Session")}</dt>
              <dd>
                <a href={session_}>{chatId}</a>
              </dd>
            </>
          )}
          <dt>{t("Status")}</dt>
          <dd>{result.status}</dd>
          <dt>{t("Answer")}</dt>
          <dd>
            <code>{result.body}</code>
          </dd>
          <dt>{t("Time taken")}</dt>
          <dd>{t("{0} ms", result.ms)}</dd>
          <Copyable id="request-id" label={t("Request id")} text={result.requestId} />
        </dl>
        <div class="buttons">
          {chatId !== undefined && (
            <a class="button" href={session_}>
              {t("Open the session")}
            </a>
          )}
          <a class={chatId === undefined ? "button" : "button plain"} href={`${path}/test`}>
            {t("Send another test call")}
          </a>
          <a class="button plain" href={path}>
            {t("Back to the app")}
          </a>
        </div>
      </section>
    </>
  );
  return showPage(c, { title: t("Result of the test call"), site, body });
}

/** After one of these failures the database may have done the call, although its answer did not arrive. */
const MAY_BE_DONE: ReadonlySet<string> = new Set(["d1_unavailable", "d1_answer_incomplete", "unexpected"]);

function Refused({ view, result }: { view: PageContext["var"]["view"]; result: TestResult }) {
  const { t } = view;
  const reason = result.reason ?? "unexpected";
  const { what, cure } = reasonText(view, reason);
  return (
    <NoticeBox
      kind="bad"
      title={
        MAY_BE_DONE.has(reason)
          ? t("It is not known whether a session was opened: look among the sessions before you send another.")
          : t("It was refused, and no session was opened.")
      }
    >
      <p>{what}</p>
      {refusalTexts(view, result.explanation ?? { detail: null, violations: null }).map((text) => (
        <p>{text}</p>
      ))}
      <p>{cure}</p>
    </NoticeBox>
  );
}

/** The id of the session that the call opened; undefined when the call was refused. */
function chatIdOf({ body }: TestResult): number | undefined {
  const { code, data } = JSON.parse(body) as { code?: number; data?: { chat_id?: number } };
  return code === 1 ? data?.chat_id : undefined;
}
