import { isRefusedFor, WIRE_ERRORS } from "../../../core/errors.ts";
import { findApp } from "../../services/apps.ts";
import { type AcceptedCall, findCall } from "../../services/find-call.ts";
import { codeOfReason, type Refusal, wireNameOf } from "../../services/journal.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { filteredPath } from "../parts/filter.tsx";
import { Copyable, NoticeBox, Time } from "../parts/parts.tsx";
import { reasonText } from "../reasons.ts";
import type { View } from "../view.ts";
import { missingCallPage } from "./missing-call.tsx";
import { checkPath } from "./refusal-table.tsx";
import { refusalTexts } from "./refusal-texts.ts";

/** The page of one call, by its request id: its answer and the reason. */
export async function callPage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view } = c.var;
  const requestId = c.req.param("request_id") ?? "";
  const call = await findCall(ctx, { site, requestId }).catch((error: unknown) => {
    if (!isRefusedFor(error, "call_unknown", "fields_invalid")) throw error;
  });
  if (call === undefined) return missingCallPage(c, site, requestId);
  const { refusal, accepted } = call;
  const { appid } = refusal ?? accepted;
  const list = `/console/sites/${site.id}/refusals`;
  const app = await findApp(ctx, { site, appid }).catch(withoutApp);
  const callBody =
    refusal === undefined ? (
      <AcceptedCallNotice view={view} site={site} call={accepted} />
    ) : (
      <Refused view={view} refusal={refusal} />
    );
  const body = (
    <>
      {callBody}
      {call.refusal && call.sessionId !== null && (
        <NoticeBox kind="note" title={view.t("It was done all the same: session {0}", call.sessionId)}>
          <p>
            {view.t(
              "The database had done it when its answer was lost. A retry with the same Idempotency-Key gets this session.",
            )}
          </p>
          <p>
            <a href={`/console/sites/${site.id}/sessions/${call.sessionId}`}>{view.t("To the session")}</a>
          </p>
        </NoticeBox>
      )}
      <section class="card">
        <dl class="facts">
          <Copyable id="request-id" label={view.t("Request id")} text={requestId.toLowerCase()} />
          <dt>{view.t("When")}</dt>
          <dd>
            <Time at={(refusal ?? accepted).at} />{" "}
            <code>{new Date((refusal ?? accepted).at * 1000).toISOString().replace(".000", "")}</code>
          </dd>
          <dt>{view.t("Call")}</dt>
          <dd>
            <code>{wireNameOf((refusal ?? accepted).operation)}</code>
          </dd>
          <dt>{view.t("App")}</dt>
          <dd>
            <a href={`/console/sites/${site.id}/apps/${appid}`}>
              <bdi>{app?.name ?? appid}</bdi>
            </a>
          </dd>
          {refusal && <RefusalFacts view={view} refusal={refusal} version={app?.version} />}
        </dl>
      </section>
      <p class="buttons">
        <a href={filteredPath(list, { appid })}>{view.t("All refused calls of this app")}</a>
        {refusal && (
          <a href={filteredPath(list, { reason: refusal.reason })}>{view.t("All calls refused for this reason")}</a>
        )}
      </p>
    </>
  );
  const title = refusal === undefined ? view.t("An accepted call") : view.t("A refused call");
  return showPage(c, { title, site: { ...site, tab: "refusals" }, body });
}

/** Lets the page show a call whose appid has no app any more. */
function withoutApp(error: unknown): undefined {
  if (!isRefusedFor(error, "app_missing", "app_unknown")) throw error;
}

function AcceptedCallNotice({ view, site, call }: { view: View; site: Site; call: AcceptedCall }) {
  const { t } = view;
  const { outcome, sessionId } = call;
  const title =
    outcome === "ok"
      ? t("The call was accepted: session {0}", sessionId)
      : t("The call was answered like an earlier one: session {0}", sessionId);
  return (
    <NoticeBox kind="good" title={title}>
      {outcome === "repeated" && (
        <p>
          {t(
            "An earlier call with the same Idempotency-Key was accepted. Its answer was given again, and nothing was changed.",
          )}
        </p>
      )}
      <p>
        <a href={`/console/sites/${site.id}/sessions/${sessionId}`}>{t("To the session")}</a>
      </p>
    </NoticeBox>
  );
}

/** A refused call: its answer, the reason, and what to do. */
function Refused({ view, refusal }: { view: View; refusal: Refusal }) {
  const { what, cure } = reasonText(view, refusal.reason);
  return (
    <NoticeBox kind="bad" title={what}>
      {refusalTexts(view, refusal).map((text) => (
        <p>{text}</p>
      ))}
      <p>
        <strong>{view.t("What to do:")}</strong> {cure}
      </p>
      <p>
        <a class="button plain" href={checkPath(refusal)}>
          {view.t("Check this request")}
        </a>
      </p>
    </NoticeBox>
  );
}

function RefusalFacts({ view, refusal, version }: { view: View; refusal: Refusal; version: string | undefined }) {
  const { t } = view;
  const { status, reason, detail, secret, client, skipped } = refusal;
  const verified =
    secret === null
      ? t("None: the signature was not right, or was not checked")
      : secret === version
        ? t("The secret in use")
        : t("A secret from before a rotation");
  return (
    <>
      <dt>{t("Answer")}</dt>
      <dd>
        {status} {WIRE_ERRORS[codeOfReason(reason)].message}
      </dd>
      <dt>{t("Reason in the log")}</dt>
      <dd>
        <code>{reason}</code>
      </dd>
      {detail !== null && (
        <>
          <dt>x-error-detail</dt>
          <dd>
            <code class="long">{detail}</code>
          </dd>
        </>
      )}
      <dt>{t("Secret that verified")}</dt>
      <dd>{verified}</dd>
      <dt>{t("Came from")}</dt>
      <dd>{client === null ? "–" : <code>{client}</code>}</dd>
      {skipped > 0 && (
        <>
          <dt>{t("Left out before")}</dt>
          <dd>
            {t(
              "{0} more calls of this app, refused for the same reason",
              new Intl.NumberFormat(view.language).format(skipped),
            )}
          </dd>
        </>
      )}
    </>
  );
}
