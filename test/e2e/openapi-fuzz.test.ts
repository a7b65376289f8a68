import { createHmac, randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { webhookUrlMistake } from "../../src/events/url.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { METHODS, openApi, undocumentedParts } from "../support/matches-openapi.ts";

/** A fuzzer makes requests from openapi.json: requests that the document calls valid, and requests of any kind. */

const RUNS = { numRuns: 30 };

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
type Json = any;
type Operation = { method: string; template: string; operation: Json; parameters: Json[] };

const OPERATIONS: Operation[] = Object.entries(openApi.paths).flatMap(([template, item]) =>
  METHODS.filter((method) => method in item).map((method) => ({
    method: method.toUpperCase(),
    template,
    operation: item[method],
    // A drill withholds the answer that is documented.
    parameters: [...(item.parameters ?? []), ...(item[method].parameters ?? [])].filter(
      ({ name }) => name !== "x-drill",
    ),
  })),
);
const named = OPERATIONS.map((each) => [`${each.method} ${each.template}`, each] as const);

let worker: BuiltWorker;
let site: { siteId: number; appid: string; secret: string };
beforeAll(async () => {
  worker = await startBuiltWorker();
  site = await worker.provision([1, 2, 3]);
});
afterAll(() => worker.close());

const isSigned = ({ template }: Operation) => template.startsWith("/openapi/");

// Signed calls come first, because calls of operators may close the site. Those run several at once, since they mostly wait.
describe.each(named.filter(([, each]) => isSigned(each)))("%s", (_, each) => keepsTheDocument(each));

describe.concurrent.each(named.filter(([, each]) => !isSigned(each)))("%s", (_, each) => keepsTheDocument(each));

function keepsTheDocument({ method, template, operation, parameters }: Operation): void {
  const body = bodyOf(operation);

  test("the service accepts each request that openapi.json calls valid, and answers as documented", async () => {
    const request = fc.record({
      values: valuesOf(parameters),
      body: body === undefined ? fc.constant(undefined) : body,
    });
    await fc.assert(
      fc.asyncProperty(request, async ({ values, body }) => {
        const { status, detail } = await send(method, template, values, body);
        expect(status).toBeLessThan(500);
        // A 400 may be about a rule that JSON Schema cannot express: how fields go together, and which agents and ids a site has.
        if (status === 400) {
          expect(detail).toMatch(
            /^kefu_id: \d+ (unknown|disabled)|"detail":"(first_chat_id: must be above \d|url: a site has at most 10|ends: must not be|(since|until|status)[:.]|site_id: must be a site's id|role: must be viewer or operator for|cursor: is not a next_cursor|after: is not an|name: must (be the name of this site|not look like)|email: (must be one e-mail address|give either|nobody comes))/,
          );
        }
      }),
      RUNS,
    );
  });

  test("the service answers any request as documented, and never with a 5xx", async () => {
    await fc.assert(
      fc.asyncProperty(fc.json({ maxDepth: 3 }), valuesOf(parameters), async (text, values) => {
        const { status } = await send(method, template, values, method === "GET" ? undefined : text);
        expect(status).toBeLessThan(500);
      }),
      RUNS,
    );
  });
}

const ofPairs = named.flatMap(([name, each]) =>
  Object.entries<Json>(schemaOf(each.operation)?.properties ?? {})
    .filter(([, field]) => field.type === "object" && field.properties === undefined)
    .map(([field, schema]) => ({ name, field, schema, each })),
);

describe("a field of pairs", () => {
  test("metadata of create_gd is a field of pairs in openapi.json", () => {
    expect(ofPairs.map(({ name, field }) => `${name} ${field}`)).toContainEqual(
      expect.stringMatching(/^POST \/openapi\/.*create_gd metadata$/),
    );
  });

  test.each(ofPairs)(
    "a field of pairs is refused by name outside its limits: $name $field",
    async ({ field, schema, each }) => {
      const { method, template, operation, parameters } = each;
      const request = fc.record({
        values: valuesOf(parameters),
        body: bodyOf(operation) as Json,
        wrong: wrongPairs(schema),
      });
      await fc.assert(
        fc.asyncProperty(request, async ({ values, body, wrong }) => {
          const { status, detail } = await send(method, template, values, { ...(body as Json), [field]: wrong });
          expect([status, detail]).toEqual([400, expect.stringContaining(`${field}: `)]);
        }),
        RUNS,
      );
    },
  );
});

/** Sends the given request, signed or with the token, and compares the answer with the document. */
async function send(method: string, template: string, values: Record<string, string>, body: unknown) {
  const url = new URL(
    template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? "")),
    worker.url,
  );
  for (const [name, value] of Object.entries(values)) {
    if (name.startsWith("?")) url.searchParams.set(name.slice(1), value);
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(values)) {
    if (name.startsWith(":")) headers.set(name.slice(1), value);
  }
  let text = typeof body === "string" ? body : body === undefined ? undefined : JSON.stringify(body);
  if (template.startsWith("/openapi/")) {
    if (typeof body === "object") text = JSON.stringify(coherent(body as Json));
    headers.set(
      "x-chat-signature",
      createHmac("sha256", site.secret)
        .update(text ?? "")
        .digest("hex"),
    );
  } else {
    if (template === "/admin/sites" && typeof body === "object") text = JSON.stringify(housed(body as Json));
    headers.set("authorization", `Bearer ${worker.adminToken}`);
  }
  if (text !== undefined) headers.set("content-type", "application/json");
  const answer = await fetch(url, { method, headers, ...(text !== undefined && { body: text }) });
  const read = await answer.text();
  const { status } = answer;
  expect(undocumentedParts({ method, path: url.pathname, status, headers: answer.headers, text: read })).toEqual([]);
  return { status, detail: answer.headers.get("x-error-detail") ?? read };
}

