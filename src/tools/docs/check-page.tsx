import { OPERATIONS } from "../../core/operations/index.ts";
import { PAGE_TEXTS } from "./check-texts.ts";
import type { Page } from "./page.ts";
import type { Language } from "./texts.ts";

/** The page that checks a request. Only its own script reads what is typed here. */
export function checkPage(language: Language, script: string): Page {
  const texts = PAGE_TEXTS[language];
  return {
    path: "check",
    title: texts.title,
    description: texts.lead,
    body: String(<Content texts={texts} />),
    headings: [],
    sealed: true,
    script,
  };
}

const CODE = { type: "text", spellcheck: false, autocapitalize: "off" } as const;

function Content({ texts }: { texts: (typeof PAGE_TEXTS)[Language] }) {
  return (
    <>
      <p class="lead">{texts.lead}</p>
      <p class="promise">{texts.promise}</p>
      <noscript>
        <p class="promise">{texts.noscript}</p>
      </noscript>
      <form id="form" autocomplete="off">
        <div class="field">
          <label for="operation">{texts.operation}</label>
          <select id="operation">
            {OPERATIONS.map(({ wireName }) => (
              <option>{wireName}</option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for="body">{texts.body}</label>
          <textarea id="body" rows={8} spellcheck={false} aria-describedby="body-hint" />
          <p class="hint" id="body-hint">
            {texts.bodyHint}
          </p>
          <label for="file">{texts.file}</label>
          <input id="file" type="file" />
        </div>
        <div class="field">
          <label for="signature">{texts.signature}</label>
          <input id="signature" {...CODE} />
        </div>
        <div class="field">
          <label for="secret">{texts.secret}</label>
          <div class="row">
            <input id="secret" {...CODE} type="password" autocomplete="off" required />
            <button id="show" type="button" class="plain" aria-pressed="false">
              {texts.show}
            </button>
          </div>
        </div>
        <div class="field">
          <label for="appid">{texts.appid}</label>
          <input id="appid" {...CODE} aria-describedby="appid-hint" />
          <p class="hint" id="appid-hint">
            {texts.appidHint}
          </p>
        </div>
        <details>
          <summary>{texts.more}</summary>
          <div class="field">
            <label for="content-type">{texts.contentType}</label>
            <input id="content-type" {...CODE} aria-describedby="content-type-hint" />
            <p class="hint" id="content-type-hint">
              {texts.contentTypeHint}
            </p>
            <label class="box">
              <input id="no-content-type" type="checkbox" /> {texts.noContentType}
            </label>
          </div>
          <div class="field">
            <label for="content-encoding">{texts.contentEncoding}</label>
            <input id="content-encoding" {...CODE} />
          </div>
          <div class="field">
            <label for="idempotency-key">{texts.idempotencyKey}</label>
            <input id="idempotency-key" {...CODE} />
          </div>
          <div class="field">
            <label for="tolerance">{texts.tolerance}</label>
            <input id="tolerance" type="number" min="0" step="1" value="300" aria-describedby="tolerance-hint" />
            <p class="hint" id="tolerance-hint">
              {texts.toleranceHint}
            </p>
          </div>
        </details>
        <button type="submit">{texts.check}</button>
      </form>
      <section id="result" role="status" aria-label={texts.result} />
    </>
  );
}
