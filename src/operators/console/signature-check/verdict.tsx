import { alwaysStatus200 } from "../../../core/config.ts";
import { type SignedErrorCode, WIRE_ERRORS } from "../../../core/errors.ts";
import type { AppidPart } from "../../services/check-pasted-request.ts";
import { codeOfReason, type Refusal } from "../../services/journal.ts";
import type { PageContext } from "../env.ts";
import { Badge, LinkLine, NoticeBox, Time } from "../parts/parts.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import { reasonText } from "../reasons.ts";
import { useView } from "../view.ts";
import { refusalTexts } from "../violation-texts.ts";
import type { CheckLine, Diagnosis } from "./check-lines.ts";

/** The answer to a refused call, the reason, and what to do. */
export function WasRefused({ call }: { call: Refusal }) {
  const view = useView();
  const { requestId, at, status, reason, detail } = call;
  const { what, cure } = reasonText(view, reason);
  const violations = refusalTexts(view, call);
  // For this reason the violations already say everything.
  const isPlain = reason === "fields_invalid" && violations.length > 0;
  const line: CheckLine = {
    title: "",
    texts: isPlain ? violations : [what, ...violations, cure],
    findingCount: isPlain ? violations.length : 1,
    said: detail ? [`x-error-detail: ${detail}`] : [],
  };
  const { message } = WIRE_ERRORS[codeOfReason(reason)];
  return (
    <Answer kind="bad" title={view.t("This call was answered {0} {1}", status, message)}>
      <Cause line={line} />
      <p class="hint">
        <Time at={at} /> · <code>{requestId}</code>
      </p>
    </Answer>
  );
}

/** The result of a check. @param props `known` is the reason of a refusal that the page already shows */
export function Verdict({ c, diagnosis, known }: { c: PageContext; diagnosis: Diagnosis; known: string | undefined }) {
  const view = useView();
  const { t } = view;
  const { answered, repeats, lines } = diagnosis;
  const wireOf = (refusal: SignedErrorCode): [status: number, message: string] => [
    alwaysStatus200(c.env) ? 200 : WIRE_ERRORS[refusal].status,
    WIRE_ERRORS[refusal].message,
  ];
  const refused = lines.filter(({ refusal }) => refusal !== undefined);
  const [stop, next] = refused;
  const fits = lines.find((line) => line.ends)?.ends?.fits;
  const { sessionId, refusedFor } = answered ?? {};
  const matchingLine = refused.find(({ outcome }) => outcome !== undefined && outcome === refusedFor);
  // A pasted request often has an old timestamp only because it was pasted later. The cause at its time was then its next error, if any.
  const cause = answered ? matchingLine : stop?.outdated === "late" ? (next ?? stop) : stop;
  const what = refusedFor && reasonText(view, refusedFor).what;
  const hasChanged = t("What it was refused for has changed since: {0}", what);
  const mayBeAnother = t(
    "If you sent this one-time text (ranstr) before with other bytes, this one was answered {0} {1}",
    ...wireOf("token_invalid"),
  );
  const answer = stop?.refusal
    ? t("Sent now, the server answers {0} {1}", ...wireOf(stop.refusal))
    : fits === undefined
      ? t("Sent now, the server accepts this request")
      : t("Sent now, the server accepts this request if its line ends are {0}", fits);
  const notes = answered
    ? [
        t(
          "A one-time text (ranstr) can be used once: sent again, the same bytes are refused, whatever they were answered first. Each try needs a new one, the time of the try and a new signature.",
        ),
      ]
    : [
        stop?.outdated && !next && t("With a fresh timestamp it accepts the request."),
        stop?.outdated && next?.refusal && t("With a fresh timestamp it answers {0} {1}.", ...wireOf(next.refusal)),
        stop?.assumed && next?.refusal && t("As application/json it answers {0} {1}.", ...wireOf(next.refusal)),
        !stop && repeats && t("It does nothing again: it answers with session {0} of the first call.", repeats),
      ];
  const otherLines = lines.filter((line) => line !== cause && !isFine(line));
  const fine = lines.filter(isFine);
  const skipped = fine.filter(({ notEvaluated }) => notEvaluated).length;
  const stepOf = (line: CheckLine) => {
    const also = answered || line.outdated === "late" ? t("If sent again") : t("Also");
    const [kind, state] = line.notEvaluated
      ? (["off", t("Not evaluated")] as const)
      : isFine(line)
        ? (["good", t("Fine")] as const)
        : (["wait", line.refusal ? also : line.ends ? t("Depends") : t("Note")] as const);
    return (
      <li class={kind === "wait" ? "wrong" : "fine"}>
        <h2>
          {line.title} <Badge kind={kind} label={state} />
        </h2>
        <LineTexts line={line} small={line.texts} />
      </li>
    );
  };
  return (
    <>
      {refusedFor && refusedFor !== known && (
        <Answer
          kind="bad"
          title={t("A call with this one-time text (ranstr) was answered {0} {1}", ...wireOf(codeOfReason(refusedFor)))}
        >
          {cause ? <Cause line={cause} /> : <p>{refusedFor === "key_reused" ? what : hasChanged}</p>}
          <p>{mayBeAnother}</p>
        </Answer>
      )}
      {sessionId && (
        <Answer kind="good" title={t("A call with this one-time text (ranstr) was accepted: session {0}", sessionId)}>
          <p>{mayBeAnother}</p>
          <LinkLine href={`/console/sites/${answered?.siteId}/sessions/${sessionId}`} label={t("To the session")} />
        </Answer>
      )}
      <Answer kind={answered || (fits && !stop) ? "note" : stop ? "bad" : "good"} title={answer}>
        {notes.map((text) => text && <p>{text}</p>)}
        {!answered && cause && <Cause line={cause} />}
      </Answer>
      {otherLines.length > 0 && (
        <ol class="checks" aria-label={t("Other findings")}>
          {otherLines.map(stepOf)}
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
            {fine.map(stepOf)}
          </ol>
        </details>
      )}
    </>
  );
}

