import { adminPaths, adminSchemas } from "./admin-paths.ts";
import { failureResponses, failures, header, headers, securitySchemes, strictObject, string } from "./components.ts";
import { eventSchemas, eventWebhooks } from "./event-webhooks.ts";
import { problemResponses } from "./problems.ts";
import { signedPaths, signedSchemas } from "./signed-operations.ts";

const HOME_STATES = ["ok", "closed", "down"];
const PART_STATES = ["ok", "off", "down"];
const VERSION = string("The version that serves: that of its package.json.");
const FAULT = string("What an operator can mend, in a sentence. There only while there is something.");

const health = (status: string[], directory: string[], more: object, required: string[]) =>
  strictObject(
    {
      status: string(
        "`degraded` when something is down, closed or wrong, and the directory answers; `down` when it does not. A part that is `off` does not change it.",
        { enum: status },
      ),
      version: VERSION,
      directory: string("The database that knows the sites and apps.", { enum: directory }),
      homes: {
        type: "object",
        description:
          "The databases of the sites, by the names of the homes: those that are bound, and those that sites name. `main` is in the directory's own. `closed`: an operator closed it. `down`: it does not answer, is not migrated, or is not bound.",
        properties: { main: string("The home in the directory's database.", { enum: HOME_STATES }) },
        required: ["main"],
        additionalProperties: string("Another home.", { enum: HOME_STATES }),
      },
      kv: string("The worse of NONCES and CREDENTIALS; `off` when one is not bound.", { enum: PART_STATES }),
      queues: string("The worse of EVENTS and JOURNAL; `off` when one is not bound.", { enum: PART_STATES }),
      master_key: string(
        "`down` when MASTER_KEY does not open what is sealed, or the directory does not answer; `off` until the first run of the cron after the first app was issued.",
        { enum: PART_STATES },
      ),
      fault: FAULT,
      ...more,
    },
    { required },
  );

const HEALTH_FIELDS = ["status", "version", "directory", "homes", "kv", "queues", "master_key"];
const SETTING = string(
  "The setting that is wrong. Its value is never told. There in place of the states of the parts.",
);

const healthPathsOf = (version: string) => ({
  "/healthz": {
    get: {
      tags: ["Health"],
      security: [],
      operationId: "health",
      summary: "Is it well?",
      description:
        "Asks every database, KV, the queues and the master key, at most every 5 s in an isolate. Needs no token.",
      responses: {
        200: {
          description: "It serves, perhaps not every home.",
          headers: header("x-request-id"),
          content: {
            "application/json": {
              schema: health(["ok", "degraded"], ["ok"], {}, HEALTH_FIELDS),
              example: {
                status: "ok",
                version,
                directory: "ok",
                homes: { main: "ok", apac: "ok" },
                kv: "ok",
                queues: "ok",
                master_key: "ok",
              },
            },
          },
        },
        503: {
          description:
            "The directory does not answer: apps that a cache knows are served all the same, when their home answers. Or a setting is wrong: then nothing is served.",
          headers: header("x-request-id"),
          content: {
            "application/json": {
              schema: health(["down"], ["down"], { setting: SETTING }, ["status", "version"]),
              example: { status: "down", version, setting: "MASTER_KEY", fault: "MASTER_KEY is not set" },
            },
          },
        },
        ...failures("method_not_allowed"),
      },
    },
  },
});

/** What an answer promises. docs/retrying.md has the same words, which test/docs.test.ts compares. */
export const COMPATIBILITY_PROMISE =
  "A success is stored as a whole. A 4xx has stored nothing. After a 500 or 503 the result is unknown: stored as a whole, or not at all. A retry with the same Idempotency-Key gives certainty.";

const DESCRIPTION = `
A back end opens a customer-support session, with its customer, its agents and its first message, in one signed call.

New here? [The docs](/docs/) go from nothing to a first accepted call, show how to sign in six languages, list every
refusal with its cause and cure, and say how to retry safely.

- **One envelope.** A signed operation always answers \`{"code", "msg", "data"}\`: \`code\` is 1 for success and -1 for a
  refusal. Each refusal has a message and an HTTP status of its own; a deployment with \`ERROR_STATUS = "always-200"\` answers
  200 to everything, for callers that read only \`code\`.
- **What an answer promises.** ${COMPATIBILITY_PROMISE}
- **Characters** are Unicode code points. Text is kept as it is sent, nothing is trimmed; text that is not well-formed Unicode is
  refused.
`.trim();

/** openapi.json. It is made from the same schemas that check requests. */
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
      {
        name: "Events",
        description:
          "For receivers: what the service posts to a site's webhooks, at least once, signed as Standard Webhooks describes it.",
      },
      { name: "Health", description: "For monitors." },
    ],
    paths: { ...signedPaths, ...adminPaths, ...healthPathsOf(version) },
    webhooks: eventWebhooks,
    components: {
      securitySchemes,
      schemas: {
        ...signedSchemas,
        ...adminSchemas,
        ...eventSchemas,
      },
      headers,
      responses: { ...failureResponses, ...problemResponses },
    },
  };
}
