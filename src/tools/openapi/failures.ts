import type { SignedErrorCode } from "../../core/errors.ts";
import { DOCUMENTED } from "../../core/operations/index.ts";

interface DocumentedCause {
  cause: string;
  cure: string;
}

export interface DescribedRefusal {
  /** The heading of the refusal. */
  name: string;
  causes: readonly DocumentedCause[];
}

/** The refusals of all operations. {@link FAILURES} adds the causes that only some operations have. */
const GENERAL: Readonly<Record<SignedErrorCode, DescribedRefusal>> = {
  invalid_parameters: {
    name: "Invalid parameters",
    causes: [
      {
        cause:
          "A field is missing, has the wrong type or is over its limit, `fzr_uid` is not in `kefu_id`, or the `Idempotency-Key` is not 1 to 255 visible ASCII characters.",
        cure: 'Read `x-error-detail`: it names the field, an item by its position from 1, and the rule. An optional field that you do not want to set is left out, not sent as `null` or `""`. Of several addresses in `X-Forwarded-For`, send one as `ip`. In PHP, an array whose keys have gaps becomes an object: `array_values` makes a list of it.',
      },
      {
        cause:
          "The body is not one JSON object in UTF-8 without a byte order mark, or has no `appid` of 1 to 64 characters. This is looked at before the signature.",
        cure: "`x-error-detail` says which. Send the bytes of one JSON object, with `appid` as a string. A body that is not UTF-8 is often GBK: in Java, take `getBytes(StandardCharsets.UTF_8)`.",
      },
    ],
  },
  token_invalid: {
    name: "Wrong signature, timestamp or ranstr",
    causes: [
      {
        cause:
          "The signature is wrong. With `x-error-detail`: it is missing, or is not 64 hex digits. Without: it was made over other bytes than those sent, or with another secret.",
        cure: "Serialise once, then sign and send that very string. Most often the HTTP library serialised the body again or added a newline, or the secret ends with a space or a newline. Paste what you sent into `/docs/check/`: the page names the cause, and sends nothing.",
      },
      {
        cause:
          "The `appid` is unknown or revoked, or the secret was rotated and its overlap is over. This answer is the same as for a wrong signature, on purpose.",
        cure: "Ask the operator whether the app is in use and what its current secret is.",
      },
      {
        cause:
          "`timestamp` is too far from the service's clock: more than 300 s, unless the operator set another tolerance (`x-error-detail` says which).",
        cure: "Send Unix seconds (10 digits), not milliseconds (13 digits), and keep your server's clock right (NTP). A difference of whole hours is most often local time taken for UTC. Sign each try anew.",
      },
      {
        cause: "`ranstr` was used before by this app (`x-error-detail` says so): the same bytes were sent twice.",
        cure: "Make a new random string for each request, retries included, and sign again.",
      },
    ],
  },
  session_not_found: {
    name: "Session not found",
    causes: [],
  },
  state_forbids: {
    name: "Not allowed in this state",
    causes: [],
  },
  body_too_large: {
    name: "Body too large",
    causes: [
      { cause: "The body is longer than 64 KiB (65,536 bytes).", cure: "Send less; `content` takes 2,000 characters." },
    ],
  },
  media_type_unsupported: {
    name: "Media type not supported",
    causes: [
      {
        cause: "`Content-Type` is not `application/json`, or the request carries a `Content-Encoding`.",
        cure: "Set `Content-Type: application/json`. Many libraries send a form's type unless told otherwise. Do not compress the body.",
      },
    ],
  },
  idempotency_key_reused: {
    name: "Idempotency-Key reused",
    causes: [
      {
        cause:
          "The `Idempotency-Key` was used in the last 24 hours for a request of this app and operation that meant something else.",
        cure: "Use one key for one intended call. To retry, change only `timestamp` and `ranstr`.",
      },
    ],
  },
  route_not_found: {
    name: "No such path",
    causes: [
      {
        cause: "The service has no such path.",
        cure: "Compare the path, letter for letter, with the reference. `BASE_URL` and the path end without a slash: `//openapi` is another path.",
      },
    ],
  },
  method_not_allowed: {
    name: "Method not allowed",
    causes: [
      { cause: "The path is right and the method is not.", cure: "Use the method that the `Allow` header names." },
      {
        cause:
          "A redirect, as from `http` to `https`, turned the POST into a GET. Many libraries do this after a 301 or a 302.",
        cure: "Call the address that it leads to, most often the same with `https://`, and follow no redirect.",
      },
    ],
  },
  too_many_requests: {
    name: "Too many requests",
    causes: [
      {
        cause:
          "Too many requests: of this app (more than 1,000 in 10 s, or as many malformed ones), of all apps of its site (3,000 in 10 s) or, from one address, with wrong signatures or with unknown appids (300 of each in a minute), unless the operator set other limits. Nothing was done and the `ranstr` is not used up.",
        cure: "Wait as many seconds as `Retry-After` says, then try again.",
      },
    ],
  },
  internal: {
    name: "Internal error",
    causes: [
      {
        cause:
          "A fault of the deployment: a setting is missing, or something unforeseen happened. It is unknown whether the request was done: it was done as a whole, or not at all.",
        cure: "Tell the operator and quote `x-request-id`: with it the operator finds the reason in the log. Then send it again, freshly signed, with the same `Idempotency-Key`.",
      },
    ],
  },
  unavailable: {
    name: "Temporarily unavailable",
    causes: [
      {
        cause:
          "The database did not answer in time. It is unknown whether the request was done: it was done as a whole, or not at all.",
        cure: "Wait as many seconds as `Retry-After` says and send it again, freshly signed, with the same `Idempotency-Key`: then it is done, once.",
      },
      {
        cause:
          "The site, or the home that its data is in, is closed for a while. Nothing was done and the `ranstr` is not used up. `x-error-detail` says so when it is the site.",
        cure: "Wait as many seconds as `Retry-After` says, then try again. If it goes on, ask the operator.",
      },
    ],
  },
};

type DocumentedAnswers = typeof DOCUMENTED;

/** The causes from the rules of operations, in the order of the rules. Equal texts appear once. */
function ownCauses(code: SignedErrorCode, documented: DocumentedAnswers): DocumentedCause[] {
  const causes = documented.flatMap(({ operation, documentation }) =>
    Object.entries(documentation.refusals).filter(([name]) => operation.refusals[name]?.code === code),
  );
  return [...new Map(causes.map(([, words]) => [`${words.cause} ${words.cure}`, words])).values()];
}

/** The description of a refusal by these operations, by default by all operations. */
export function failuresOf(code: SignedErrorCode, documented: DocumentedAnswers = DOCUMENTED): DescribedRefusal {
  const { name, causes } = GENERAL[code];
  return { name, causes: [...causes, ...ownCauses(code, documented)] };
}

/** The descriptions of all refusals of signed requests, for openapi.json and the docs. errors.ts has the messages and statuses. */
export const FAILURES: Readonly<Record<SignedErrorCode, DescribedRefusal>> = Object.fromEntries(
  Object.keys(GENERAL).map((code) => [code, failuresOf(code as SignedErrorCode)]),
) as Record<SignedErrorCode, DescribedRefusal>;
