import { describe, expect, it } from "vitest";

/** What every part of core may import, and each part above core. */
const LEAVES = [
  "core/describe-violations.ts",
  "core/errors.ts",
  "core/fields.ts",
  "core/homes.ts",
  "core/parse-json.ts",
  "core/request-id.ts",
  "core/result.ts",
  "core/rules.ts",
  "core/runtime.ts",
  "core/sent-as.ts",
  "core/telemetry",
];

/** The parts of core's HTTP that the surfaces of operators share with the signed calls. */
const SHARED_HTTP = [
  "core/http/client-address.ts",
  "core/http/faults.ts",
  "core/http/new-hono.ts",
  "core/http/read-body.ts",
  "core/http/refuse-other-methods.ts",
  "core/http/request-context.ts",
];

/** The rules of the signed path that need nothing of the platform. */
const PURE_STEPS = [
  "core/signed/read-fields.ts",
  "core/signed/check-freshness.ts",
  "core/signed/idempotency-key.ts",
  "core/signed/drill.ts",
];

/** The sign-in by Cloudflare Access. Only "operators/access" imports jose; the settings need the other two files. */
const ACCESS = ["operators/access", "operators/access/role.ts", "operators/access/person-role.ts"];

/** No surface imports another, so that each could be deleted without touching the others. */
const SURFACES = ["operators/admin", "operators/console"];

/**
 * Who may import whom: docs/architecture.md. A part is a folder of src/, or a file beside the folders; a rule may also name
 * one file of a part. Every other import is forbidden. `node:` stands for all of Node's modules.
 */
