import { alwaysStatus200 } from "../../../core/config.ts";
import { type SignedErrorCode, WIRE_ERRORS } from "../../../core/errors.ts";
import type { AppidPart, SimilarApp } from "../../services/check-pasted-request.ts";
import { codeOfReason } from "../../services/journal.ts";
import type { PageContext } from "../env.ts";
import { Badge } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { type CheckLine, type Diagnosis, refusalText } from "./check-lines.ts";

/**
 * The result of a check: the answer to the call when it is known, the answer that it would get now with the cause in large text, the
 * other findings, and the steps without faults, folded.
 */
export function Verdict(props: {
  c: PageContext;
  diagnosis: Diagnosis;
  /** Whether the page already says what the call was answered. */
  isKnown: boolean;
}) {
  const { c, diagnosis, isKnown } = props;
  const { view } = c.var;
  const { t } = view;
  const { answered, repeats, lines } = diagnosis;
  const wireOf = wires(c);
  const refused = lines.filter(({ refusal }) => refusal !== undefined);
  const [stop, next] = refused;
  const lineEnds = lines.find((line) => line.ends)?.ends;
  const { sessionId, refusedFor } = answered ?? {};
  const matchingLine = refused.find(({ outcome }) => outcome !== undefined && outcome === refusedFor);
  // A pasted request often has an old timestamp only because it was pasted later. The cause at its time was then its next error, if any.
  const cause = answered ? matchingLine : stop?.outdated === "late" ? (next ?? stop) : stop;
  const mayBeAnother = (
    <p>
      {t(
        "If you sent this one-time text (ranstr) before with other bytes, this one was answered {0} {1}",
        ...wireOf("token_invalid"),
      )}
    </p>
  );
  const kind = answered || (lineEnds && !stop) ? "note" : stop ? "bad" : "good";
  const otherLines = lines.filter((line) => line !== cause && !isFine(line));
  const fine = lines.filter(isFine);
  const skipped = fine.filter(({ notEvaluated }) => notEvaluated).length;
  const alsoLabel = (line: CheckLine) => (answered || line.outdated === "late" ? t("If sent again") : t("Also"));
  return (
    <>
      {refusedFor && !isKnown && (
        <section class="notice bad verdict" role="alert">
          <h2>
            {t("A call with this one-time text (ranstr) was answered {0} {1}", ...wireOf(codeOfReason(refusedFor)))}
          </h2>
          {cause ? (
            <Cause view={view} line={cause} />
          ) : (
            <p>
              {refusedFor === "key_reused"
                ? refusalText(view, refusedFor)
                : t("What it was refused for has changed since: {0}", refusalText(view, refusedFor))}
            </p>
          )}
          {mayBeAnother}
        </section>
      )}
      {sessionId && (
        <section class="notice good verdict" role="status">
          <h2>{t("A call with this one-time text (ranstr) was accepted: session {0}", sessionId)}</h2>
          {mayBeAnother}
          <p>
            <a href={`/console/sites/${answered?.siteId}/sessions/${sessionId}`}>{t("To the session")}</a>
          </p>
        </section>
      )}
      <section class={`notice ${kind} verdict`} role={kind === "bad" ? "alert" : "status"}>
        <h2>{answerText(view, wireOf, stop, lineEnds?.fits)}</h2>
        {answered ? (
          <p>
            {t(
              "A one-time text (ranstr) can be used once: sent again, the same bytes are refused, whatever they were answered first. Each try needs a new one, the time of the try and a new signature.",
            )}
          </p>
        ) : (
          <>
            {stop?.outdated && (
              <p>
                {next?.refusal
                  ? t("With a fresh timestamp it answers {0} {1}.", ...wireOf(next.refusal))
                  : t("With a fresh timestamp it accepts the request.")}
              </p>
            )}
            {stop?.assumed && next?.refusal && (
              <p>{t("As application/json it answers {0} {1}.", ...wireOf(next.refusal))}</p>
            )}
            {repeats !== undefined && !stop && (
              <p>{t("It does nothing again: it answers with session {0}, which the first call opened.", repeats)}</p>
            )}
            {cause && <Cause view={view} line={cause} />}
          </>
        )}
      </section>
      {otherLines.length > 0 && (
        <ol class="checks" aria-label={t("Other findings")}>
          {otherLines.map((line) => (
            <Step
              view={view}
              line={line}
              kind="wait"
              label={line.refusal ? alsoLabel(line) : line.ends ? t("Depends") : t("Note")}
            />
          ))}
        </ol>
      )}
      {fine.length > 0 && (
        <details class="passed">
          <summary>
            {skipped === 0
              ? t("What is fine: {0}", fine.length)
              : t("What is fine: {0}; not evaluated: {1}", fine.length - skipped, skipped)}
          </summary>
          <ol class="checks" aria-label={t("What was checked")}>
            {fine.map((line) => (
              <Step
                view={view}
                line={line}
                kind={line.notEvaluated ? "off" : "good"}
                label={line.notEvaluated ? t("Not evaluated") : t("Fine")}
              />
            ))}
          </ol>
        </details>
      )}
    </>
  );
}

