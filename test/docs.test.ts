import { describe, expect, it } from "vitest";
import { MAX_TOLERANCE_SECONDS } from "../src/config.ts";
import { WIRE_ERRORS } from "../src/errors.ts";
import type { AdminCall } from "../src/http/admin/call.ts";
import { ADMIN_CALLS } from "../src/http/admin/calls.ts";
import { openApiDocument } from "../src/openapi/document.ts";
import { ACCEPTED_VECTOR, DOCUMENTED_VECTOR, VECTOR_SECRET } from "../src/openapi/signature-vectors.ts";
import { IDEMPOTENCY_SECONDS } from "../src/signed/idempotency-key.ts";
import { NONCE_SECONDS } from "../src/signed/kv-nonces.ts";
import { TRIES, TRY_LIMIT_MS, WHOLE_LIMIT_MS } from "../src/store/run-batch.ts";
import { anchorsOf, brokenLinks, linksOf, rowsOf } from "./support/markdown.ts";

/** The pages, by their paths from the project's folder. */
const fromRoot = <Value>(files: Record<string, Value>): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(files).map(([path, value]) => [new URL(path, "root:/test/").pathname.slice(1), value]),
  );

const PAGES = fromRoot(
  import.meta.glob(["../*.md", "../docs/**/*.md", "../src/client/README.md"], {
    query: "?raw",
    import: "default",
    eager: true,
  }),
);
const SOURCES = fromRoot(
  import.meta.glob(["../src/**/*.{ts,tsx}", "!../src/assets/**"], {
    query: "?raw",
    import: "default",
    eager: true,
  }),
);
const SETTINGS = fromRoot(
  import.meta.glob(["../package.json", "../wrangler.toml"], { query: "?raw", import: "default", eager: true }),
);
/** Every file that a page may link to. Only the paths are used; no file is read. */
const FILES = [
  // Vite leaves out the importing file itself.
  "test/docs.test.ts",
  ...Object.keys(
    fromRoot(
      import.meta.glob([
        "../*",
        "../docs/**",
        "../src/**",
        "../.ci/**",
        "../.github/**",
        "./**/*.ts",
        "!../src/assets/docs/**",
        "!./generated-clients/**",
      ]),
    ),
  ),
];

const textOf = (path: string, texts = PAGES) => {
  const text = texts[path];
  if (text === undefined) throw new Error(`there is no ${path}`);
  return text;
};

const README = textOf("README.md");
const CONTRACT = textOf("docs/contract.md");
const OPERATING = textOf("docs/operating.md");
const DEPLOYING = textOf("docs/deploying.md");
const WRANGLER = textOf("wrangler.toml", SETTINGS);

const { scripts } = JSON.parse(textOf("package.json", SETTINGS)) as { scripts: Record<string, string> };
/** The fields of openapi.json that these tests read. */
interface Rule {
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  anyOf?: Rule[];
  properties?: Record<string, Rule>;
  required?: string[];
}
interface Call {
  requestBody?: { content: Record<string, { schema: { $ref: string } }> };
}
const document = JSON.parse(JSON.stringify(openApiDocument("1.0.0"))) as {
  paths: Record<string, Record<string, Call>>;
  components: { schemas: Record<string, Rule> };
};

/** The limits of a field in the words of the pages: "1 to 64". */
const limitsOf = (rule: Rule): string[] =>
  [rule, ...(rule.anyOf ?? [])]
    .flatMap(({ minLength, maxLength, minItems, maxItems }) => [
      [minLength, maxLength],
      [minItems, maxItems],
    ])
    .filter(([, most]) => most !== undefined)
    .map(([least, most]) => `${least} to ${most}`);

/** What a token of one site gets, in the words of the table. */
const OF_ONE_SITE = { site: "its site", app: "its site", sites: "its site's part", deployment: "–" };

