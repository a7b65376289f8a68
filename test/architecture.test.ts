import { describe, expect, it } from "vitest";

const LEAVES = [
  "core/config.ts",
  "core/store",
  "errors.ts",
  "fields.ts",
  "homes.ts",
  "request-id.ts",
  "result.ts",
  "runtime.ts",
  "parse-json.ts",
  "telemetry",
];

/** What other parts may use of the signed path: limits, the memory of used ranstrs, how long a ranstr is remembered, and what a step gets. */
const SHARED = ["signed/rate-limit.ts", "signed/nonce-memory.ts", "signed/kv-nonces.ts", "signed/tools.ts"];

/** The rules of the signed path that need nothing of the platform. */
const PURE_STEPS = ["signed/read-fields.ts", "signed/check-freshness.ts", "signed/idempotency-key.ts"];

/** Who signs in by Cloudflare Access. Only "access" itself imports jose: what the signed path reads of the settings does not. */
const ACCESS = ["access", "access/role.ts", "access/person-role.ts", "access/settings.ts"];

/** No surface imports another, so that each could be deleted without touching the others. */
const SURFACES = ["http/signed", "http/admin", "http/console"];

/**
 * Who may import whom: docs/architecture.md. A part is a folder of src/, or a file beside the folders; a rule may also name
 * one file of a part. An import that no rule names is forbidden. `node:` stands for all of Node's modules.
 */
const MAY_IMPORT: Record<string, string[]> = {
  "index.ts": ["worker.ts"],
  "worker.ts": [
    "app.ts",
    "operations",
    "credentials",
    "services/master-key.ts",
    "store",
    "webhooks",
    "journal",
    "signed/call-rules.ts",
    "config.ts",
    ...LEAVES,
  ],
  "app.ts": [
    "http",
    "http/operators.ts",
    "http/signed",
    "operations",
    "credentials",
    "journal",
    ...SHARED,
    "config.ts",
    "core",
    "webhooks/notify-queue.ts",
    ...LEAVES,
    "hono",
  ],
  core: ["http", "http/signed", "operations", ...LEAVES],
  "core/config.ts": ["errors.ts", "homes.ts"],
  "core/store": ["store", ...LEAVES, "drizzle-orm"],
  "events/store": ["store", ...LEAVES, "drizzle-orm"],
  http: [
    "services",
    "journal",
    ...SHARED,
    ...ACCESS,
    "credentials",
    "store",
    "config.ts",
    ...LEAVES,
    "hono",
    "package.json",
  ],
  "http/operators.ts": ["http", "http/admin", "http/console", "services/operator-memory.ts"],
  "http/signed": ["http", "signed", "operations", "core", "journal", ...LEAVES, "hono"],
  "http/admin": ["http", "services", ...ACCESS, ...LEAVES, "hono", "zod"],
  "http/console": ["http", "services", ...ACCESS, "config.ts", ...LEAVES, "assets/console/names.json", "hono"],
  signed: [
    "operations",
    "credentials",
    ...SHARED,
    "signed/verify-signature.ts",
    "store",
    "webhooks",
    "config.ts",
    ...LEAVES,
    "zod",
  ],
  "signed/verify-signature.ts": [],
  "signed/rate-limit.ts": ["runtime.ts"],
  "signed/tools.ts": [
    "signed/nonce-memory.ts",
    "signed/rate-limit.ts",
    "signed",
    "credentials",
    "core/config.ts",
    "runtime.ts",
    "telemetry",
  ],
  "signed/nonce-memory.ts": ["runtime.ts"],
  "signed/kv-nonces.ts": ["core/config.ts", "runtime.ts", "telemetry"],
  operations: ["store", ...LEAVES, "drizzle-orm", "zod"],
  webhooks: ["events/store", "credentials", "store", "config.ts", ...LEAVES],
  journal: ["store", "config.ts", ...LEAVES],
  services: [
    "signed",
    ...SHARED,
    ...ACCESS,
    "operations",
    "credentials",
    "webhooks",
    "events/store",
    "diagnosis",
    "store",
    "config.ts",
    ...LEAVES,
    "zod",
  ],
  diagnosis: [...PURE_STEPS, "errors.ts", "parse-json.ts", "result.ts"],
  credentials: ["store", "config.ts", ...LEAVES],
  store: ["events/store", "access/role.ts", ...LEAVES, "drizzle-orm"],
  access: [...ACCESS, "runtime.ts", "telemetry", "jose"],
  "access/role.ts": [],
  "access/person-role.ts": ["access/role.ts"],
  "access/settings.ts": ["access/person-role.ts"],
  "config.ts": ["access/settings.ts", "core/config.ts", "homes.ts", "telemetry"],
  "errors.ts": ["fields.ts"],
  "homes.ts": [],
  "result.ts": ["errors.ts"],
  "runtime.ts": [],
  "request-id.ts": ["runtime.ts"],
  telemetry: [],
  "parse-json.ts": [],
  "fields.ts": ["zod"],
  openapi: [
    "operations",
    "signed",
    "diagnosis",
    "services",
    "http/admin",
    "access/role.ts",
    "credentials",
    "store/schema.ts",
    "store/operator-schema.ts",
    ...LEAVES,
    "zod",
  ],
  docs: [
    "openapi",
    "operations",
    "diagnosis/check-as-caller.ts",
    "diagnosis/check-form.ts",
    "diagnosis/words.ts",
    "http/console/details.ts",
    "errors.ts",
    "hono",
    "marked",
    "minisearch",
  ],
  client: [],
  "client/examples": ["client", "node:"],
  cli: [
    "access/person-role.ts",
    "client",
    "docs",
    "openapi",
    "operations",
    "diagnosis",
    "homes.ts",
    "node:",
    "esbuild",
    "@babel/parser",
    "standardwebhooks",
    "wrangler",
  ],
};

