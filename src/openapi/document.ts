import { adminPaths } from "./admin-operations.ts";
import { adminSchemas } from "./admin-schemas.ts";
import { exactly, failures, header, headers, responses, securitySchemes, string } from "./components.ts";
import { signedPaths, signedSchemas } from "./signed-operations.ts";

const health = (status: string[], d1: string) =>
  exactly({
    status: string("`degraded` when only KV fails or is not bound, `down` when D1 does not answer.", { enum: status }),
    d1: string("The database.", { const: d1 }),
    kv: string("The worse of the two namespaces.", { enum: ["ok", "down", "absent"] }),
  });

const healthPaths = {
  "/healthz": {
    get: {
      tags: ["Health"],
      security: [],
      operationId: "health",
      summary: "Is it well?",
      description: "Asks D1 and KV, at most every 5 s in an isolate. Needs no token.",
      responses: {
        200: {
          description: "It serves.",
          headers: header("x-request-id"),
          content: {
            "application/json": {
              schema: health(["ok", "degraded"], "ok"),
              example: { status: "ok", d1: "ok", kv: "ok" },
            },
          },
        },
        503: {
          description: "The database does not answer.",
          headers: header("x-request-id"),
          content: {
            "application/json": {
              schema: health(["down"], "down"),
              example: { status: "down", d1: "down", kv: "ok" },
            },
          },
        },
        ...failures("method_not_allowed", "internal"),
      },
    },
  },
};

const DESCRIPTION = `
A back end opens a customer-support session, with its customer, its agents and its first message, in one signed call.

New here? [The guide](/docs/) goes from nothing to a first accepted call, shows how to sign in six languages, lists every
refusal with its cause and cure, and says how to retry safely.

- **One envelope.** A signed operation always answers \`{"code", "msg", "data"}\`: \`code\` is 1 for success and -1 for a
  refusal. Each refusal has a message and an HTTP status of its own; a deployment with \`ERROR_STATUS = "always-200"\` answers
  200 to everything, for callers that read only \`code\`.
- **What an answer promises.** A success is wholly in the store; a 4xx is not in it at all; a 503 is unknown: whole or nothing, and
  retrying with the same Idempotency-Key settles which.
- **Characters** are Unicode code points. Text is kept as it is sent, nothing is trimmed; text that is not well-formed Unicode is
  refused.
`.trim();

/** Makes openapi.json from the schemas that validate. */
export function openApiDocument(version: string) {
  return {
    openapi: "3.1.0",
    info: {
      title: "Agent Session API",
      version,
      summary: "Open customer-support sessions and add agents to them, signed with HMAC-SHA256.",
      description: DESCRIPTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The deployment that serves this document" }],
    tags: [
      { name: "Signed operations", description: "For back ends: signed with the secret of an app." },
      { name: "Admin API", description: "For operators: with the ADMIN_TOKEN. Errors are problem details, RFC 9457." },
      { name: "Health", description: "For monitors." },
    ],
    paths: { ...signedPaths, ...adminPaths, ...healthPaths },
    components: { securitySchemes, schemas: { ...signedSchemas, ...adminSchemas }, headers, responses },
  };
}
