import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import type { UnknownEvent, WebhookEvent } from "../src/client/event.ts";
import { verifyEvent } from "../src/client/verify-event.ts";
import { OPERATIONS } from "../src/core/operations/index.ts";
import { OWN_EVENT_TYPES, PING } from "../src/core/store/event-schema.ts";
import { POST_LIMIT_MS } from "../src/events/post.ts";
import { nextAttemptAt } from "../src/events/schedule.ts";
import { LEASE_SECONDS, MOST_IN_FLIGHT, MOST_IN_FLIGHT_FAILING } from "../src/events/store/deliveries.ts";
import { FAILING_DAYS } from "../src/events/store/webhook-health.ts";
import { MOST_WEBHOOKS } from "../src/operators/store/home/webhooks.ts";
import { openApiDocument } from "../src/tools/openapi/document.ts";
import { rowsOf } from "./support/markdown.ts";

const pagesOf = (files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [path.replace("../docs/", ""), text]));
const PAGES = pagesOf(import.meta.glob("../docs/**/*.md", { query: "?raw", import: "default", eager: true }));
const SOURCES = Object.values<string>(
  import.meta.glob("../src/events/**/*.ts", {
    query: "?raw",
    import: "default",
    eager: true,
  }),
).join("\n");
const [WRANGLER = ""] = Object.values<string>(
  import.meta.glob("../wrangler.toml", { query: "?raw", import: "default", eager: true }),
);
const EXAMPLES = Object.keys(import.meta.glob("../src/client/examples/[Rr]eceive*"));

const [CLIENT_TYPES = ""] = Object.values<string>(
  import.meta.glob("../src/client/event.ts", { query: "?raw", import: "default", eager: true }),
);

/** The events that have a type in the client. All other events arrive there as events of an unknown type. */
const TYPES = [...CLIENT_TYPES.matchAll(/EventOf<\s*"([\w.]+)"/g)].map(([, type = ""]) => type);

const pageOf = (name: string) => {
  const page = PAGES[name];
  if (page === undefined) throw new Error(`there is no docs/${name}`);
  return page;
};

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  enum?: string[];
  $ref?: string;
}
const document = JSON.parse(JSON.stringify(openApiDocument("1.0.0"))) as {
  components: { schemas: Record<string, Schema> };
};

/** The fields of an event's data, by an event type such as `session.agents_added`. */
const fieldsOf = (type: string): Record<string, Schema> => {
  const name = type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return document.components.schemas[`${name}Data`]?.properties ?? {};
};

const dataOf = (type: string) => Object.keys(fieldsOf(type));

/** Seconds between a failed attempt and the next one, without jitter; null after the last attempt. */
const pauseAfter = (attempt: number) => nextAttemptAt({ random: () => 0.5 }, attempt, 0);

/** Writes seconds as the pages do: 300 is `5 min`. */
const inWords = (seconds: number, [s, min, h]: string[]) => {
  if (seconds < 60) return `${seconds} ${s}`;
  return seconds < 3600 ? `${seconds / 60} ${min}` : `${seconds / 3600} ${h}`;
};

describe.each([
  ["receiving.md", ["s", "min", "h"]],
  ["zh/receiving.md", ["秒", "分钟", "小时"]],
])("docs/%s", (name, units) => {
  const page = pageOf(name);

  it("the request shown by the page on receiving verifies with the secret on that page", async () => {
    const [, head = "", body = ""] = page.match(/^```http\n(.*?)\n\n(.*?)\n```$/ms) ?? [];
    const headers = Object.fromEntries([...head.matchAll(/^([\w-]+): (.*)$/gm)].map(([, key, value]) => [key, value]));
    const [secret = ""] = page.match(/whsec_[\w+/]{40,}=*/) ?? [];
    const event = await verifyEvent(headers, body, secret, { now: Number(headers["webhook-timestamp"]) });
    expect(OPERATIONS.map(({ eventType }) => eventType)).toContain(event.type);
    expect(Object.keys(event.data)).toEqual(dataOf(event.type));
    expect(headers["user-agent"]).toBe("agent-session-webhooks/1");
    expect(SOURCES).toContain('"user-agent": "agent-session-webhooks/1"');
  });

  it("the page on receiving gives the schedule, the timeout and the limits of the code", () => {
    const attempts = [1, 2, 3, 4, 5, 6, 7, 8];
    const pauses = attempts.map(pauseAfter);
    expect(pauses.at(-1)).toBeNull();
    const row = rowsOf(page).find((cells) => cells.length === 9 && cells[1]?.startsWith("5 "));
    expect(row?.slice(1, -1)).toEqual(pauses.slice(0, -1).map((seconds) => inWords(seconds ?? 0, units)));
    const hours = pauses.reduce<number>((sum, seconds) => sum + (seconds ?? 0), 0) / 3600;
    expect(Math.round(hours)).toBe(30);
    expect([POST_LIMIT_MS, FAILING_DAYS, MOST_IN_FLIGHT, MOST_IN_FLIGHT_FAILING]).toEqual([15_000, 5, 20, 3]);
    for (const number of ["15", "5", "20", "3", "30"]) expect(page).toMatch(new RegExp(`(^|\\D)${number}\\D`));
  });

  it("the page on receiving links to the example receiver of each language", ({ skip }) => {
    expect(EXAMPLES).toHaveLength(5);
    skip(/<!-- made: receivers -->\s*<!-- \/made -->/.test(page), "npm run tables has not run");
    const up = name.startsWith("zh/") ? "../" : "";
    for (const path of EXAMPLES) expect(page).toContain(`](${up}${path})`);
  });
});