const isFine = ({ refusal, ends, notice }: CheckLine) => !refusal && !ends && !notice;

/** What the server answered, or would answer. */
const Answer = (props: Parameters<typeof NoticeBox>[0]) => <NoticeBox class="verdict" {...props} />;

/** The cause of a refusal, with its findings in large text. Without `findingCount`, the first sentence is the finding. */
function Cause({ line }: { line: CheckLine }) {
  const { title, texts, findingCount } = line;
  const [first = "", ...others] = texts;
  const [, sentence = first, rest] = /^(.+?[.:!?](?=\s+[\p{Lu}“<])|.+?[。：！？](?=.))\s*(.+)$/su.exec(first) ?? [];
  return (
    <div class="cause">
      {title && <h3>{title}</h3>}
      {findingCount === undefined ? (
        <LineTexts line={line} large={[sentence]} small={rest ? [rest, ...others] : others} />
      ) : (
        <LineTexts line={line} large={texts.slice(0, findingCount)} small={texts.slice(findingCount)} />
      )}
    </div>
  );
}

/** The texts of a line, then the nearest appids with the differences marked, links, what the server sent, and what was signed. */
function LineTexts({ line, large = [], small }: { line: CheckLine; large?: string[]; small: string[] }) {
  const { t } = useView();
  const { similar = [], links = [], said = [], signed } = line;
  return (
    <>
      {large.map((text) => (
        <p class="found">{text}</p>
      ))}
      {small.map((text) => (
        <p>{text}</p>
      ))}
      {similar.map(({ givenParts, existing, siteId, appid }) => (
        <dl class="difference">
          <dt>{t("Sent")}</dt>
          <dd>
            <MarkedAppid parts={givenParts} />
          </dd>
          <dt>{t("Exists")}</dt>
          <dd>
            <a href={`/console/sites/${siteId}/apps/${appid}`}>
              <MarkedAppid parts={existing} />
            </a>
          </dd>
        </dl>
      ))}
      {links.length > 0 && (
        <p class="links">
          {links.map(([text, href]) => (
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

/** Combining marks are shown by their code too: they may be the difference. */
const HARD_TO_SEE = /[^\x21-\x7e\p{L}\p{N}\p{P}\p{S}]/gu;

const MarkedAppid = ({ parts }: { parts: AppidPart[] }) => (
  <code>{parts.map(({ text, differs }) => (differs ? <mark>{showUnseen(text, HARD_TO_SEE)}</mark> : text))}</code>
);