/** Signs as this app, with a fresh timestamp and an unused ranstr, and puts fzr_uid among kefu_id. */
function coherent(body: Json): Json {
  const stamp = { appid: site.appid, timestamp: Math.floor(Date.now() / 1000), ranstr: randomUUID() };
  const agents = body.kefu_id !== undefined && { fzr_uid: body.kefu_id[0] };
  return { ...body, ...stamp, ...agents };
}

/** When the body has a home, replaces it with the home that every deployment has. */
const housed = (body: Json): Json => (body.home === undefined ? body : { ...body, home: "main" });

function bodyOf(operation: Json): fc.Arbitrary<Json> | undefined {
  const schema = schemaOf(operation);
  return schema && arbitraryOf(schema);
}

/** The schema of an operation's body; undefined when the operation has no body. */
function schemaOf(operation: Json): Json {
  const schema = operation.requestBody?.content["application/json"].schema;
  return schema && openApi.components.schemas[schema.$ref.split("/").at(-1)];
}

/** Values of parameters by name. Names of query parameters begin with `?`, those of headers with `:`. */
function valuesOf(parameters: Json[]): fc.Arbitrary<Record<string, string>> {
  const marks: Record<string, string> = { path: "", query: "?", header: ":" };
  const entries = parameters.map((each) => [`${marks[each.in]}${each.name}`, arbitraryOf(each.schema).map(String)]);
  const requiredKeys = parameters.filter((each) => each.required).map((each) => each.name);
  return fc.record(Object.fromEntries(entries), { requiredKeys }) as fc.Arbitrary<Record<string, string>>;
}

/** Values that a schema calls valid. */
function arbitraryOf(schema: Json): fc.Arbitrary<Json> {
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(arbitraryOf));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.type === "null") return fc.constant(null);
  if (schema.type === "boolean") return fc.boolean();
  if (schema.type === "integer") {
    // Beyond 2^53 JSON.stringify writes exponents, and the service takes no integer in that form.
    const min = Math.max(schema.minimum ?? schema.exclusiveMinimum, Number.MIN_SAFE_INTEGER);
    const max = Math.min(schema.maximum ?? schema.exclusiveMaximum, Number.MAX_SAFE_INTEGER);
    return fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max));
  }
  if (schema.type === "array") {
    const length = { minLength: schema.minItems, maxLength: schema.maxItems };
    if (schema.uniqueItems) return fc.shuffledSubarray(schema.items.enum, length);
    return fc.array(arbitraryOf(schema.items), { ...length, size: "max" });
  }
  if (schema.type === "object" && schema.properties === undefined) {
    return pairsOf(schema, { minKeys: schema.minProperties, maxKeys: schema.maxProperties });
  }
  if (schema.type === "object") {
    const properties = Object.entries(schema.properties).map(([name, each]) => [name, arbitraryOf(each)]);
    const whole = fc.record(Object.fromEntries(properties), { requiredKeys: schema.required ?? [] });
    return whole.filter((value) => Object.keys(value).length >= (schema.minProperties ?? 0));
  }
  if (schema.format === "uri") {
    const host = fc.domain().filter((name) => webhookUrlMistake(`https://${name}/`, { loopback: false }) === undefined);
    return fc.tuple(host, fc.webPath()).map(([name, path]) => `https://${name}${path}`);
  }
  if (schema.format === "ipv4") return fc.ipV4();
  if (schema.format === "ipv6") return fc.ipV6();
  if (schema.pattern !== undefined) {
    const matching = fc.stringMatching(new RegExp(schema.pattern), { size: "medium" });
    return matching.filter((text) => text.length <= (schema.maxLength ?? Number.POSITIVE_INFINITY));
  }
  const { minLength, maxLength } = schema;
  const text = (length: object) => fc.string({ unit: "binary", size: "max", ...length });
  return fc.oneof(text({ minLength, maxLength }), text({ minLength: maxLength, maxLength }));
}

/** Objects with the given number of pairs, whose names and values the schema calls valid. */
function pairsOf(schema: Json, count: fc.DictionaryConstraints): fc.Arbitrary<Json> {
  return fc.dictionary(arbitraryOf(schema.propertyNames), arbitraryOf(schema.additionalProperties), {
    ...count,
    size: "max",
  });
}

/** Objects of strings with exactly one fault: too many pairs, a name against the pattern, or a value of another type or length. */
function wrongPairs(schema: Json): fc.Arbitrary<Json> {
  const { maxProperties, propertyNames, additionalProperties } = schema;
  const tooMany = pairsOf(schema, { minKeys: maxProperties + 1, maxKeys: maxProperties + 5 });
  const pattern = new RegExp(propertyNames.pattern);
  const name = fc.string({ unit: "binary", size: "max", maxLength: 60 }).filter((text) => !pattern.test(text));
  const tooLong = additionalProperties.maxLength + 1;
  const value = fc.oneof(
    fc.string({ unit: "binary", minLength: tooLong, maxLength: tooLong + 10, size: "max" }),
    fc.jsonValue({ maxDepth: 1 }).filter((json) => typeof json !== "string"),
  );
  const wrongPair = fc.oneof(
    fc.tuple(name, arbitraryOf(additionalProperties)),
    fc.tuple(arbitraryOf(propertyNames), value),
  );
  const few = pairsOf(schema, { maxKeys: maxProperties - 1 });
  return fc.oneof(
    tooMany,
    fc.tuple(few, wrongPair).map(([pairs, [name, value]]) => ({ ...pairs, [name]: value })),
  );
}