/** The row of a call in the table of the admin API, without its answer. */
function rowOf({ method, path, role, scope, audit }: AdminCall): string {
  const { requestBody } = document.paths[`/admin${path.replaceAll(/:(\w+)/g, "{$1}")}`]?.[method] ?? {};
  const { $ref = "" } = requestBody?.content["application/json"]?.schema ?? {};
  const { properties = {}, required = [] } = document.components.schemas[$ref.split("/").at(-1) ?? ""] ?? {};
  const fields = Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`));
  const body = requestBody === undefined ? "" : ` \`{${fields.join(", ")}}\``;
  const left = ([...audit] as string[]).map((action) => `\`${action}\``).join(", ");
  return `| \`${method.toUpperCase()} /admin${path}\`${body} | \`${role}\` | ${OF_ONE_SITE[scope]} | … | ${left || "nothing"} |`;
}

/** A number as pages write it in a sentence: 1860 is 1,860. */
const grouped = (number: number) => number.toLocaleString("en");

describe("links of the pages", () => {
  it("lead to files, folders and headings that exist", () => {
    expect(Object.entries(PAGES).flatMap(([path, text]) => linksOf(path, text)).length).toBeGreaterThan(80);
    expect(brokenLinks(PAGES, FILES)).toEqual([]);
  });

  it("lead from the README to every page", () => {
    const reached = new Set(["README.md"]);
    for (const path of reached) {
      for (const { target } of linksOf(path, PAGES[path] ?? "")) if (target in PAGES) reached.add(target);
    }
    expect(Object.keys(PAGES).filter((path) => !reached.has(path))).toEqual([]);
  });

  it("are reported when they are broken", () => {
    const pages = {
      "a.md":
        "[no file](docs/c.md) [no folder](lib/) [heading](docs/b.md#two) [no heading](docs/b.md#2) [here](#one)\n# One",
      "docs/b.md": "## Two\n```\n[in code](no)\n# Three\n```\n`[in code](no)` [in code](#three) ![up](../no.png)",
    };
    expect(brokenLinks(pages, Object.keys(pages))).toEqual([
      ...["a.md → docs/c.md", "a.md → lib/", "a.md → docs/b.md#2"],
      ...["docs/b.md → #three", "docs/b.md → ../no.png"],
    ]);
    expect([...anchorsOf("# 4.1 A `b_c` *d*\n# [X](y) & Z\n# 中文：一\n# A-b\n# A-b")]).toEqual([
      ...["41-a-b_c-d", "x--z", "中文一", "a-b", "a-b-1"],
    ]);
  });

  it("in the code's comments lead to sections of the contract and to pages of docs/", () => {
    const sections = [...CONTRACT.matchAll(/^###? (\d(?:\.\d)?)\.? /gm)].map(([, section]) => section);
    expect(sections).toEqual(["1", "2", "3", "4", "4.1", "4.2", "5", "6", "7", "8", "9"]);
    const named = Object.entries(SOURCES).flatMap(([path, text]) => [
      ...[...text.matchAll(/contract sections? ((?:\d(?:\.\d)?(?:, | and )?)+)/gi)]
        .flatMap(([, list = ""]) => list.match(/\d(?:\.\d)?/g) ?? [])
        .map((section) => ({ path, names: section, there: sections.includes(section) })),
      ...[...text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([name]) => ({ path, names: name, there: name in PAGES })),
    ]);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter(({ there }) => !there)).toEqual([]);
  });
});

describe("the README", () => {
  it("is read in a few minutes: 250 lines at most", () => {
    expect(README.split("\n").length).toBeLessThanOrEqual(250);
  });

  it("names every folder of src/ in its layout; the page on architecture names every part, and neither names others", () => {
    const parts = new Set(FILES.flatMap((file) => file.match(/^src\/([^/]+(?:\/|\.ts$))/)?.[1] ?? []));
    expect(parts.size).toBeGreaterThan(12);
    const layout = (text: string) => text.split(/^ {4}src\/$/m)[1]?.split(/^ {4}migrations\/ /m)[0] ?? "";
    const named = [...layout(textOf("docs/architecture.md")).matchAll(/^ {6}([\w.-]+(?:\/|\.ts)) /gm)].map(
      ([, part]) => part,
    );
    expect(named.sort()).toEqual([...parts].sort());
    const folders = [...parts].filter((part) => part.endsWith("/"));
    expect(folders.filter((part) => !`${layout(README)} `.replaceAll("\n", " ").includes(` ${part} `))).toEqual([]);
  });
});

describe("the numbers of the README", () => {
  it("are those of the page on numbers", () => {
    const [, table = ""] = README.split("\n## Numbers\n");
    const results = rowsOf(table.split("\n## ")[0] ?? "").flatMap(([, result = ""]) => result.split(", "));
    expect(results.length).toBeGreaterThan(7);
    expect(results.filter((result) => !textOf("docs/numbers.md").includes(result))).toEqual([]);
  });
});

describe("commands of the pages", () => {
  it("are scripts of package.json", () => {
    const named = Object.entries(PAGES).flatMap(([path, text]) =>
      [...text.matchAll(/\bnpm run (?:--?[a-z]+ )*([a-z][\w:-]*)/g)].map(([, name = ""]) => ({ path, name })),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ name }) => !(name in scripts))).toEqual([]);
  });

  it("run test files that exist", () => {
    const named = Object.values(PAGES).flatMap((text) => text.match(/\btest\/[\w/.-]+\.ts\b/g) ?? []);
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((file) => !FILES.includes(file))).toEqual([]);
  });
});