const MAY_IMPORT: Record<string, string[]> = {
  "index.ts": ["worker.ts"],
  "worker.ts": [
    "core/config.ts",
    "app.ts",
    "config.ts",
    "core/credentials",
    "core/operations",
    "core/store",
    ...LEAVES,
    "events",
    "operators/journal",
    "operators/store/pruning/prune.ts",
    "operators/services/master-key.ts",
    "operators/usage/call-rules.ts",
  ],
  "app.ts": [
    "core/config.ts",
    "config.ts",
    "core/credentials",
    "core/http",
    "core/signed/nonce-memory.ts",
    "core/signed/rate-limit.ts",
    "core/store/stalls.ts",
    ...LEAVES,
    "events/notify-queue.ts",
    "operators/http",
    "operators/journal",
    "operators/surfaces.ts",
    "hono",
    "package.json",
  ],
  "config.ts": ["core/config.ts", "core/homes.ts", "core/telemetry", "operators/access/settings.ts"],

  // The two calls. Nothing here may import anything outside of core.
  "core/http": [
    "core/config.ts",
    "core/signed",
    "core/operations",
    "core/credentials",
    "core/store/run-batch.ts",
    "core/store/stalls.ts",
    ...LEAVES,
    "hono",
  ],
  "core/signed": [
    "core/config.ts",
    "core/signed/verify-signature.ts",
    "core/operations",
    "core/credentials",
    "core/store",
    ...LEAVES,
    "zod",
  ],
  "core/signed/verify-signature.ts": [],
  "core/operations": ["core/store", ...LEAVES, "drizzle-orm", "zod"],
  "core/credentials": ["core/config.ts", "core/store", ...LEAVES],
  "core/store": [...LEAVES, "drizzle-orm"],
  "core/telemetry": ["core/rules.ts"],
  "core/config.ts": ["core/errors.ts", "core/homes.ts", "core/rules.ts"],
  "core/describe-violations.ts": ["core/rules.ts"],
  "core/errors.ts": ["core/fields.ts", "core/rules.ts"],
  "core/fields.ts": ["core/describe-violations.ts", "core/rules.ts", "zod"],
  "core/homes.ts": [],
  "core/parse-json.ts": [],
  "core/request-id.ts": ["core/runtime.ts"],
  "core/result.ts": ["core/errors.ts", "core/rules.ts"],
  "core/rules.ts": [],
  "core/runtime.ts": [],
  "core/sent-as.ts": ["core/rules.ts"],

  // Deliveries. They count their attempts, and write a row into the audit log when they disable a webhook.
  events: [
    "core/config.ts",
    "events/store",
    "core/credentials",
    "core/signed/event-id.ts",
    "core/store",
    "config.ts",
    ...LEAVES,
  ],
  "events/store": [
    "core/store",
    ...LEAVES,
    "operators/store/audit.ts",
    "operators/store/operator-schema.ts",
    "operators/store/usage-schema.ts",
    "drizzle-orm",
  ],

  "operators/surfaces.ts": [
    "operators/http",
    "operators/admin",
    "operators/console",
    "operators/services/operator-memory.ts",
    ...SHARED_HTTP,
  ],
  "operators/http": [
    "core/config.ts",
    "operators/services",
    "operators/journal",
    ...ACCESS,
    "operators/store/audit.ts",
    ...SHARED_HTTP,
    "core/store/run-batch.ts",
    "config.ts",
    ...LEAVES,
    "hono",
    "zod",
    "package.json",
  ],
  "operators/admin": [
    "operators/http",
    "operators/services",
    ...ACCESS,
    "operators/usage/openmetrics.ts",
    ...SHARED_HTTP,
    ...LEAVES,
    "hono",
    "zod",
  ],
  "operators/console": [
    "core/config.ts",
    "operators/http",
    "operators/services",
    ...ACCESS,
    ...SHARED_HTTP,
    "config.ts",
    ...LEAVES,
    "assets/console/names.json",
    "@date-fns/tz",
    "hono",
  ],
  "operators/services": [
    "core/config.ts",
    "operators/diagnosis",
    ...ACCESS,
    "operators/journal",
    "operators/store",
    "operators/usage",
    "events",
    "events/store",
    "core/signed",
    "core/operations",
    "core/credentials",
    "core/store",
    "config.ts",
    ...LEAVES,
    "zod",
  ],
  "operators/journal": ["operators/store", "core/store/run-batch.ts", "core/store/batch.ts", "config.ts", ...LEAVES],
  "operators/usage": ["operators/store", "core/signed/kv-nonces.ts", "core/signed/refusal-reasons.ts"],
  "operators/store": ["operators/access/role.ts", "events/store", "core/store", ...LEAVES, "drizzle-orm"],
  "operators/diagnosis": [
    ...PURE_STEPS,
    "core/sent-as.ts",
    "core/describe-violations.ts",
    "core/errors.ts",
    "core/parse-json.ts",
    "core/result.ts",
    "core/rules.ts",
  ],
  "operators/access": [...ACCESS, "operators/access/settings.ts", "core/runtime.ts", "core/telemetry", "jose"],
  "operators/access/role.ts": [],
  "operators/access/person-role.ts": ["operators/access/role.ts"],
  "operators/access/settings.ts": ["operators/access/person-role.ts"],

  // The parts of tools are never in the Worker.
  "tools/openapi": [
    "core/operations",
    "core/signed/check-freshness.ts",
    "core/signed/drill.ts",
    "core/signed/refusal-reasons.ts",
    "core/credentials",
    "core/store/schema.ts",
    "core/store/event-schema.ts",
    ...LEAVES,
    "operators/admin",
    "operators/services",
    "operators/access/role.ts",
    "operators/store/operator-schema.ts",
    "zod",
  ],
  "tools/docs": [
    "operators/admin",
    "tools/openapi",
    "core/http/read-body.ts",
    "core/operations",
    "core/signed",
    ...LEAVES,
    "operators/diagnosis/check-form.ts",
    "operators/console/violation-texts.ts",
    "hono",
    "marked",
    "minisearch",
    "turndown",
  ],
  "tools/cli": [
    "tools/docs",
    "tools/openapi",
    "client",
    "core/operations",
    "core/describe-violations.ts",
    "core/homes.ts",
    "core/signed/drill.ts",
    "core/signed/kv-nonces.ts",
    "operators/access/person-role.ts",
    "operators/diagnosis",
    "node:",
    "esbuild",
    "@babel/parser",
    "standardwebhooks",
    "wrangler",
  ],
  client: [],
  "client/examples": ["client", "node:"],
};

const PARTS = Object.keys(MAY_IMPORT).sort((a, b) => b.length - a.length);

/** All of these are imports: `import … from "x"`, `export … from "x"`, `import "x"`, `import("x")` and a JSX runtime. */
const IMPORT =
  /^(?:import|export)\b[^;=("']*\bfrom\s*["']([^"']+)["']|^import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']|@jsxImportSource\s+(\S+)/gm;

/** The part that a path below src/ belongs to: the longest match, or the path itself when no rule names it. */
const partOf = (path: string) => PARTS.find((part) => path === part || path.startsWith(`${part}/`)) ?? path;

/** The part and the file that an import names, or the name of the package. */
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
  [...text.matchAll(IMPORT)].map(([, ...names]) => names.find((name) => name !== undefined) ?? "");

/** Every import that no rule allows, as `importer → imported`. */
function forbidden(sources: Record<string, string>): string[] {
  return Object.entries(sources).flatMap(([importer, text]) => {
    const part = partOf(importer);
    const allowedParts = MAY_IMPORT[part];
    if (allowedParts === undefined) return [`${importer} is in no part`];
    return specifiersOf(text)
      .filter((specifier) => !targetsOf(importer, specifier).some((target) => [part, ...allowedParts].includes(target)))
      .map((specifier) => `${importer} → ${specifier}`);
  });
}

/** Every cycle of imports, also of types, as `a → b → a`. Each cycle is found once. */
function circles(sources: Record<string, string>): string[] {
  const importsOf = (file: string) =>
    specifiersOf(sources[file] ?? "")
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => new URL(specifier, `src:/${file}`).pathname.slice(1))
      .filter((imported) => imported in sources);
  const findings: string[] = [];
  const walkedFiles = new Set<string>();
  const walk = (file: string, path: string[]) => {
    const start = path.indexOf(file);
    if (start >= 0) findings.push([...path.slice(start), file].join(" → "));
    if (start >= 0 || walkedFiles.has(file)) return;
    for (const imported of importsOf(file)) walk(imported, [...path, file]);
    walkedFiles.add(file);
  };
  for (const file of Object.keys(sources)) walk(file, []);
  return findings;
}

