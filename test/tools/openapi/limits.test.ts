import { describe, expect, test } from "vitest";
import type * as z from "zod/mini";
import createSession from "../../../src/core/operations/create-session.ts";
import { DOCUMENTED } from "../../../src/core/operations/index.ts";
import type { Operation } from "../../../src/core/operations/operation.ts";
import { freshnessSchema } from "../../../src/core/signed/check-freshness.ts";
import { readIdempotencyKey } from "../../../src/core/signed/idempotency-key.ts";
import type { AdminCall } from "../../../src/operators/admin/admin-call.ts";
import { ADMIN_CALLS, ADMIN_DOCUMENTATION } from "../../../src/operators/admin/calls.ts";
import { customerExportSchema } from "../../../src/operators/services/customers.ts";
import { reconcileSchema } from "../../../src/operators/services/homes.ts";
import { idCursorSchema } from "../../../src/operators/services/page.ts";
import { newPersonSchema } from "../../../src/operators/services/people.ts";
import { newSiteSchema } from "../../../src/operators/services/sites.ts";
import { adminPaths } from "../../../src/tools/openapi/admin-paths.ts";
import { openApiDocument } from "../../../src/tools/openapi/document.ts";
import type { JsonSchema } from "../../../src/tools/openapi/json-schema.ts";
import { documentedExample } from "../../support/documented-example.ts";
import { World } from "../../support/world.ts";

const document = openApiDocument("1.0.0");
const schemas = document.components.schemas as Record<string, JsonSchema>;

function schemaOf(name: string): JsonSchema {
  const schema = schemas[name];
  if (schema === undefined) throw new Error(`openapi.json has no ${name}`);
  return schema;
}

/** The name and the schema of each documented body, its validators, and a body that is accepted. */
const BODIES: [string, JsonSchema, z.ZodMiniType[], Record<string, unknown>][] = [
  [
    "CreateSession",
    without(schemaOf("CreateSession"), "appid", "sbs"),
    [freshnessSchema, createSession.fields],
    {
      timestamp: 1,
      ranstr: "r",
      sbs: "s",
      ip: "::1",
      sbs_mc: "n",
      content: "c",
      title: "t",
      kefu_id: [1, Number.MAX_SAFE_INTEGER],
      fzr_uid: 1,
    },
  ],
  ...otherOperations(),
  ...adminBodies(),
];

/** Operations that have no line above, with the body of their first example. */
function otherOperations(): typeof BODIES {
  return DOCUMENTED.filter(({ operation }) => operation !== createSession).map(({ operation, documentation }) => {
    const name = schemaName(operation);
    const [example] = Object.values(documentation.examples);
    const schema = without(
      schemaOf(name),
      "appid",
      ...(operation.exactField === undefined ? [] : [operation.exactField]),
    );
    return [name, schema, [freshnessSchema, operation.fields], { timestamp: 1, ranstr: "r", ...example?.fields }];
  });
}

/** Each call of the admin API that has a body. */
function adminBodies(): typeof BODIES {
  return ADMIN_CALLS.flatMap(({ id, body, exactField = "" }) => {
    if (body === undefined) return [];
    const name = ADMIN_DOCUMENTATION[id]().body?.name ?? "";
    // These fields have tests of their own, below.
    const fields = without(schemaOf(name), "home", "cursor", "receipts", "deletions");
    // Without an e-mail address, a person needs a name.
    const named = { ...without(fields, "email"), required: [...(fields.required ?? []), "name"] };
    const schema = id === "addPerson" ? named : fields;
    // A token or a person of one site is no owner.
    const example = documentedExample(/^(createToken|addPerson)$/.test(id) ? without(schema, "site_id") : schema);
    return [[name, without(schema, exactField), [body], example]];
  });
}

function documented({ method, path }: AdminCall) {
  return adminPaths[`/admin${path.replaceAll(/:(\w+)/g, "{$1}")}`]?.[method];
}

