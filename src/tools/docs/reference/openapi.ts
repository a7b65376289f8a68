import type { JsonSchema } from "../../openapi/json-schema.ts";
import { type Texts, wholeTexts } from "../texts.ts";

/** The parts of openapi.json that the pages use. */
export interface OpenApi {
  info: { version: string; description: string };
  paths: Record<string, PathItem>;
  webhooks: Record<string, { post: Call }>;
  components: {
    schemas: Record<string, JsonSchema>;
    headers: Record<string, Header>;
    responses: Record<string, Answer>;
    securitySchemes: Record<string, { description: string }>;
  };
}

type PathItem = { parameters?: Parameter[] } & { [Each in Method]?: Call };

/** Operators read English: their calls have no Chinese descriptions. What callers and receivers read is whole in each language. */
export const isForOperators = ({ kind }: ShownCall): boolean => kind === "admin" || kind === "health";

/** The texts of a call. What callers and receivers read must be whole, so the build stops at a text that is missing. */
export const textsOfCall = (call: ShownCall, texts: Texts): Texts => (isForOperators(call) ? texts : wholeTexts(texts));

export const METHODS = ["get", "post", "patch", "put", "delete"] as const;
export type Method = (typeof METHODS)[number];

export interface Parameter {
  name: string;
  in: "header" | "path" | "query";
  required?: boolean;
  description?: string;
  schema: JsonSchema;
  example?: unknown;
}

interface Header {
  description: string;
  required?: boolean;
  schema: JsonSchema;
}

interface Content {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { summary: string; value: unknown }>;
}

export interface Answer {
  description: string;
  headers?: Record<string, { $ref: string }>;
  content?: Record<string, Content>;
}

export interface Call {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security?: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; description: string; content: Record<string, Content> };
  responses: Record<string, Answer | { $ref: string }>;
}

/** A call as the reference shows it. */
export interface ShownCall extends Call {
  /** The address of the call's page after `/docs/`. */
  page: string;
  /** The call's short name: `create_gd`, `createSite`, `session.created`. */
  name: string;
  kind: "signed" | "admin" | "health" | "event";
  method: Method;
  path: string;
  /** The parameters of the call and those of its path. */
  parameters: Parameter[];
}

const KINDS: Record<string, ShownCall["kind"]> = {
  "Signed operations": "signed",
  "Admin API": "admin",
  Health: "health",
  Events: "event",
};

/** All calls and events of openapi.json, in the order of the file. */
export function callsOf({ paths, webhooks }: OpenApi): ShownCall[] {
  const calls = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const call = item[method];
      if (call === undefined) return [];
      const kind = KINDS[call.tags[0] ?? ""] ?? "admin";
      const name = kind === "signed" ? (path.split("/").at(-1) ?? "") : call.operationId;
      const parameters = [...(item.parameters ?? []), ...(call.parameters ?? [])];
      return [{ ...call, page: `reference/${name}`, name, kind, method, path, parameters }];
    }),
  );
  const events = Object.entries(webhooks).map(
    ([type, { post }]): ShownCall => ({
      ...post,
      page: `reference/${type}`,
      name: type,
      kind: "event",
      method: "post",
      path: "/your/path",
      parameters: post.parameters ?? [],
    }),
  );
  return [...calls, ...events];
}

/** The answers of a call, each with the name of its component, if it has one. */
export function answersOf(
  call: Call,
  { components }: OpenApi,
): { status: string; component?: string; answer: Answer }[] {
  return Object.entries(call.responses).map(([status, response]) => {
    if (!("$ref" in response)) return { status, answer: response };
    const component = response.$ref.split("/").at(-1) ?? "";
    const answer = components.responses[component];
    if (answer === undefined) throw new Error(`openapi.json has no ${response.$ref}`);
    return { status, component, answer };
  });
}

export type Answers = ReturnType<typeof answersOf>;

/** The headers of answers, each once. */
export function headersOf(answers: { answer: Answer }[], { components }: OpenApi) {
  const names = new Set(answers.flatMap(({ answer }) => Object.keys(answer.headers ?? {})));
  return Object.entries(components.headers)
    .filter(([name]) => names.has(name))
    .map(([name, { schema, description }]) => ({ name, required: false, schema: { ...schema, description } }));
}
