import { describeViolations } from "../../core/describe-violations.ts";
import { type SignedErrorCode, WIRE_ERRORS } from "../../core/errors.ts";
import type { Violation } from "../../core/rules.ts";
import { FAILURES } from "../openapi/failures.ts";
import { meaningOf, VIOLATION_EXAMPLES } from "./error-details.ts";
import { Inline } from "./inline.tsx";
import { headingsOf, type Page } from "./page.ts";
import type { Texts } from "./texts.ts";

/** All refusals with their causes and cures, and all texts of `x-error-detail` with their meanings. */
export function errorsPage(texts: Texts): Page {
  const { t } = texts;
  const codes = Object.keys(WIRE_ERRORS) as SignedErrorCode[];
  const body = String(
    <>
      <p class="lead">
        {t(
          "You called, and the answer has a code of -1. Find its status and its msg here, or paste it into the search above.",
        )}
      </p>
      <p>
        {t("Where statuses share a message, the status tells them apart.")}
        {t(" ")}
        <Inline
          text={t(
            'A deployment with `ERROR_STATUS = "always-200"` answers 200 to everything: then the header `x-error-detail` tells them apart.',
          )}
        />
        {t(" ")}
        <Inline
          text={t("Each answer has an `x-request-id`: quote it to the operator, who finds the reason with it.")}
        />
      </p>
      <p>
        <a href={texts.link("check")}>{t("Check a request")}</a>
        {t(":")}
        {t(" ")}
        {t("paste what you sent, and the page names the mistake. It sends nothing.")}
      </p>
      <h2 id="refusals">{t("Refusals")}</h2>
      {codes.map((code) => (
        <Refusal code={code} texts={texts} />
      ))}
      <h2 id="details">{t("What x-error-detail says")}</h2>
      <p>
        <Inline
          text={t(
            "The header `x-error-detail` is in English. It comes only when the signature is right, except for faults that depend on no secret. Several faults are on one line, separated by `; `. Numbers and ids in it are those of your call.",
          )}
        />
      </p>
      {VIOLATION_EXAMPLES.map(({ about, violations }) => (
        <>
          <h3 id={idOf(about)}>{t(about)}</h3>
          <div class="scroll" tabindex={0}>
            <table class="details">
              <tbody>
                {violations.map((violation) => (
                  <tr id={rowOf(violation)}>
                    <td>
                      <code>{describeViolations([violation])}</code>
                    </td>
                    <td>{meaningOf(texts, violation)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      ))}
    </>,
  );
  return {
    path: "errors",
    title: t("Errors: causes and cures"),
    description: t("Every refusal with its causes and cures, and every text of x-error-detail with its meaning."),
    body,
    headings: headingsOf(body),
    places: VIOLATION_EXAMPLES.flatMap(({ violations }) =>
      violations.map((violation) => ({
        id: rowOf(violation),
        title: describeViolations([violation]),
        text: meaningOf(texts, violation),
      })),
    ),
  };
}

/** The id of a text of `x-error-detail`, made of its letters and digits. */
const rowOf = (violation: Violation) =>
  describeViolations([violation]).toLowerCase().replaceAll(/\W+/g, "-").replace(/-$/, "");

const idOf = (about: string) => `details-${about.split(/\W/)[0]?.toLowerCase()}`;

function Refusal({ code, texts }: { code: SignedErrorCode; texts: Texts }) {
  const { t } = texts;
  const { status, message } = WIRE_ERRORS[code];
  const { name, causes } = FAILURES[code];
  return (
    <section class="refusal">
      <h3 id={code}>
        <span class="status bad">{status}</span> <code>{message}</code>{" "}
        {t(name) !== message && <span class="name">{t(name)}</span>}
      </h3>
      <table>
        <thead class="unseen">
          <tr>
            <th>{t("Cause")}</th>
            <th>{t("Cure")}</th>
          </tr>
        </thead>
        <tbody>
          {causes.map(({ cause, cure }) => (
            <tr>
              <td>
                <Inline text={t(cause)} />
              </td>
              <td class="cure">
                <Inline text={t(cure)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
