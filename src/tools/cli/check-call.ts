import { OPERATIONS } from "../../core/operations/index.ts";
import { NONCE_SECONDS } from "../../core/signed/kv-nonces.ts";
import { type Answer, type CallersCheck, checkAsCaller } from "../../operators/diagnosis/check-as-caller.ts";
import { checkBodies, describeBodies } from "../../operators/diagnosis/check-bodies.ts";
import type { CheckStep } from "../../operators/diagnosis/check-form.ts";
import { english, sentenceOf } from "../../operators/diagnosis/words.ts";
import { SCRIPT_TEXTS } from "../docs/check-texts.ts";
import type { Io } from "./io.ts";
import { readOptions, UsageError } from "./known-options.ts";
import { readBody } from "./read-body.ts";

const NAMES = OPERATIONS.map(({ wireName }) => wireName);

const USAGE = `npm run call -- check --body BODY --signature SIGNATURE [options]

Says why a request was refused, from the bytes that were sent. Asks nobody, sends nothing, and prints no secret.

BODY is @FILE for the exact bytes, - for standard input, or the text itself.

  --signature SIGNATURE    the header x-chat-signature, as it was sent
  --secret SECRET          the app's secret                                       (or SECRET)
  --appid APPID            the appid that the operator gave, to compare           (or APPID)
  --operation OPERATION    ${NAMES.join(" or ")}; without it the fields are not checked
  --content-type TYPE      the header Content-Type, empty for none; default: not known
  --content-encoding CODE  the header Content-Encoding, if it was sent
  --idempotency-key KEY    the header Idempotency-Key, if it was sent
  --tolerance SECONDS      how far a timestamp may be off; default 300
  --help                   this

  npm run call -- check --operation create_gd --body @body.json --signature 3fe1d9… --secret keep-this-on-your-server

npm run call -- check --bodies FILE [--operation OPERATION]

Says what the service would refuse of recorded bodies, and prints no value that they have. FILE has one body a line, in UTF-8,
each as it was sent; - is standard input. Without --operation, a body is checked as the call that has most of its fields. The
fields, the form of timestamp and ranstr, and a ranstr that is used again are looked at. Signatures, the age of a timestamp,
apps, agents and sessions are not.

Exit code: 0 the service would accept it (all of them), as far as a caller can know; 1 it would not; 2 called wrongly.`;

const OPTIONS = {
  bodies: { type: "string" },
  body: { type: "string" },
  signature: { type: "string" },
  secret: { type: "string" },
  appid: { type: "string" },
  operation: { type: "string" },
  "content-type": { type: "string" },
  "content-encoding": { type: "string" },
  "idempotency-key": { type: "string" },
  tolerance: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

const TEXTS = SCRIPT_TEXTS.en;

/**
 * `npm run call -- check`: says why a request is refused, without a server.
 *
 * @returns the exit code
 * @throws UsageError
 */
export async function checkCall(args: string[], io: Io): Promise<number> {
  const { values, positionals } = readOptions("npm run call -- check …", args, OPTIONS, {
    allowPositionals: true,
    env: io.env,
  });
  if (values.help === true) {
    io.out(USAGE);
    return 0;
  }
  if (positionals.length > 0)
    throw new UsageError(
      "The body is an option of check: --body @FILE. Something else is left over; is a quotation mark missing?",
    );
  const operation = OPERATIONS.find(({ wireName }) => wireName === values.operation);
  if (values.operation !== undefined && operation === undefined) {
    throw new UsageError(`"${values.operation}" is no operation. It is ${NAMES.join(" or ")}.`);
  }
  const now = Math.floor(Date.now() / 1000);
  if (values.bodies !== undefined) {
    const other = Object.keys(values).find((name) => name !== "bodies" && name !== "operation");
    if (other !== undefined) throw new UsageError(`--bodies goes with --operation alone, without --${other}.`);
    const file = readBody(/^@|^-$/.test(values.bodies) ? values.bodies : `@${values.bodies}`, io.stdin);
    const checked = checkBodies(file, operation === undefined ? OPERATIONS : [operation], now, NONCE_SECONDS);
    if (checked.bodies === 0) throw new UsageError("The file has no body. It must have one body a line.");
    for (const line of describeBodies(checked)) io.out(line);
    return checked.passed === checked.bodies ? 0 : 1;
  }
  if (values.body === undefined) throw new UsageError("The body is missing: --body @FILE, - or the text itself.");
  if (values.signature === undefined)
    throw new UsageError("The signature is missing: --signature, empty if none was sent.");
  const secret = values.secret ?? io.env.SECRET;
  if (!secret) throw new UsageError("The secret is missing: --secret SECRET, or SECRET in the environment.");
  const tolerance = Number(values.tolerance || 300);
  if (!Number.isInteger(tolerance) || tolerance < 0)
    throw new UsageError(`--tolerance "${values.tolerance}" is no number of seconds.`);
  const check = await checkAsCaller({
    operation,
    operations: OPERATIONS,
    body: readBody(values.body, io.stdin),
    signature: values.signature,
    secret,
    appid: values.appid ?? io.env.APPID,
    contentType: values["content-type"],
    contentEncoding: values["content-encoding"],
    idempotencyKey: values["idempotency-key"],
    now,
    tolerance,
  });
  // A body may hold the secret in a wrong place, and a finding may quote it. So the secret is hidden.
  for (const line of linesOf(check)) io.out(line.replaceAll(secret, "…"));
  return check.answer.status === 200 ? 0 : 1;
}

function linesOf({ answer, fresh, conditions, steps }: CallersCheck): string[] {
  const verdict = (accepted: string, refused: string, { status, message }: Answer) =>
    status === 200 ? accepted : english.t(refused, status, message);
  const lines = [verdict(TEXTS.accepted, TEXTS.refused, answer)];
  if (fresh !== undefined) lines.push(verdict(TEXTS.freshAccepted, TEXTS.freshRefused, fresh));
  lines.push(...conditions.map((finding) => sentenceOf(english, finding)));
  const refused = steps.filter(({ refusal }) => refusal !== undefined);
  const labelOf = (step: CheckStep) => (step === refused[0] ? TEXTS.cause : refused.includes(step) ? TEXTS.also : "");
  return [...lines, ...steps.map((step) => `${labelOf(step)}${TEXTS.steps[step.step]}: ${sentences(step)}`)];
}

const sentences = (step: CheckStep) =>
  [step, ...(step.more ?? [])].map((finding) => sentenceOf(english, finding)).join(" ");