const SOURCES = Object.fromEntries(
  Object.entries(
    import.meta.glob(["../src/**/*.{ts,tsx}", "!../src/**/*.d.ts"], { query: "?raw", import: "default", eager: true }),
  ).map(([path, text]) => [path.replace("../src/", ""), text]),
);

describe("the import rules", () => {
  it("every import in src/ is allowed by a rule", () => {
    expect(forbidden(SOURCES)).toEqual([]);
  });

  it("no imports in src/ form a cycle, not even imports of types", () => {
    expect(circles(SOURCES)).toEqual([]);
  });

  it("every part that an import rule names exists in src/", () => {
    expect(SOURCES["core/store/claim.ts"]).toContain('from "drizzle-orm"');
    const present = new Set(Object.keys(SOURCES).map(partOf));
    const optional = ["client/examples"];
    expect(PARTS.filter((part) => !present.has(part) && !optional.includes(part))).toEqual([]);
  });

  it("the import rules allow drizzle-orm, hono, jose, @date-fns/tz and node: only in the named parts", () => {
    const users = (name: string) => Object.keys(MAY_IMPORT).filter((part) => MAY_IMPORT[part]?.includes(name));
    expect(users("drizzle-orm")).toEqual(["core/operations", "core/store", "events/store", "operators/store"]);
    expect(users("hono")).toEqual(["app.ts", "core/http", "operators/http", ...SURFACES, "tools/docs"]);
    expect(users("jose")).toEqual(["operators/access"]);
    expect(users("@date-fns/tz")).toEqual(["operators/console"]);
    expect(users("node:")).toEqual(["tools/cli", "client/examples"]);
  });
});