const PARTS = Object.keys(MAY_IMPORT).sort((a, b) => b.length - a.length);

/** All of these are imports: `import … from "x"`, `export … from "x"`, `import "x"`, `import("x")` and a JSX runtime. */
const IMPORT =
  /^(?:import|export)\b[^;=("']*\bfrom\s*["']([^"']+)["']|^import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']|@jsxImportSource\s+(\S+)/gm;

/** The part that a path below src/ belongs to: the longest one that matches, or the path itself when no rule names it. */
const partOf = (path: string) => PARTS.find((part) => path === part || path.startsWith(`${part}/`)) ?? path;

/** The part and the file that an import names; of a package, its name. */
function targetsOf(importer: string, specifier: string): string[] {
  if (specifier.startsWith(".")) {
    const path = new URL(specifier, `src:/${importer}`).pathname.slice(1);
    return [partOf(path), path];
  }
  if (specifier.startsWith("node:")) return ["node:"];
  return [specifier.match(/^(@[^/]+\/)?[^/]+/)?.[0] ?? specifier];
}

/** The names in a file's imports. */
const specifiersOf = (text: string): string[] =>
  [...text.matchAll(IMPORT)].map(([, ...named]) => named.find((name) => name !== undefined) ?? "");

/** Every import that no rule allows, as `importer → imported`. */
function forbidden(sources: Record<string, string>): string[] {
  return Object.entries(sources).flatMap(([importer, text]) => {
    const part = partOf(importer);
    const allowed = MAY_IMPORT[part];
    if (allowed === undefined) return [`${importer} is in no part`];
    return specifiersOf(text)
      .filter((specifier) => !targetsOf(importer, specifier).some((target) => [part, ...allowed].includes(target)))
      .map((specifier) => `${importer} → ${specifier}`);
  });
}

/** Every circle of imports, those of types too, as `a → b → a`; each once, from the file where the walk first met it. */
function circles(sources: Record<string, string>): string[] {
  const importsOf = (file: string) =>
    specifiersOf(sources[file] ?? "")
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => new URL(specifier, `src:/${file}`).pathname.slice(1))
      .filter((imported) => imported in sources);
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, path: string[]) => {
    const start = path.indexOf(file);
    if (start >= 0) found.push([...path.slice(start), file].join(" → "));
    if (start >= 0 || done.has(file)) return;
    for (const imported of importsOf(file)) walk(imported, [...path, file]);
    done.add(file);
  };
  for (const file of Object.keys(sources)) walk(file, []);
  return found;
}

const SOURCES = Object.fromEntries(
  Object.entries(
    import.meta.glob(["../src/**/*.{ts,tsx}", "!../src/**/*.d.ts"], { query: "?raw", import: "default", eager: true }),
  ).map(([path, text]) => [path.replace("../src/", ""), text]),
);

describe("the import rules", () => {
  it("hold in every file of src/", () => {
    expect(forbidden(SOURCES)).toEqual([]);
  });

  it("allow no circle, not even of types", () => {
    expect(circles(SOURCES)).toEqual([]);
  });

  it("are checked on real files, and every part that they name exists", () => {
    expect(SOURCES["store/home/claim.ts"]).toContain('from "drizzle-orm"');
    const present = new Set(Object.keys(SOURCES).map(partOf));
    const optional = ["client/examples"];
    expect(PARTS.filter((part) => !present.has(part) && !optional.includes(part))).toEqual([]);
  });

  it("name every package that the Worker may depend on", () => {
    const users = (name: string) => Object.keys(MAY_IMPORT).filter((part) => MAY_IMPORT[part]?.includes(name));
    expect(users("drizzle-orm")).toEqual(["core/store", "events/store", "operations", "store"]);
    expect(users("hono")).toEqual(["app.ts", "http", ...SURFACES, "docs"]);
    expect(users("jose")).toEqual(["access"]);
    expect(users("node:")).toEqual(["client/examples", "cli"]);
  });
});