describe("the messages of standardwebhooks", () => {
  const requireHere = createRequire(import.meta.url);
  const library = requireHere.resolve("standardwebhooks");
  const sources = [library, createRequire(library).resolve("@stablelib/base64")].map((path) =>
    readFileSync(path, "utf8"),
  );

  const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
  const at = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds);
  const headers = { "webhook-id": "evt_1", "webhook-timestamp": at(0), "webhook-signature": "v1,AAAA" };
  const verify = (body: unknown, own: object = headers) =>
    new Webhook(secret).verify(body as string, own as Record<string, string>);

  /** What each cause on the page does. */
  const CAUSES: Record<string, (() => unknown)[]> = {
    "No matching signature found": [
      () => verify("{}"),
      // What the page advises where the library finds no headers, or no Buffer.
      () => verify(Buffer.from(new Uint8Array(2)), Object.fromEntries(new Headers(headers))),
    ],
    "Expected payload to be of type string or Buffer.": [
      () => verify({ type: "ping" }),
      () => verify(new Uint8Array(2)),
      () => verify(new ArrayBuffer(2)),
    ],
    "Cannot read properties of undefined (reading 'constructor')": [() => verify(undefined)],
    "Missing required headers": [() => verify("{}", {}), () => verify("{}", new Headers(headers))],
    "Message timestamp too old": [() => verify("{}", { ...headers, "webhook-timestamp": at(-310) })],
    "Message timestamp too new": [() => verify("{}", { ...headers, "webhook-timestamp": at(310) })],
    "Invalid Signature Headers": [() => verify("{}", { ...headers, "webhook-timestamp": "soon" })],
    "Expected secret to be of type string": [() => new Webhook(undefined as unknown as string)],
    "Secret can't be empty.": [() => new Webhook(""), () => new Webhook("whsec_")],
    "Base64Coder: incorrect characters for decoding": [
      () => new Webhook(`"${secret}"`),
      () => new Webhook(`${secret}\n`),
      () => new Webhook(`${secret} `),
    ],
    "Base64Coder: incorrect padding": [() => new Webhook("whsec_AAA"), () => new Webhook(`${secret}==`)],
  };

  it.each(["receiving.md", "zh/receiving.md"])(
    "docs/%s lists each message that standardwebhooks throws, and each cause on it throws its message",
    (name) => {
      const [, part = ""] = pageOf(name).split(/^### .*`standardwebhooks`.*$/m);
      const [table = ""] = part.split(/^## /m);
      const listed = rowsOf(table)
        .map(([message = ""]) => message.replaceAll("`", ""))
        .filter((message) => /[a-z]/.test(message) && message !== "message");
      const thrown = sources.flatMap((source) =>
        [...source.matchAll(/throw new \w*Error\("([^"]+)"\)/g)].map(([, message = ""]) => message),
      );
      expect(thrown.length).toBeGreaterThan(8);
      // The library has no check for a missing body.
      expect([...listed].sort()).toEqual(
        [...thrown, "Cannot read properties of undefined (reading 'constructor')"].sort(),
      );
      for (const message of listed) for (const cause of CAUSES[message] ?? []) expect(cause).toThrow(message);
      expect(Object.keys(CAUSES).sort()).toEqual([...listed].sort());
    },
  );
});

describe("the client's types of events", () => {
  it("the client has types of all events of signed calls and of the service, and of no unknown event", () => {
    // A type error here names an event that WebhookEvent lacks.
    const knownTypes: Exclude<WebhookEvent, UnknownEvent>["type"][] = [
      "session.created",
      "session.agents_added",
      ...OWN_EVENT_TYPES,
      PING,
    ];
    expect(TYPES).toEqual(expect.arrayContaining(knownTypes));
    const existingTypes = [...OPERATIONS.map(({ eventType }) => eventType), ...OWN_EVENT_TYPES, PING];
    expect(existingTypes).toEqual(expect.arrayContaining(TYPES));
  });

  // In openapi.json auto_title may be null. In an event it never is.
  const NARROWER_TYPES: Record<string, string> = { auto_title: "string" };

  it.each(TYPES)(
    "the client's type of the event %s has exactly the fields of openapi.json, with their types",
    (type) => {
      const { seq: _, ...documentedFields } = fieldsOf(type);
      const own = ownFields(type);
      const faults = Object.entries(documentedFields).flatMap(([field, schema]) => {
        const schemaType = NARROWER_TYPES[field] ?? typeOf(schema);
        // A set of words may grow, so the client may use the type string for it.
        const isSaid = [schemaType, schemaType.replace(/"\w+"(?: \| "\w+")*/, "string")].includes(own[field] ?? "");
        return isSaid ? [] : [`src/client/event.ts: ${type} lacks ${field}: ${schemaType}`];
      });
      const unknownFields = Object.keys(own).filter((field) => documentedFields[field] === undefined);
      expect([...faults, ...unknownFields.map((field) => `src/client/event.ts: ${type} has no ${field}`)]).toEqual([]);
    },
  );

  /** The fields of a type's data, as the source spells them. */
  function ownFields(type: string): Record<string, string> {
    const [, block = ""] = CLIENT_TYPES.split(new RegExp(`EventOf<\\s*"${type}",`));
    const [own = ""] = block.replaceAll(/\/\*\*.*?\*\//gs, "").split(/\}\s*>;/);
    return Object.fromEntries(
      [...own.matchAll(/(\w+): ((?:[^;{}]|\{[^{}]*\})+)/g)].map(([, field = "", is = ""]) => [field, is.trim()]),
    );
  }

  /** The TypeScript type of a schema's values. */
  function typeOf({ type = "object", $ref, ...schema }: Schema): string {
    if ($ref !== undefined) return typeOf(document.components.schemas[$ref.split("/").at(-1) ?? ""] ?? {});
    if (Array.isArray(type)) return type.map((each) => typeOf({ ...schema, type: each })).join(" | ");
    if (schema.enum !== undefined) return schema.enum.map((word) => `"${word}"`).join(" | ");
    if (type === "integer") return "number";
    if (type === "array") return `${typeOf(schema.items ?? {})}[]`;
    if (type !== "object") return type;
    if (schema.properties === undefined) return `Record<string, ${typeOf(schema.additionalProperties as Schema)}>`;
    const fields = Object.entries(schema.properties).map(([field, each]) => `${field}: ${typeOf(each)}`);
    return `{ ${fields.join("; ")} }`;
  }
});

describe("the other pages on events", () => {
  it("each reason of a failed delivery in operating/webhooks.md exists in the code", () => {
    const [, table = ""] = pageOf("operating/webhooks.md").split("| `last_error` |");
    const reasons = rowsOf(table.split("\n\n")[0] ?? "").flatMap(([names = ""]) => names.match(/`[^`]+`/g) ?? []);
    expect(reasons.length).toBeGreaterThan(5);
    const isGiven = (reason: string) => {
      const start = reason
        .replaceAll("`", "")
        .replace(/[:.…\d].*$/, "")
        .trim();
      return [`"${start}`, `'${start}'`, `\`${start} \${`].some((text) => SOURCES.includes(text));
    };
    expect(reasons.filter((reason) => !isGiven(reason))).toEqual([]);
  });

  it("operating/webhooks.md forbids WEBHOOK_LOOPBACK in a deployment, and wrangler.toml does not set it", () => {
    expect(pageOf("operating/webhooks.md")).toContain("`WEBHOOK_LOOPBACK`. A deployment must not have it.");
    expect(WRANGLER).toContain("EVENT_RETENTION_DAYS");
    expect(WRANGLER).not.toContain("WEBHOOK_LOOPBACK");
  });

  it("architecture.md says how long a lease lasts, and operating/webhooks.md how many webhooks a site may have", () => {
    const architecture = pageOf("architecture.md").replaceAll(/\s+/g, " ");
    expect(architecture).toContain(`It gives one attempt to one invocation for ${LEASE_SECONDS} s`);
    expect(pageOf("operating/webhooks.md")).toContain(`A site has up to ${MOST_WEBHOOKS}.`);
  });
});
