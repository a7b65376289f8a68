import { unlessRefusedFor, WIRE_ERRORS } from "../../../core/errors.ts";
import { findApp, listApps } from "../../services/apps.ts";
import { callsAround, findCall } from "../../services/find-call.ts";
import { codeOfReason, type Refusal, wireNameOf } from "../../services/journal.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { filteredPath, Table } from "../parts/list.tsx";
import { Card, EmptyState, type FactRows, LinkLine, NameLink, NoticeBox, Part, Time } from "../parts/parts.tsx";
import { reasonText } from "../reasons.ts";
import type { View } from "../view.ts";
import { refusalTexts } from "../violation-texts.ts";
import { namesOf, refusalColumns } from "./refusals-page.tsx";

/** The page of one call, by its request id: its answer and the reason. */
export async function callPage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  const requestId = c.req.param("request_id") ?? "";
  const call = await findCall(ctx, { site, requestId }).catch(unlessRefusedFor("call_unknown", "fields_invalid"));
  if (call === undefined) return missingCallPage(c, site, requestId);
  const { refusal } = call;
  const { appid, at, operation } = refusal ?? call.accepted;
  // The appid of a call may have no app any more.
  const app = await findApp(ctx, { site, appid }).catch(unlessRefusedFor("app_missing", "app_unknown"));
  const path = `/console/sites/${site.id}`;
  const list = `${path}/refusals`;
  const sessionId = refusal ? call.sessionId : call.accepted.sessionId;
  const [doneTitle = "", doneText] = {
    lost: [
      t("It was done all the same: session {0}", sessionId ?? ""),
      t("The database had done it when its answer was lost. A retry with the same Idempotency-Key gets this session."),
    ],
    ok: [t("The call was accepted: session {0}", sessionId ?? "")],
    repeated: [
      t("The call was answered like an earlier one: session {0}", sessionId ?? ""),
      t("An earlier call had the same Idempotency-Key. Its answer was given again, and nothing was changed."),
    ],
  }[refusal ? "lost" : call.accepted.outcome];
  const body = (
    <>
      {refusal && refusedNotice(view, refusal)}
      {sessionId !== null && (
        <NoticeBox kind={refusal ? "note" : "good"} title={doneTitle}>
          {doneText && <p>{doneText}</p>}
          <LinkLine href={`${path}/sessions/${sessionId}`} label={t("To the session")} />
        </NoticeBox>
      )}
      <Card
        facts={[
          [t("Call"), <code>{wireNameOf(operation)}</code>],
          [t("App"), <NameLink href={`${path}/apps/${appid}`} name={app?.name ?? appid} />],
          ...(refusal ? refusalFacts(view, refusal, app?.version) : []),
          [t("When"), logTime(at)],
          [t("Request id"), requestId.toLowerCase(), "request-id"],
        ]}
      />
      <p class="buttons">
        <a href={filteredPath(list, { appid })}>{t("All refused calls of this app")}</a>
        {refusal && (
          <a href={filteredPath(list, { reason: refusal.reason })}>{t("All calls refused for this reason")}</a>
        )}
      </p>
    </>
  );
  const title = refusal ? t("A refused call") : t("An accepted call");
  return showPage(c, { title, site: { ...site, tab: "refusals" }, body });
}

/** A time for the reader, and as logs have it. */
const logTime = (at: number) => [<Time at={at} />, " ", <code>{new Date(at * 1000).toISOString().slice(0, 19)}Z</code>];

/** A refused call: the reason, and what to do. The signature check gets what the journal knows of the call. */
function refusedNotice(view: View, refusal: Refusal) {
  const { t } = view;
  const { reason, requestId, appid, operation } = refusal;
  const { what, cure } = reasonText(view, reason);
  const query = new URLSearchParams({ operation: wireNameOf(operation), appid, request: requestId });
  return (
    <NoticeBox kind="bad" title={what}>
      {refusalTexts(view, refusal).map((text) => (
        <p>{text}</p>
      ))}
      <p>
        <strong>{t("What to do:")}</strong> {cure}
      </p>
      <p>
        <a class="button" href={`/console/signature-check?${query}`}>
          {t("Check this request")}
        </a>
      </p>
    </NoticeBox>
  );
}