describe("the signature vectors", () => {
  it("stand in the README and in the page on integrating: key, bytes and digits", () => {
    const integrating = textOf("docs/integrating.md");
    for (const [text, vectors] of [
      [README, [ACCEPTED_VECTOR]],
      [integrating, [ACCEPTED_VECTOR, DOCUMENTED_VECTOR]],
    ] as const) {
      expect(text).toContain(`\`${VECTOR_SECRET}\``);
      for (const { body, signature } of vectors) {
        expect(text).toContain(`\n${body}\n`);
        expect(text).toContain(signature);
      }
    }
    expect(README).toContain(`printf %s '${ACCEPTED_VECTOR.body}' |\n  openssl dgst -sha256 -hmac ${VECTOR_SECRET}\n`);
  });
});

describe("the tables of the contract", () => {
  const partOf = (section: string) => CONTRACT.split(`\n### ${section} `)[1]?.split(/\n##/)[0] ?? "";

  it.each([
    ["create_gd", "4.1"],
    ["add_kf", "4.2"],
  ])("name each field of %s, whether it is required, and its limits", (operation, section) => {
    const body = document.paths[`/openapi/chat/${operation}`]?.post?.requestBody?.content["application/json"];
    const { properties = {}, required = [] } =
      document.components.schemas[body?.schema.$ref.replace("#/components/schemas/", "") ?? ""] ?? {};
    expect(Object.keys(properties).length).toBeGreaterThan(4);
    for (const [field, rule] of Object.entries(properties)) {
      const inReadme = rowsOf(README).find(
        ([name, callers = ""]) =>
          name === `\`${field}\`` &&
          callers.split(", ").some((each) => ["both", "all", `\`${operation}\``].includes(each)),
      );
      const inContract = rowsOf(partOf(section)).find(([names = ""]) => names.split(", ").includes(`\`${field}\``));
      expect([field, inReadme?.[2]]).toEqual([field, required.includes(field) ? "required" : "optional"]);
      expect([field, inContract?.[1]]).toEqual([field, required.includes(field) ? "yes" : "no"]);
      for (const limit of limitsOf(rule)) {
        expect([field, inReadme?.at(-1)]).toEqual([field, expect.stringContaining(limit)]);
        if (inContract?.at(-1) === "as in 4.1") continue;
        expect([field, inContract?.at(-1)]).toEqual([field, expect.stringContaining(limit)]);
      }
    }
  });

  it("give each refusal with its status and message", () => {
    for (const text of [README, CONTRACT]) {
      for (const { status, message } of Object.values(WIRE_ERRORS)) {
        const row = rowsOf(text).find(
          ([statuses, messages]) =>
            statuses?.split(", ").includes(String(status)) && messages?.includes(`\`${message}\``),
        );
        expect([status, message, row]).toEqual([status, message, expect.arrayContaining([expect.any(String)])]);
      }
    }
  });
});

describe("the pages on the deployment", () => {
  it("name each setting of wrangler.toml, with the value it has there", () => {
    const [, vars = ""] = WRANGLER.match(/^\[vars\]\n(.*?)\n\n/ms) ?? [];
    // Homes, and which of them are closed, differ from deployment to deployment.
    const values = [...vars.matchAll(/^(?!CLOSED_HOMES)([A-Z_]+) = "(.+)"$/gm)].map(([, name, value]) => [
      `\`${name}\``,
      `var, ${value}`,
    ]);
    expect(values.length).toBeGreaterThan(2);
    expect(rowsOf(DEPLOYING).map((cells) => cells.slice(0, 2))).toEqual(expect.arrayContaining(values));
    const bindings = [...WRANGLER.matchAll(/^(?:binding|name) = "(?!HOME_)([A-Z_]+)"$/gm)].map(([, name]) => name);
    const known = rowsOf(DEPLOYING).flatMap(([names = ""]) =>
      [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name),
    );
    expect(bindings).toContain("DB");
    expect(bindings.filter((name) => name !== "ASSETS" && !known.includes(name))).toEqual([]);
  });

  it("name each limit of wrangler.toml, and how often the crons run", () => {
    const limits = [...WRANGLER.matchAll(/^simple = \{ limit = (\d+), period = (\d+) \}$/gm)];
    expect(limits.length).toBeGreaterThan(1);
    for (const [, limit, period] of limits) {
      const said = new RegExp(`\\b${grouped(Number(limit))} (requests|failures) in ${period} s\\b`);
      expect(OPERATING).toMatch(said);
      expect(DEPLOYING).toMatch(said);
    }
    expect(WRANGLER).toContain('crons = ["* * * * *", "*/5 * * * *"]');
    expect(OPERATING).toContain("Every five minutes what has expired is removed");
    expect(OPERATING).toContain("each minute the Worker looks into every open home");
  });

  it("say how long the service remembers and waits", () => {
    const remembered = new RegExp(`remembered (for )?${grouped(NONCE_SECONDS)} s\\b`);
    for (const text of [CONTRACT, OPERATING, textOf("docs/decisions.md")]) expect(text).toMatch(remembered);
    expect(DEPLOYING).toContain(`at most ${MAX_TOLERANCE_SECONDS}`);
    expect(textOf("docs/retrying.md")).toContain(`remembered for ${IDEMPOTENCY_SECONDS / 3600} hours`);
    expect([TRIES, TRY_LIMIT_MS, WHOLE_LIMIT_MS]).toEqual([3, 3_000, 8_000]);
    expect(textOf("docs/architecture.md")).toContain("three tries of 3 s, and 8 s in all");
  });

  it("name every call of the admin API, with its fields, who may make it, and what it leaves in the audit log", () => {
    const [, table = ""] = OPERATING.split("| answer | leaves in the [audit log](#the-audit-log) |");
    const rows = rowsOf(table.split("\n\n")[0] ?? "").filter(([call]) => call?.includes(" /admin/"));
    expect(rows.every(([, , , answer = ""]) => /^20[0-4]\b/.test(answer))).toBe(true);
    const written = rows.map(([call, role, ofOneSite, , left]) => `| ${call} | ${role} | ${ofOneSite} | … | ${left} |`);
    expect(written.sort()).toEqual(ADMIN_CALLS.map(rowOf).sort());
    expect(table).toContain("| `GET /healthz`, no token |");
  });

  it("name only those reasons in the log that the code gives", () => {
    const [, table = ""] = OPERATING.split("| `reason` |");
    const reasons = rowsOf(table.split("\n\n")[0] ?? "").flatMap(([names = ""]) => names.match(/`[a-z0-9_]+`/g) ?? []);
    expect(reasons.length).toBeGreaterThan(15);
    const code = Object.entries(SOURCES)
      .filter(([path]) => path.startsWith("src/"))
      .map(([, text]) => text)
      .join("\n");
    // A reason stands in quotes, or is the name of an operation's own refusal.
    const given = (reason: string) => new RegExp(`"${reason}"|^ {4}${reason}: \\{$`, "m").test(code);
    expect(reasons.filter((reason) => !given(reason.replaceAll("`", "")))).toEqual([]);
  });
});