/** The name of an operation's schema: `CreateSession` for `create_session`. */
function schemaName({ name }: Operation): string {
  return name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

describe.each(BODIES)("openapi.json describes %s as its schema checks it", (kind, documented, validators, body) => {
  const accepts = (change: Record<string, unknown>) =>
    validators.every((schema) => schema.safeParse({ ...body, ...change }).success);
  const properties = Object.entries(documented.properties ?? {});

  test("a body that openapi.json describes is accepted", () => {
    expect(accepts({})).toBe(true);
    expect(
      Object.keys(body).every((name) => properties.some(([property]) => property === name) || name === "sbs"),
    ).toBe(true);
  });

  test.each(properties)(
    "the field %s is accepted at its documented limits and refused beyond them",
    (name, property) => {
      const own = ownProbes(kind, name, property);
      const { inside, outside } = own ?? probes(property);
      expect(inside.length + outside.length).toBeGreaterThan(1);
      if (own !== undefined) {
        const fits = (value: unknown) => typeof value !== "string" || branchesOf(property).some(fitting(value));
        expect(inside.filter((value) => !fits(value))).toEqual([]);
        expect(outside.filter((value) => typeof value === "string" && fits(value))).toEqual([]);
      }
      expect(inside.filter((value) => !accepts({ [name]: value }))).toEqual([]);
      expect(outside.filter((value) => accepts({ [name]: value }))).toEqual([]);
    },
  );

  test.each(properties)("the field %s is required exactly when openapi.json says so", (name) => {
    expect(accepts({ [name]: undefined })).toBe(!documented.required?.includes(name));
  });

  test("an empty body is accepted exactly when openapi.json requires no field", () => {
    const needsNothing = documented.minProperties === undefined && (documented.required ?? []).length === 0;
    expect(validators.every((schema) => schema.safeParse({}).success)).toBe(needsNothing);
  });

  test("an unknown field is ignored or refused as openapi.json says", () => {
    expect(accepts({ not_a_field: 1 })).toBe(documented.additionalProperties !== false);
  });
});

test("openapi.json describes a person's e-mail address as its schema checks it", () => {
  const { minLength = 0, maxLength = 0 } = (schemaOf("NewPerson").properties?.email ?? {}) as Record<string, number>;
  const accepts = (length: number) =>
    newPersonSchema.safeParse({ email: `${"a".repeat(length - 2)}@b`, role: "viewer" }).success;
  expect([minLength, maxLength].map(accepts)).toEqual([true, true]);
  expect([minLength - 1, maxLength + 1].map(accepts)).toEqual([false, false]);
});

describe("a default", () => {
  test("openapi.json has defaults only in descriptions, because generated clients send a field with a schema default", () => {
    for (const schema of Object.values(schemas)) {
      for (const property of Object.values(schema.properties ?? {})) expect(property).not.toHaveProperty("default");
    }
    expect(schemaOf("CreateSession").properties?.sender_type?.description).toMatch(/\n\nLeft out, it is 2\.$/);
    expect(schemaOf("Rotation").properties?.overlap_seconds?.description).toMatch(/\n\nLeft out, it is 86400\.$/);
  });
});

describe("the limits are the contract's", () => {
  test.each([
    ["sbs_mc", 1, 30],
    ["content", 1, 2000],
    ["title", 1, 120],
    ["ranstr", 1, 128],
  ])("the documented limits of %s are those of the contract: %i to %i characters", (name, minLength, maxLength) => {
    expect(schemaOf("CreateSession").properties?.[name]).toMatchObject({ type: "string", minLength, maxLength });
  });

  test("the documented limits of kefu_id and kefu_ids are those of the contract: 1 to 100 agents", () => {
    expect(schemaOf("CreateSession").properties?.kefu_id).toMatchObject({ minItems: 1, maxItems: 100 });
    expect(schemaOf("AddAgents").properties?.kefu_ids?.anyOf).toEqual([
      expect.objectContaining({ type: "string", pattern: expect.stringContaining("{0,99}") }),
      expect.objectContaining({ type: "array", minItems: 1, maxItems: 100 }),
    ]);
  });
});

test("sbs is a text of 1 to 64 characters or an integer of 1 to 64 digits, as documented", async () => {
  const [text, integer] = schemaOf("CreateSession").properties?.sbs?.anyOf ?? [];
  expect(text).toEqual({ type: "string", minLength: 1, maxLength: 64 });
  expect(integer).toEqual({ type: "integer", exclusiveMinimum: -1e63, exclusiveMaximum: 1e64 });
  const world = await World.create();
  const status = async (sbs: string) => {
    const body = JSON.stringify(world.createBody({ sbs: 0 })).replace('"sbs":0', `"sbs":${sbs}`);
    return (await world.send("create_gd", body)).status;
  };
  for (const sbs of ['"a"', JSON.stringify("😀".repeat(64)), "9".repeat(64), `-${"9".repeat(63)}`, "0"]) {
    expect([sbs, await status(sbs)]).toEqual([sbs, 200]);
  }
  for (const sbs of ['""', JSON.stringify("a".repeat(65)), "1".padEnd(65, "0"), `-${"1".padEnd(64, "0")}`, "1.5"]) {
    expect([sbs, await status(sbs)]).toEqual([sbs, 400]);
  }
});

test("an appid has 1 to 64 characters, as documented", async () => {
  const world = await World.create();
  const status = async (appid: unknown) => (await world.create({ appid })).status;
  for (const operation of [schemaOf("CreateSession"), schemaOf("AddAgents")]) {
    const { inside, outside } = probes(operation.properties?.appid ?? {});
    for (const appid of inside) expect([appid, await status(appid)]).toEqual([appid, 401]);
    for (const appid of outside) expect([appid, await status(appid)]).toEqual([appid, 400]);
  }
});

test("the home of a new site is the name of an existing home, in the documented form", async () => {
  const { pattern } = schemaOf("NewSite").properties?.home ?? {};
  const world = await World.create();
  const status = async (home: unknown) => (await world.admin("POST", "/admin/sites", { name: "n", home })).status;
  for (const home of ["main", "apac"]) {
    expect([home, new RegExp(pattern as string).test(home), await status(home)]).toEqual([home, true, 201]);
  }
  for (const home of ["", "MAIN", "HOME_APAC", "1st", "a".repeat(32)]) {
    expect([home, new RegExp(pattern as string).test(home), await status(home)]).toEqual([home, false, 400]);
  }
});

test("the cursor of an export has up to 16 digits, as documented", () => {
  const { pattern } = schemaOf("CustomerExport").properties?.cursor ?? {};
  for (const cursor of ["0", "9".repeat(16), "", "9".repeat(17), "-1", "a"]) {
    const { success } = customerExportSchema.safeParse({ sbs: "s", cursor });
    expect([cursor, success]).toEqual([cursor, new RegExp(pattern as string).test(cursor)]);
  }
});

test("a reconciliation takes receipts in the form of the answer to an erasure", () => {
  const items = schemaOf("ErasedCustomer").properties?.receipts?.items as JsonSchema;
  const receipt = {
    erasure_id: "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12",
    site_id: 1,
    hash: `1f2e3d4c.${"0".repeat(64)}`,
  };
  const whole = { ...receipt, highest_chat_id: 2, chat_ids: [1, 2] };
  const accepts = (each: object) => reconcileSchema.safeParse({ receipts: [each] }).success;
  expect(accepts(whole)).toBe(true);
  expect(Object.keys(whole)).toEqual(items.required);
  for (const name of Object.keys(whole)) expect([name, accepts({ ...whole, [name]: "x" })]).toEqual([name, false]);
});

test("a reconciliation takes deletions in the form of the answer to a deletion", () => {
  const items = schemaOf("KeptDeletion");
  const hash = `1f2e3d4c.${"0".repeat(64)}`;
  const whole = { deletion_id: "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12", site_id: 1, hash };
  const accepts = (each: object) => reconcileSchema.safeParse({ deletions: [each] }).success;
  expect(accepts(whole)).toBe(true);
  expect(Object.keys(whole)).toEqual(items.required);
  for (const name of Object.keys(whole)) expect([name, accepts({ ...whole, [name]: "x" })]).toEqual([name, false]);
  expect(reconcileSchema.safeParse({ deletions: Array.from({ length: 501 }, () => whole) }).success).toBe(false);
});

test("an Idempotency-Key has 1 to 255 visible ASCII characters, as documented", () => {
  const [parameter] =
    (document.paths as unknown as Record<string, { post: { parameters: { schema: JsonSchema }[] } }>)[
      "/openapi/chat/create_gd"
    ]?.post.parameters ?? [];
  const schema = parameter?.schema as JsonSchema;
  const pattern = new RegExp(schema.pattern as string);
  const accepts = (key: string) => readIdempotencyKey(key).ok;
  for (const key of ["!", "~", "k".repeat(255), "", "k".repeat(256), "a b", "é", "\u007f"]) {
    const fits = key.length >= Number(schema.minLength) && key.length <= Number(schema.maxLength) && pattern.test(key);
    expect([key, accepts(key)]).toEqual([key, fits]);
  }
});

describe("queries accept the documented values", () => {
  /** Whether a parameter is a text from an answer. Such parameters have tests of their own. */
  const isCursor = ({ id }: AdminCall, name: string) => name === "cursor" || (id === "exportSite" && name === "after");
  const parametersOf = (call: AdminCall) => documented(call)?.parameters ?? [];

  const withQuery = ADMIN_CALLS.filter(({ query }) => query !== undefined);

  test.each(withQuery)("the query of $id accepts the documented values", (call) => {
    const schema = call.query as z.ZodMiniType;
    const parameters = parametersOf(call);
    const start = ["listEvents", "exportSite"].includes(call.id) ? "after" : "cursor";
    // Usage and metrics have no pages.
    const ofPages = ["readUsage", "readMetrics"].includes(call.id) ? [] : ["limit", start];
    expect(parameters.map(({ name }) => name)).toEqual(expect.arrayContaining(ofPages));
    for (const { name, schema: documented } of parameters.filter(({ name }) => !isCursor(call, name))) {
      const { inside, outside } = probes(documented);
      expect(inside.length).toBeGreaterThan(0);
      expect([name, ...inside.filter((value) => !accepts(schema, name, value))]).toEqual([name]);
      // A query has only texts, so no text has a wrong type.
      const wrong = outside.filter((value) => documented.type !== "string" || typeof value === "string");
      expect([name, ...wrong.filter((value) => accepts(schema, name, value))]).toEqual([name]);
    }
  });

  test("the cursor of a list has up to 16 digits", () => {
    const [listSites] = withQuery;
    const cursor = parametersOf(listSites as AdminCall).find(({ name }) => name === "cursor")?.schema;
    const pattern = new RegExp(cursor?.pattern as string);
    for (const value of ["0", "9".repeat(16), "", "9".repeat(17), "-1", "a"]) {
      expect([value, idCursorSchema.safeParse(value).success]).toEqual([value, pattern.test(value)]);
    }
  });

  const accepts = (schema: z.ZodMiniType, name: string, value: unknown) =>
    schema.safeParse({ [name]: String(value) }).success;
});

/**
 * The values that an operation's documentation gives for a field.
 *
 * @throws Error for a field with a pattern and no such values, because nobody can derive values from a pattern
 */
function ownProbes(kind: string, field: string, schema: JsonSchema) {
  const { operation, documentation } = DOCUMENTED.find((each) => schemaName(each.operation) === kind) ?? {};
  const own = documentation?.probes?.()[field];
  const isPatterned = JSON.stringify(schema).includes('"pattern":');
  if (own === undefined && isPatterned && operation?.fieldNames.includes(field)) {
    throw new Error(
      `${operation.wireName}: ${field} has a pattern, so documentation.probes.${field} must have values inside and outside`,
    );
  }
  return own;
}

const branchesOf = (schema: JsonSchema) => schema.anyOf ?? [schema];

/** Whether a schema accepts a text, by its own keywords. */
const fitting = (text: string) => (schema: JsonSchema) => {
  const {
    type,
    pattern,
    minLength = 0,
    maxLength = Number.POSITIVE_INFINITY,
  } = schema as {
    type?: string;
    pattern?: string;
    minLength?: number;
    maxLength?: number;
  };
  const { length } = [...text];
  return type === "string" && new RegExp(pattern ?? "", "u").test(text) && length >= minLength && length <= maxLength;
};

/** Values at the limits that a schema states, and the nearest values beyond them. */
function probes(schema: JsonSchema): { inside: unknown[]; outside: unknown[] } {
  const inside: unknown[] = [];
  const outside: unknown[] = [];
  const { minLength, maxLength, minimum, maximum, minItems, maxItems, pattern, format, type } = schema as {
    [keyword: string]: number | undefined;
  } & { pattern?: string; format?: string; type?: string };
  for (const branch of schema.anyOf ?? []) inside.push(...probes(branch).inside);
  // Limits count code points, and this character has a JavaScript length of 2.
  const unit = pattern === undefined ? "😀" : "a";
  if (minLength !== undefined) inside.push(unit.repeat(minLength));
  if (minLength !== undefined) outside.push(unit.repeat(minLength - 1));
  if (maxLength !== undefined) inside.push(unit.repeat(maxLength));
  if (maxLength !== undefined) outside.push(unit.repeat(maxLength + 1));
  if (pattern !== undefined && minLength !== undefined) {
    const odd = ["é", "\u0000", "\u200b"].map((character) => character.repeat(minLength));
    for (const text of odd) (new RegExp(pattern).test(text) ? inside : outside).push(text);
  }
  if (type === "string" && minLength !== undefined) outside.push(1, null);
  if (minimum !== undefined) inside.push(minimum);
  if (minimum !== undefined) outside.push(minimum - 1);
  if (maximum !== undefined) inside.push(maximum);
  if (maximum !== undefined) outside.push(maximum + 1);
  if (type === "integer") outside.push(1.5, "x", null);
  const choices = (schema.items as JsonSchema | undefined)?.enum as unknown[] | undefined;
  const ids = (count: number) => Array.from({ length: count }, (_, i) => choices?.[0] ?? i + 1);
  if (type === "boolean") inside.push(true, false);
  if (type === "boolean") outside.push("true", 1, null);
  if (choices !== undefined) inside.push(choices);
  if (choices !== undefined) outside.push(["another"], "another", null);
  if (minItems !== undefined) inside.push(ids(minItems));
  if (minItems !== undefined) outside.push(ids(minItems - 1));
  if (maxItems !== undefined) inside.push(ids(maxItems));
  if (maxItems !== undefined) outside.push(ids(maxItems + 1));
  const isNullable = schema.anyOf?.some((branch) => branch.type === "null") === true;
  if (isNullable) inside.push(null);
  if (schema.anyOf !== undefined) outside.push({}, true, ...(isNullable ? [] : [null]), ...ofArrays(schema.anyOf));
  if (isNullable)
    outside.push(...(schema.anyOf ?? []).flatMap((branch) => probes(branch).outside).filter((value) => value !== null));
  if (format === "ipv4") inside.push("127.0.0.1", "255.255.255.255");
  if (format === "ipv6") inside.push("::1", "2001:db8::1");
  if (schema.anyOf?.some((branch) => branch.format !== undefined)) outside.push("256.0.0.1", "localhost", "1::2::3");
  const allowedValues = schema.enum as unknown[] | undefined;
  if (allowedValues !== undefined) inside.push(...allowedValues);
  if (allowedValues !== undefined) outside.push("another", 0, 4);
  return { inside, outside };
}

const ofArrays = (branches: JsonSchema[]) =>
  branches.filter(({ type }) => type === "array").flatMap((branch) => probes(branch).outside);

/** Leaves out fields that have tests of their own. */
function without(schema: JsonSchema, ...names: string[]): JsonSchema {
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => !names.includes(name));
  return { ...schema, properties: Object.fromEntries(properties) };
}

