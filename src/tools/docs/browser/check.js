import { OPERATIONS } from "../../../core/operations/index.ts";
import { violationTexts } from "../../../operators/console/violation-texts.ts";
import { checkAsCaller } from "../../../operators/diagnosis/check-as-caller.ts";
import { sentenceOf } from "../../../operators/diagnosis/words.ts";

const field = (id) => document.getElementById(id);

/**
 * Makes the form check what is typed into it. The check runs in this browser only.
 *
 * @param texts the page's own texts by name
 * @param translations the sentences of the findings by their English. It is empty for English
 */
export function start({ language, texts, translations }) {
  const format = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
  const voice = {
    t: (english, ...values) =>
      (translations[english] ?? english).replace(/\{(\d)\}/g, (_, index) => String(values[Number(index)] ?? "")),
    time: (seconds) => format.format(seconds * 1000),
  };

  /** The exact bytes of the chosen file; undefined while the text is checked. */
  let bytes;
  field("file").addEventListener("change", async ({ target }) => {
    const [file] = target.files;
    bytes = file && new Uint8Array(await file.arrayBuffer());
    if (bytes !== undefined) field("body").value = new TextDecoder().decode(bytes);
  });
  field("body").addEventListener("input", () => {
    bytes = undefined;
    field("file").value = "";
  });

  field("show").addEventListener("click", ({ target }) => {
    const isShown = field("secret").type === "text";
    field("secret").type = isShown ? "password" : "text";
    target.textContent = isShown ? texts.show : texts.hide;
    target.setAttribute("aria-pressed", String(!isShown));
  });

  field("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    // Browsers give WebCrypto only to pages of https and of this machine.
    if (crypto.subtle === undefined) return field("result").replaceChildren(element("p", texts.insecure));
    const given = (id) => field(id).value || undefined;
    const check = await checkAsCaller({
      operation: OPERATIONS.find(({ wireName }) => wireName === given("operation")),
      operations: OPERATIONS,
      body: bytes ?? new TextEncoder().encode(field("body").value),
      lineEndsKept: bytes !== undefined,
      signature: field("signature").value,
      secret: field("secret").value,
      appid: given("appid"),
      contentType: field("no-content-type").checked ? null : given("content-type"),
      contentEncoding: given("content-encoding"),
      idempotencyKey: given("idempotency-key"),
      now: Math.floor(Date.now() / 1000),
      tolerance: Number(field("tolerance").value || 300),
    });
    show(field("result"), check);
  });

  function show(result, { answer, fresh, conditions, steps }) {
    const isAccepted = answer.status === 200;
    const refused = steps.filter(({ refusal }) => refusal !== undefined);
    const unknown = steps.filter(({ step }) => step === "server");
    const fine = steps.filter((step) => !refused.includes(step) && !unknown.includes(step));
    const verdict = isAccepted ? texts.accepted : voice.t(texts.refused, answer.status, answer.message);
    const parts = [element("h2", verdict)];
    if (fresh !== undefined) {
      const text =
        fresh.status === 200 ? texts.freshAccepted : voice.t(texts.freshRefused, fresh.status, fresh.message);
      parts.push(element("p", text));
    }
    for (const finding of conditions) {
      const part = element("p", sentenceOf(voice, finding));
      part.className = "condition";
      parts.push(part);
    }
    for (const step of refused) parts.push(stepElement(step, step === refused[0] ? texts.cause : texts.also));
    for (const step of unknown) parts.push(stepElement(step));
    const details = document.createElement("details");
    details.append(element("summary", texts.fine), ...fine.map((step) => stepElement(step)));
    result.className = isAccepted ? "accepted" : "refused";
    result.replaceChildren(...parts, details);
    result.scrollIntoView({ block: "start" });
  }

  /** A step with its sentences. Only the cause has a colour, and its label names it too. */
  function stepElement(step, label) {
    const part = document.createElement("div");
    const heading = element("h3", label === undefined ? texts.steps[step.step] : `${label}${texts.steps[step.step]}`);
    if (label === texts.cause) heading.className = "cause";
    const sentences = [step, ...(step.more ?? [])].flatMap(sentencesOf).map((sentence) => element("p", sentence));
    part.append(heading, ...sentences);
    return part;
  }

  /** The text of a finding. A finding that only quotes the English `x-error-detail` gets its meaning before the quotation. */
  function sentencesOf(finding) {
    const sentence = sentenceOf(voice, finding);
    if (language === "en" || finding.violations === undefined) return [sentence];
    return [...violationTexts(voice, finding.violations), `x-error-detail: ${sentence}`];
  }
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
