import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

/** Compares real answers with openapi.json, for tests that run in node. */

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape; a wrong access fails the test at once
type Json = any;

export const openApi = JSON.parse(readFileSync(join(import.meta.dirname, "../../src/assets/openapi.json"), "utf8")) as {
  paths: Record<string, Record<string, Json>>;
  components: Json;
};

export const METHODS = ["get", "post", "put", "patch", "delete"];

/** The service's own headers. An answer must have each of them that the document names, and no other of them. */
const OWN_HEADERS = [
  "x-request-id",
  "x-error-detail",
  "idempotency-replayed",
  "retry-after",
  "allow",
  "www-authenticate",
];

const ajv = new Ajv2020({ allErrors: true, formats: { uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/ } });
const validators = new Map<string, ValidateFunction>();

interface Exchange {
  method: string;
  /** Without origin and query. */
  path: string;
  status: number;
  headers: Headers;
  text: string;
}

/**
 * The differences between an answer and the document; empty when there are none.
 *
 * @throws Error when the document does not have the path
 */
export function undocumentedParts({ method, path, status, headers, text }: Exchange): string[] {
  const template = templateOf(path);
  if (template === undefined) throw new Error(`${path} is not in openapi.json`);
  const operations: Json = openApi.paths[template];
  // A method that the path does not have must be answered 405, which each operation of the path documents.
  const operation = operations[method.toLowerCase()] ?? operations[METHODS.find((name) => name in operations) ?? ""];
  if (!(method.toLowerCase() in operations) && status !== 405) return [`${method} is answered with ${status}, not 405`];
  const response = resolve(operation.responses[status]);
  if (response === undefined) return [`the status ${status} is not documented`];
  return [...wrongHeaders(response.headers ?? {}, headers), ...wrongBody(response, headers, text)].map(
    (fault) => `${method} ${template} ${status}: ${fault}`,
  );
}

/** The path in the document's spelling. */
export function templateOf(path: string): string | undefined {
  const templates = Object.keys(openApi.paths).filter((template) =>
    new RegExp(`^${template.replace(/\{[^}]+\}/g, "[^/]+")}$`).test(path),
  );
  const parameters = (template: string) => template.split("{").length;
  return templates.sort((a, b) => parameters(a) - parameters(b))[0];
}

function wrongHeaders(rules: Json, headers: Headers): string[] {
  const ruleByName = new Map(Object.entries(rules).map(([name, each]) => [name.toLowerCase(), resolve(each)]));
  const surplusNames = OWN_HEADERS.filter((name) => headers.has(name) && !ruleByName.has(name));
  const wrong = [...ruleByName].flatMap(([name, { required, schema }]) => {
    const value = headers.get(name);
    if (value === null) return required === true ? [`the header ${name} is missing`] : [];
    const typedValue = schema.type === "integer" ? Number(value) : value;
    return faults(schema, typedValue).map((fault) => `the header ${name} ${fault}`);
  });
  return [...surplusNames.map((name) => `the header ${name} is not documented`), ...wrong];
}

function wrongBody(response: Json, headers: Headers, text: string): string[] {
  if (response.content === undefined) return text === "" ? [] : ["there should be no body"];
  const media = headers.get("content-type")?.split(";")[0] ?? "none";
  const content = response.content[media];
  if (content === undefined) return [`the media type ${media} is not documented`];
  const values = media === "application/x-ndjson" ? text.trimEnd().split("\n") : [text];
  const isText = media === "application/openmetrics-text";
  return values.flatMap((each) =>
    faults(content.schema, isText ? each : JSON.parse(each)).map((fault) => `the body ${fault}: ${each}`),
  );
}

function faults(schema: Json, value: unknown): string[] {
  const fullSchema = withoutReferences(schema);
  const key = JSON.stringify(fullSchema);
  const validate = validators.get(key) ?? ajv.compile(fullSchema);
  validators.set(key, validate);
  return validate(value) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

function withoutReferences(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutReferences);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(resolve(value)).map(([name, each]) => [name, withoutReferences(each)]));
}

function resolve(value: Json): Json {
  if (typeof value?.$ref !== "string") return value;
  return value.$ref
    .slice(2)
    .split("/")
    .reduce((node: Json, name: string) => node[name], openApi);
}