describe("the check of the rules", () => {
  it.each([
    ["http/routes/a.ts", 'import { sql } from "drizzle-orm";'],
    ["http/console/a.tsx", 'import { sqliteTable } from "drizzle-orm/sqlite-core";'],
    ["operations/a.ts", 'import type { Context } from "hono";'],
    ["operations/a.tsx", "/** @jsxImportSource hono/jsx */"],
    ["store/a.ts", 'import { Refusals } from "../operations/settlement.ts";'],
    ["store/a.ts", 'import { settingsOf } from "../config.ts";'],
    ["signed/verify-signature.ts", 'import { ServiceError } from "../errors.ts";'],
    ["signed/verify-signature.ts", 'import { createHmac } from "node:crypto";'],
    ["signed/kv-nonces.ts", 'import { decide } from "./decide.ts";'],
    ["http/a.ts", 'import { runRequest } from "../signed/run-request.ts";'],
    ["errors.ts", 'import * as z from "zod/mini";'],
    ["app.ts", 'import { AccessKeys } from "./access/certs.ts";'],
    ["config.ts", 'import { AccessKeys } from "./access/certs.ts";'],
    ["http/signed/a.ts", 'import { verifyAssertion } from "../../access/verify-assertion.ts";'],
    ["access/settings.ts", 'import { verifyAssertion } from "./verify-assertion.ts";'],
    ["access/a.ts", 'import { configOf } from "../http/request-context.ts";'],
    ["fields.ts", 'import { ServiceError } from "./errors.ts";'],
    ["homes.ts", 'import { ServiceError } from "./errors.ts";'],
    ["config.ts", 'import { ok } from "./result.ts";'],
    ["client/a.ts", 'import { hmac } from "../credentials/import-key.ts";'],
    ["client/a.ts", 'import { Hono } from "hono";'],
    ["client/examples/a.ts", 'import { ServiceError } from "../../errors.ts";'],
    ["cli/a.ts", 'import { createApp } from "../app.ts";'],
    ["cli/a.ts", 'import { sql } from "drizzle-orm";'],
    ["http/a.ts", 'import { thing } from "@hono/thing";'],
    ["http/a.ts", 'import type { View } from "./console/view.ts";'],
    ["http/admin/a.ts", 'import { show } from "../console/layout.tsx";'],
    ["http/admin/a.ts", 'import { fail } from "../signed/envelope.ts";'],
    ["http/admin/a.ts", 'import { findSite } from "../../store/directory/sites.ts";'],
    ["http/console/sites/a.tsx", 'import { answerAdminError } from "../../admin/on-error.ts";'],
    ["http/console/sites/a.tsx", 'import { succeed } from "../../signed/envelope.ts";'],
    ["http/console/sites/a.tsx", 'import { unseal } from "../../../credentials/sealed-secret.ts";'],
    ["http/signed/a.ts", 'import { answerAdminError } from "../admin/on-error.ts";'],
    ["http/a.ts", 'import { createApp } from "../app.ts";'],
    ["http/a.ts", 'export * from "../client/client.ts";'],
    ["store/a.ts", 'const a = await import("../services/apps.ts");'],
    ["store/a.ts", 'type A = import("../services/apps.ts").IssueApp;'],
    ["index.ts", 'import "./http/envelope.ts";'],
    ["credentials/a.ts", 'import {\n  isKnownToKv,\n  nonceKey,\n} from "../signed/kv-nonces.ts";'],
    ["services/a.ts", "import { page } from '../http/page.ts';"],
    ["openapi/a.ts", 'import { prune } from "../store/prune.ts";'],
  ])("finds that %s may not say %s", (path, text) => {
    expect(forbidden({ [path]: `${text}\n` })).toHaveLength(1);
  });

  it("finds a circle through several files once, also one of types", () => {
    const sources = {
      "a.ts": 'import { b } from "./folder/b.ts";',
      "folder/b.ts": 'import type { C } from "../c.ts";',
      "c.ts": 'export { a } from "./a.ts";\nimport "./d.ts";',
      "d.ts": "",
    };
    expect(circles(sources)).toEqual(["a.ts → folder/b.ts → c.ts → a.ts"]);
    expect(circles({ ...sources, "c.ts": 'import "./d.ts";' })).toEqual([]);
  });

  it("finds a file that belongs to no part", () => {
    expect(forbidden({ "helpers/a.ts": "" })).toEqual(["helpers/a.ts is in no part"]);
    expect(forbidden({ "http/a.ts": 'import "../helpers/a.ts";' })).toEqual(["http/a.ts → ../helpers/a.ts"]);
  });

  it.each([
    ["http/console/sites/a.tsx", 'import { jsx } from "hono/jsx";\nimport { ServiceError } from "../../../errors.ts";'],
    [
      "signed/a.ts",
      'import { nonceKey } from "./kv-nonces.ts";\nimport { importKey } from "../credentials/import-key.ts";',
    ],
    ["client/examples/a.ts", 'import { sign } from "../sign.ts";\nimport { createHmac } from "node:crypto";'],
    ["cli/a.ts", 'import { AgentSessionClient } from "../client/client.ts";'],
    ["openapi/a.ts", 'import { AUDIT_ACTIONS } from "../store/operator-schema.ts";'],
  ])("lets %s say %s", (path, text) => {
    expect(forbidden({ [path]: text })).toEqual([]);
  });
});