/** @param version that of the app's secret in use */
function refusalFacts({ t, number }: View, refusal: Refusal, version: string | undefined): FactRows {
  const { status, reason, detail, secret, client, skipped, drill } = refusal;
  const verified =
    secret === null
      ? t("None: the signature was not right, or was not checked")
      : secret === version
        ? t("The secret in use")
        : t("A secret from before a rotation");
  return [
    [t("Answer"), `${status} ${WIRE_ERRORS[codeOfReason(reason)].message}`],
    [t("Reason in the log"), <code>{reason}</code>],
    detail !== null && ["x-error-detail", <code class="long">{detail}</code>],
    drill !== null && ["x-drill", <code>{drill}</code>],
    [t("Secret that verified"), verified],
    [t("Came from"), client === null ? "–" : <code>{client}</code>],
    skipped > 0 && [
      t("Left out before"),
      t("{0} more calls of this app, refused for the same reason", number(skipped)),
    ],
  ];
}

/** The page for a request id that the site has no call for. */
async function missingCallPage(c: PageContext, site: Site, requestId: string): Promise<Response> {
  const { t } = c.var;
  const list = `/console/sites/${site.id}/refusals`;
  const around = await aroundCall(c, requestId, site);
  const isId = around !== undefined;
  const body = (
    <>
      <EmptyState
        title={isId ? t("This site knows no such call") : t("That is no request id")}
        links={[[list, t("All refused calls")]]}
      >
        <p>
          {isId
            ? t("It may be of another site, or have been deleted. The search above looks in all sites.")
            : t("The x-request-id of an answer is one. It holds its time, and this text holds none.")}
        </p>
      </EmptyState>
      {around}
    </>
  );
  const page = { title: t("Not found"), site: { ...site, tab: "refusals" } as const, back: list, body };
  return showPage(c, page, isId ? 404 : 400);
}

/**
 * What is known about a call that was not found: when it came, the refused calls around it, and how many of them are left out. It
 * reads the site, or all sites that the reader sees. The result names the homes that do not answer.
 *
 * @returns undefined when the text is not a request id
 */
export async function aroundCall({ var: { ctx, view } }: PageContext, requestId: string, site?: Site) {
  const { t, number } = view;
  const [calls, apps] = await Promise.all([
    callsAround(ctx, { requestId, site }).catch(unlessRefusedFor("fields_invalid")),
    site && listApps(ctx, { site, limit: 100 }),
  ]);
  if (calls === undefined) return undefined;
  const { at, time, around, leftOut, homesDown } = calls;
  const texts = {
    ahead: [t("That is in the future, so no call here has had this id.")],
    too_old: [t("Refused calls are kept for {0} days, and no longer.", ctx.config.journalDays)],
    kept: [
      homesDown.length > 0 &&
        t("These homes do not answer, so their calls are missing here: {0}", homesDown.join(", ")),
      leftOut === 0 &&
        t("No call of that time is known to be left out yet. In a flood, that takes seconds or minutes."),
    ],
  }[time];
  return (
    <Part title={t("What its id tells")}>
      <p>
        {t("It holds a time:")} {logTime(at)}
      </p>
      {texts.map((text) => text && <p>{text}</p>)}
      {leftOut > 0 && (
        <NoticeBox kind="note" title={t("{0} refused calls within two minutes of it were left out", number(leftOut))}>
          <p>
            {t("It may be one of them. An app's first 20 of a minute are kept. The log has all: filter by request_id.")}
          </p>
        </NoticeBox>
      )}
      {time === "kept" && (around.length > 0 || homesDown.length === 0) && (
        <Table
          {...refusalColumns(view, around, namesOf(apps?.items ?? []))}
          empty={t("No refused call within two minutes of it is in the journal.")}
        />
      )}
    </Part>
  );
}
