import { headingsOf, type Page } from "../page.ts";
import type { Texts } from "../texts.ts";
import { type ShownCall, textsOfCall } from "./openapi.ts";

const CALL_GROUPS: [kind: ShownCall["kind"], id: string, title: string, about: string][] = [
  ["signed", "signed", "Signed calls", "For back ends: signed with the secret of an app."],
  ["event", "events", "Events", "For receivers: what the service posts to the webhooks of a site."],
  [
    "admin",
    "admin",
    "Admin API",
    "For operators and their programs: with a token. Errors are problem details, RFC 9457.",
  ],
  ["health", "health", "Health", "For monitors."],
];

/** The list of all calls and events, with links to their pages. */
export function referencePage(calls: ShownCall[], texts: Texts): Page {
  const { t } = texts;
  const body = String(
    <>
      <p class="lead">
        {t("Every call and every event, each on a page of its own, made from the schemas that validate requests.")}
      </p>
      <p>
        <a href="/openapi.json">openapi.json</a> {t("has the same for programs.")}
        {t(" ")}
        <a href="/openapi.callers.json">openapi.callers.json</a>{" "}
        {t("has the signed calls alone, for generators of clients.")}
      </p>
      {CALL_GROUPS.map(([kind, id, title, about]) => (
        <section>
          <h2 id={id}>{t(title)}</h2>
          <p>{t(about)}</p>
          {kind === "admin" && texts.language === "zh" && <p class="note">{t("Their descriptions are in English.")}</p>}
          <div class="scroll" tabindex={0}>
            <table class="calls">
              <tbody>
                {calls
                  .filter((call) => call.kind === kind)
                  .map((call) => (
                    <Row call={call} texts={texts} />
                  ))}
              </tbody>
            </table>
          </div>
        </section>
      ))}
    </>,
  );
  return {
    path: "reference",
    title: t("Reference"),
    description: t(
      "Every call and every event, each on a page of its own, made from the schemas that validate requests.",
    ),
    body,
    headings: headingsOf(body),
  };
}

function Row({ call, texts: pageTexts }: { call: ShownCall; texts: Texts }) {
  const texts = textsOfCall(call, pageTexts);
  const summary = texts.find(call.summary);
  return (
    <tr>
      <td>
        <a href={texts.link(call.page)}>
          {call.kind === "event" ? (
            <code>{call.name}</code>
          ) : (
            <code>
              {call.method.toUpperCase()} {call.path}
            </code>
          )}
        </a>
      </td>
      <td lang={summary === undefined ? "en" : undefined}>{summary ?? call.summary}</td>
    </tr>
  );
}
