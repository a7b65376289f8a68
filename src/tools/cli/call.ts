/** `npm run call`: sends one signed call to a running server, or checks a refused one, to find why an integration fails. */
import { sign } from "../../client/sign.ts";
import { OPERATIONS } from "../../core/operations/index.ts";
import { checkCall } from "./check-call.ts";
import { command } from "./command.ts";
import { curlCommand } from "./curl-command.ts";
import { drillCall } from "./drill-call.ts";
import { fillFields, parseObject } from "./fill-fields.ts";
import type { Io } from "./io.ts";
import { readOptions, UsageError } from "./known-options.ts";
import { postSigned, type SignedAnswer, signedHeaders } from "./post-signed.ts";
import { readBody } from "./read-body.ts";

const NAMES = OPERATIONS.map(({ wireName }) => wireName);

const USAGE = `npm run call -- OPERATION BODY [options]

OPERATION is ${choice(NAMES)}.

BODY is a JSON object, @FILE to read it from a file, or - for standard input. appid, timestamp (now) and
ranstr (random) are filled in unless it has them.

  --url URL              where the server is; default http://localhost:8787      (or BASE_URL)
  --appid APPID          the app that calls                                      (or APPID)
  --secret SECRET        its secret                                              (or SECRET)
  --idempotency-key KEY  makes a retry safe
  --raw                  sign and send BODY exactly as given, filling in nothing
  --print-curl           print the signed curl instead of sending
  --help                 this

  npm run call -- create_gd --appid my-shop --secret keep-this-on-your-server \\
    '{"sbs":"customer_001","ip":"127.0.0.1","sbs_mc":"Wang Wei","content":"Hello","kefu_id":[10411],"fzr_uid":10411}'

  npm run call -- check --help    to find out why a request was refused, from what was sent; or what would be of recorded bodies
  npm run call -- drill --help    to rehearse lost answers with your program

Exit code: 0 done, 1 refused or no answer, 2 called wrongly.`;

const OPTIONS = {
  url: { type: "string" },
  appid: { type: "string" },
  secret: { type: "string" },
  "idempotency-key": { type: "string" },
  raw: { type: "boolean" },
  "print-curl": { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/** The names of fields. People give them as options by mistake, but they belong in BODY. */
const FIELDS = [...new Set([...OPERATIONS.flatMap(({ fieldNames }) => fieldNames), "timestamp", "ranstr"])];

const OTHER_COMMANDS = { check: checkCall, drill: drillCall };

export const main = command(
  import.meta,
  (args, io) => {
    const [name = "", ...rest] = args;
    return Object.hasOwn(OTHER_COMMANDS, name)
      ? OTHER_COMMANDS[name as keyof typeof OTHER_COMMANDS](rest, io)
      : call(args, io);
  },
  "npm run call -- --help tells how.",
);

async function call(args: string[], io: Io): Promise<number> {
  const { values, positionals } = readOptions("npm run call -- create_gd …", args, OPTIONS, {
    allowPositionals: true,
    mistaken: FIELDS,
    env: io.env,
  });
  if (values.help === true) {
    io.out(USAGE);
    return 0;
  }
  const [name, bodyArgument, ...rest] = positionals;
  if (name === undefined) throw new UsageError(`Which operation? ${choice(NAMES)}.`);
  const operation = OPERATIONS.find(({ wireName }) => wireName === name);
  if (operation === undefined) throw new UsageError(`"${name}" is no operation. It is ${choice(NAMES)}.`);
  if (bodyArgument === undefined) throw new UsageError("The body is missing: JSON, @FILE or - for standard input.");
  if (rest.length > 0)
    throw new UsageError(`One body, please; in quotes, so that the shell leaves it whole. Left over: ${rest[0]}`);

  const url = `${baseUrl(values.url ?? io.env.BASE_URL ?? "http://localhost:8787")}${operation.path}`;
  const secret = values.secret ?? io.env.SECRET;
  if (!secret) throw new UsageError("The secret is missing: --secret SECRET, or SECRET in the environment.");
  const key = values["idempotency-key"];
  if (key !== undefined && !/^[\x20-\x7e]*$/.test(key)) throw new UsageError("--idempotency-key is not ASCII.");

  const bytes = readBody(bodyArgument, io.stdin);
  const body = values.raw === true ? bytes : withAppid(bytes, values.appid ?? io.env.APPID);
  const headers = signedHeaders(await sign(secret, body), key);
  if (values["print-curl"] === true) {
    io.out(curlCommand(url, headers, body));
    return 0;
  }
  io.out(`POST ${url}\n${new TextDecoder().decode(body)}\n`);
  const answer = await postSigned(url, headers, body);
  show(answer, io);
  return answer.envelope?.code === 1 ? 0 : 1;
}

/** Joins names as in "a, b or c". */
function choice(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

function baseUrl(address: string): string {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) {
    throw new UsageError(`--url "${address}" is not an address like http://localhost:8787.`);
  }
  return address.replace(/\/+$/, "");
}

function withAppid(bytes: Uint8Array, appid: string | undefined): Uint8Array<ArrayBuffer> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError("The body is not UTF-8. To send it just so, signed, add --raw.");
  }
  const fresh = { timestamp: Math.floor(Date.now() / 1000), ranstr: crypto.randomUUID() };
  if (!appid && !Object.hasOwn(parseObject(text), "appid")) {
    throw new UsageError("The appid is missing: --appid APPID, APPID in the environment, or a field of the body.");
  }
  return Buffer.from(fillFields(text, appid ? { appid, ...fresh } : fresh));
}

/** Prints an answer. The last line is the envelope alone, as received, so that programs can read it. */
function show({ status, headers, text, envelope }: SignedAnswer, io: Io): void {
  io.out(`${"status".padEnd(20)} ${status}`);
  for (const name of ["x-request-id", "x-error-detail", "x-ignored-agents", "idempotency-replayed", "retry-after"]) {
    const value = headers.get(name);
    if (value !== null) io.out(`${name.padEnd(20)} ${value}`);
  }
  io.out(text);
  if (envelope === undefined) io.err("This is not an answer of this service: is the URL right?");
  else if (status === 401 && !headers.has("x-error-detail")) {
    io.err("No x-error-detail: the signature was not valid. Wrong secret, or an appid that is unknown or revoked.");
  }
}