const isFine = ({ refusal, ends, notice }: CheckLine) =>
  refusal === undefined && ends === undefined && notice === undefined;

type WireOf = (refusal: SignedErrorCode) => [status: number, message: string];

const wires =
  (c: PageContext): WireOf =>
  (refusal) => {
    const { status, message } = WIRE_ERRORS[refusal];
    return [alwaysStatus200(c.env) ? 200 : status, message];
  };

/** The server's answer now. @param fits the line ends that fit the signature, when the pasted text does not show them */
function answerText({ t }: View, wireOf: WireOf, stop: CheckLine | undefined, fits: string | undefined): string {
  if (stop?.refusal !== undefined) return t("Sent now, the server answers {0} {1}", ...wireOf(stop.refusal));
  if (fits === undefined) return t("Sent now, the server accepts this request");
  return t("Sent now, the server accepts this request if its line ends are {0}", fits);
}

/** The cause of a refusal, with its findings in large text. */
function Cause({ view, line }: { view: View; line: CheckLine }) {
  const [large, small] = splitBySize(line);
  return (
    <div class="cause">
      <h3>{line.title}</h3>
      {large.map((text) => (
        <p class="found">{text}</p>
      ))}
      {small.map((text) => (
        <p>{text}</p>
      ))}
      <Evidence view={view} line={line} />
    </div>
  );
}

/** Splits a line's texts into its findings and the rest. Without `findingCount`, the first sentence is the finding. */
function splitBySize({ texts, findingCount }: CheckLine): [large: string[], small: string[]] {
  if (findingCount !== undefined) return [texts.slice(0, findingCount), texts.slice(findingCount)];
  const [first = "", ...others] = texts;
  const [, sentence = first, rest = ""] =
    /^(.+?[.:!?](?=\s+[\p{Lu}“<])|.+?[。：！？](?=.))\s*(.+)$/su.exec(first) ?? [];
  return [[sentence], rest === "" ? others : [rest, ...others]];
}

function Step(props: { view: View; line: CheckLine; kind: "wait" | "good" | "off"; label: string }) {
  const { view, line, kind, label } = props;
  return (
    <li class={kind === "wait" ? "wrong" : "fine"}>
      <h2>
        {line.title} <Badge kind={kind} label={label} />
      </h2>
      {line.texts.map((text) => (
        <p>{text}</p>
      ))}
      <Evidence view={view} line={line} />
    </li>
  );
}

/** What a line shows beside its texts: the nearest appids, links, what the server sent, and the text that was signed. */
function Evidence({ view, line: { similar = [], links = [], said = [], signed } }: { view: View; line: CheckLine }) {
  const { t } = view;
  return (
    <>
      {similar.map((app) => (
        <Difference view={view} app={app} />
      ))}
      {links.length > 0 && (
        <p class="links">
          {links.map(({ href, text }) => (
            <a href={href}>{text}</a>
          ))}
        </p>
      )}
      {said.map((text) => (
        <p class="hint">
          <code>{text}</code>
        </p>
      ))}
      {signed !== undefined && (
        <>
          <p>{t("This is what was signed:")}</p>
          <pre tabindex={0}>{signed}</pre>
        </>
      )}
    </>
  );
}

/** The pasted appid above an existing one, with the differences marked. */
function Difference({ view: { t }, app }: { view: View; app: SimilarApp }) {
  return (
    <dl class="difference">
      <dt>{t("Sent")}</dt>
      <dd>
        <MarkedAppid stretches={app.givenParts} />
      </dd>
      <dt>{t("Exists")}</dt>
      <dd>
        <a href={`/console/sites/${app.siteId}/apps/${app.appid}`}>
          <MarkedAppid stretches={app.existing} />
        </a>
      </dd>
    </dl>
  );
}

function MarkedAppid({ stretches }: { stretches: AppidPart[] }) {
  return <code>{stretches.map(({ text, differs }) => (differs ? <mark>{shownBlanks(text)}</mark> : text))}</code>;
}

/** Shows the invisible characters of a text: a blank as ␣, any other by its code. Combining marks also get codes: they may be the difference. */
const shownBlanks = (text: string): string =>
  text.replace(/[^\x21-\x7e\p{L}\p{N}\p{P}\p{S}]/gu, (character) =>
    character === " " ? "␣" : `[U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
  );