test.each(["NewSite", "SiteChange", "NewApp", "NewAgent", "AgentChange"] as const)(
  "the documented pattern for the name of %s accepts the same as its validator",
  (kind) => {
    const { pattern, minLength, maxLength } = schemaOf(kind).properties?.name ?? {};
    expect([minLength, maxLength]).toEqual([1, 100]);
    const documented = new RegExp(pattern as string, "u");
    for (const name of ["a", " a ", "林晓雯", "😀".repeat(100), "a\u200db", "\u200fשלום", "O'Neil-Şahin", "é", "0"]) {
      expect([name, documented.test(name), newSiteSchema.safeParse({ name }).success]).toEqual([name, true, true]);
    }
    const invisible = [" ", "\u00a0\u3000", "\u200b", "\u2060\ufeff", "\u00ad", "\u3164", "\u2800", "\ufe0f", "\u202e"];
    const control = ["\u0000", "a\u0000", "a\tb", "a\nb", "\r", "\u001b[1ma", "a\u007f", "\u0085"];
    const direction = ["\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"];
    for (const name of [...invisible, ...control, ...direction.flatMap((each) => [`a${each}`, `${each}a`])]) {
      expect([name, documented.test(name), newSiteSchema.safeParse({ name }).success]).toEqual([name, false, false]);
    }
  },
);