describe("the check of the rules", () => {
  it.each([
    ["core/http/a.ts", 'import { sql } from "drizzle-orm";'],
    ["core/http/a.ts", 'import { admin } from "../../operators/admin/routes.ts";'],
    ["core/http/a.ts", 'import { Journal } from "../../operators/journal/journal.ts";'],
    ["core/http/a.ts", 'import { readConfig } from "../../config.ts";'],
    ["core/http/a.ts", 'export * from "../../client/client.ts";'],
    ["core/operations/a.ts", 'import type { Context } from "hono";'],
    ["core/operations/a.tsx", "/** @jsxImportSource hono/jsx */"],
    ["core/store/a.ts", 'import { Refusals } from "../operations/settlement.ts";'],
    ["core/store/a.ts", 'import { readDatabases } from "../config.ts";'],
    ["core/operations/a.ts", 'import { readDatabases } from "../config.ts";'],
    ["operators/store/a.ts", 'import { readDatabases } from "../../core/config.ts";'],
    ["core/store/a.ts", 'import { deliveries } from "../../events/store/deliveries.ts";'],
    ["core/signed/a.ts", 'import { notifyQueue } from "../../events/notify-queue.ts";'],
    ["core/signed/a.ts", 'import { auditOf } from "../../operators/store/audit.ts";'],
    ["core/signed/verify-signature.ts", 'import { ServiceError } from "../errors.ts";'],
    ["core/signed/verify-signature.ts", 'import { createHmac } from "node:crypto";'],
    ["core/credentials/a.ts", 'import {\n  isKnownToKv,\n  nonceKey,\n} from "../signed/kv-nonces.ts";'],
    ["core/errors.ts", 'import * as z from "zod/mini";'],
    ["core/fields.ts", 'import { ServiceError } from "./errors.ts";'],
    ["core/homes.ts", 'import { ServiceError } from "./errors.ts";'],
    ["core/config.ts", 'import { ok } from "./result.ts";'],
    ["core/a.ts", 'import { ok } from "./result.ts";'],
    ["app.ts", 'import { AccessKeys } from "./operators/access/certs.ts";'],
    ["app.ts", 'import { admin } from "./operators/admin/routes.ts";'],
    ["config.ts", 'import { AccessKeys } from "./operators/access/certs.ts";'],
    ["index.ts", 'import "./core/http/envelope.ts";'],
    ["events/a.ts", 'import { sql } from "drizzle-orm";'],
    ["events/a.ts", 'import { listEvents } from "../operators/services/events.ts";'],
    ["events/store/a.ts", 'import { selectSite } from "../../operators/store/directory/sites.ts";'],
    ["operators/access/settings.ts", 'import { verifyAssertion } from "./verify-assertion.ts";'],
    ["operators/access/a.ts", 'import type { App } from "../../core/http/request-context.ts";'],
    ["operators/admin/a.ts", 'import { show } from "../console/layout.tsx";'],
    ["operators/admin/a.ts", 'import { fail } from "../../core/http/envelope.ts";'],
    ["operators/admin/a.ts", 'import { findSite } from "../store/directory/sites.ts";'],
    ["operators/admin/a.ts", 'import { thing } from "@hono/thing";'],
    ["operators/console/sites/a.tsx", 'import { sqliteTable } from "drizzle-orm/sqlite-core";'],
    ["operators/console/sites/a.tsx", 'import { answerAdminError } from "../../admin/on-error.ts";'],
    ["operators/console/sites/a.tsx", 'import { succeed } from "../../../core/http/envelope.ts";'],
    ["operators/console/sites/a.tsx", 'import { unseal } from "../../../core/credentials/sealed-secret.ts";'],
    ["operators/http/a.ts", 'import { runRequest } from "../../core/signed/run-request.ts";'],
    ["operators/http/a.ts", 'import { createApp } from "../../app.ts";'],
    ["operators/http/a.ts", 'import type { View } from "../console/view.ts";'],
    ["operators/services/a.ts", "import { page } from '../http/page.ts';"],
    ["operators/store/a.ts", 'const a = await import("../services/apps.ts");'],
    ["operators/store/a.ts", 'type A = import("../services/apps.ts").IssueApp;'],
    ["operators/store/a.ts", 'import { readConfig } from "../../config.ts";'],
    ["client/a.ts", 'import { hmac } from "../core/credentials/import-key.ts";'],
    ["client/a.ts", 'import { Hono } from "hono";'],
    ["client/examples/a.ts", 'import { ServiceError } from "../../core/errors.ts";'],
    ["tools/cli/a.ts", 'import { createApp } from "../../app.ts";'],
    ["tools/cli/a.ts", 'import { sql } from "drizzle-orm";'],
    ["tools/openapi/a.ts", 'import { prune } from "../../operators/pruning/prune.ts";'],
  ])("the check refuses this import in %s: %s", (path, text) => {
    expect(forbidden({ [path]: `${text}\n` })).toHaveLength(1);
  });

  it("the check reports a cycle through several files once, also a cycle of types", () => {
    const sources = {
      "a.ts": 'import { b } from "./folder/b.ts";',
      "folder/b.ts": 'import type { C } from "../c.ts";',
      "c.ts": 'export { a } from "./a.ts";\nimport "./d.ts";',
      "d.ts": "",
    };
    expect(circles(sources)).toEqual(["a.ts → folder/b.ts → c.ts → a.ts"]);
    expect(circles({ ...sources, "c.ts": 'import "./d.ts";' })).toEqual([]);
  });

  it("the check reports a file that belongs to no part", () => {
    expect(forbidden({ "helpers/a.ts": "" })).toEqual(["helpers/a.ts is in no part"]);
    expect(forbidden({ "client/a.ts": 'import "../helpers/a.ts";' })).toEqual(["client/a.ts → ../helpers/a.ts"]);
  });

  it.each([
    [
      "operators/console/sites/a.tsx",
      'import { jsx } from "hono/jsx";\nimport { ServiceError } from "../../../core/errors.ts";',
    ],
    [
      "core/signed/a.ts",
      'import { nonceKey } from "./kv-nonces.ts";\nimport { importKey } from "../credentials/import-key.ts";',
    ],
    ["client/examples/a.ts", 'import { sign } from "../sign.ts";\nimport { createHmac } from "node:crypto";'],
    ["tools/cli/a.ts", 'import { AgentSessionClient } from "../../client/client.ts";'],
    ["tools/openapi/a.ts", 'import { AUDIT_ACTIONS } from "../../operators/store/operator-schema.ts";'],
  ])("the check allows this import in %s: %s", (path, text) => {
    expect(forbidden({ [path]: text })).toEqual([]);
  });
});
