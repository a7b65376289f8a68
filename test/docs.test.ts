import { describe, expect, it } from "vitest";
import { AgentSessionClient } from "../src/client/client.ts";
import { CLOSED_RETRY_SECONDS, MAX_TOLERANCE_SECONDS } from "../src/core/config.ts";
import { WIRE_ERRORS } from "../src/core/errors.ts";
import { IDEMPOTENCY_SECONDS } from "../src/core/signed/idempotency-key.ts";
import { NONCE_SECONDS } from "../src/core/signed/kv-nonces.ts";
import { TRIES, TRY_LIMIT_MS, WHOLE_LIMIT_MS } from "../src/core/store/run-batch.ts";
import { MOST_ATTEMPTS, nextAttemptAt } from "../src/events/schedule.ts";
import { ROLES } from "../src/operators/access/role.ts";
import { roleMeans } from "../src/operators/console/parts/grant.tsx";
import { AUDIT_ACTIONS } from "../src/operators/store/operator-schema.ts";
import { COMPATIBILITY_PROMISE, openApiDocument } from "../src/tools/openapi/document.ts";
import { ACCEPTED_VECTOR, DOCUMENTED_VECTOR, VECTOR_SECRET } from "../src/tools/openapi/signature-vectors.ts";
import { anchorsOf, brokenLinks, linksOf, rowsOf } from "./support/markdown.ts";
import { TABLES } from "./support/tables.ts";

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
const TESTS = fromRoot(
  import.meta.glob(["./**/*.{ts,tsx}", "!./generated-clients/**", "!./last-release/**"], {
    query: "?raw",
    import: "default",
    eager: true,
  }),
);
const SETTINGS = fromRoot(
  import.meta.glob(["../package.json", "../wrangler.toml", "../.ci/check"], {
    query: "?raw",
    import: "default",
    eager: true,
  }),
);
/** Every file that a page may link to. Only the paths are used; no file is read. */
const FILES = [
  // Vite leaves the importing file out of its list.
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
const INTEGRATING = textOf("docs/integrating.md");
const RETRYING = textOf("docs/retrying.md");
/** The pages of operators, one after the other. */
const OPERATING = Object.keys(PAGES)
  .filter((path) => /^docs\/(?:operating(?:\/.*)?|paged)\.md$/.test(path))
  .map((path) => textOf(path))
  .join("\n");
const PEOPLE = textOf("docs/operating/people.md");
const WATCHING = textOf("docs/operating/watching.md");
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
  info: { description: string };
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

/** The text that `npm run tables` has written into a page at the marker with this name; empty before its first run. */
function madeOf(page: string, name: string): string {
  const [, rest] = page.split(`\n<!-- made: ${name} -->\n`);
  if (rest === undefined) throw new Error(`there is no marker of ${name}`);
  return rest.split("\n<!-- /made -->")[0]?.trim() ?? "";
}

/** The text of a page of docs/ under a heading of the second level. */
const sectionOf = (page: string, title: string) =>
  textOf(`docs/${page}`).split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? "";

/** A text without line breaks and quotation marks of Markdown. */
const inOneLine = (text: string) => text.replaceAll(/\n(?:> ?)?/g, " ");

/** A number as pages write it in a sentence: 1860 is 1,860. */
const groupDigits = (number: number) => number.toLocaleString("en");

describe("links of the pages", () => {
  it("every link of the pages leads to a file, folder or heading that exists", () => {
    expect(Object.entries(PAGES).flatMap(([path, text]) => linksOf(path, text)).length).toBeGreaterThan(80);
    expect(brokenLinks(PAGES, FILES)).toEqual([]);
  });

  it("every page can be reached by links from the README", () => {
    const reachedPages = new Set(["README.md"]);
    for (const path of reachedPages) {
      for (const { target } of linksOf(path, PAGES[path] ?? "")) if (target in PAGES) reachedPages.add(target);
    }
    expect(Object.keys(PAGES).filter((path) => !reachedPages.has(path))).toEqual([]);
  });

  it("brokenLinks() reports each broken link", () => {
    const pages = {
      "a.md":
        "[no file](docs/c.md) [no folder](lib/) [heading](docs/b.md#two) [no heading](docs/b.md#2) [here](#one)\n# One",
      "docs/b.md": "## Two\n```\n[in code](no)\n# Three\n```\n`[in code](no)` [in code](#three) ![up](../no.png)",
    };
    expect(brokenLinks(pages, Object.keys(pages))).toEqual([
      "a.md → docs/c.md",
      "a.md → lib/",
      "a.md → docs/b.md#2",
      "docs/b.md → #three",
      "docs/b.md → ../no.png",
    ]);
    expect([...anchorsOf("# 4.1 A `b_c` *d*\n# [X](y) & Z\n# 中文：一\n# A-b\n# A-b")]).toEqual([
      "41-a-b_c-d",
      "x--z",
      "中文一",
      "a-b",
      "a-b-1",
    ]);
  });

  it("what a comment quotes from a page for contributors is a heading, a row or a bold text of this page", () => {
    const comments = Object.entries({ ...SOURCES, ...TESTS }).map(([path, text]) => ({
      path,
      text: text.replaceAll(/\n\s*(?:\*|\/\/) /g, " "),
    }));
    const quotes = comments.flatMap(({ path, text }) =>
      [...text.matchAll(/\bdocs\/(architecture|decisions|simulation)\.md, ("[^"]+"(?:,? and "[^"]+")*)/g)].flatMap(
        ([, page = "", list = ""]) => [...list.matchAll(/"([^"]+)"/g)].map(([, quote = ""]) => ({ path, page, quote })),
      ),
    );
    expect(quotes.length).toBeGreaterThan(15);
    const isThere = ({ page, quote }: (typeof quotes)[number]) =>
      ["# ", "**", "| "].some((mark) => textOf(`docs/${page}.md`).includes(`${mark}${quote}`));
    expect(quotes.filter((each) => !isThere(each))).toEqual([]);
  });

  it("every section of the contract and every page that a comment names exists", () => {
    const sections = [...CONTRACT.matchAll(/^###? (\d(?:\.\d)?)\.? /gm)].map(([, section]) => section);
    expect(sections).toEqual(["1", "2", "3", "4", "4.1", "4.2", "5", "6", "7", "8", "9"]);
    const references = Object.entries(SOURCES).flatMap(([path, text]) => [
      ...[...text.matchAll(/contract sections? ((?:\d(?:\.\d)?(?:, | and )?)+)/gi)]
        .flatMap(([, list = ""]) => list.match(/\d(?:\.\d)?/g) ?? [])
        .map((section) => ({ path, names: section, there: sections.includes(section) })),
      ...[...text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([name]) => ({ path, names: name, there: name in PAGES })),
    ]);
    expect(references.length).toBeGreaterThan(5);
    expect(references.filter(({ there }) => !there)).toEqual([]);
  });
});

describe("the page for contributors", () => {
  it("CONTRIBUTING.md shows the time that CI took for each part of .ci/check", () => {
    const parts = [...textOf(".ci/check", SETTINGS).matchAll(/^ *part (\w+) /gm)].map(([, part]) => part);
    expect(parts.length).toBeGreaterThan(9);
    const times = [...textOf("CONTRIBUTING.md").matchAll(/^\| \w+ \| <!-- made: gate\.(\w+) -->/gm)].map(
      ([, part]) => part,
    );
    expect(times).toEqual(parts);
  });
});

describe("the pages of operators", () => {
  it.each(Object.keys(PAGES).filter((path) => path.startsWith("docs/operating/")))(
    "%s has at most 2,500 words",
    (path) => {
      expect(textOf(path).split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(2500);
    },
  );

  it("the page for whoever is paged has at most 2,000 words", () => {
    expect(textOf("docs/paged.md").split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(2000);
  });
});

describe("the README", () => {
  it.each(["README.md", "README.zh-CN.md"])(
    "%s has at most 5,000 bytes, six bullets and three measured numbers",
    (path) => {
      const page = textOf(path);
      expect(new TextEncoder().encode(page).length).toBeLessThanOrEqual(5000);
      expect(page.match(/^- /gm)).toHaveLength(6);
      expect(page.match(/<!-- made: /g)?.length ?? 0).toBeLessThanOrEqual(3);
    },
  );

  it("the README opens with four lines of code that call create_gd", () => {
    const [, lines = ""] = README.match(/^```sh\n(.*?)^```$/ms) ?? [];
    expect(lines.trimEnd().split("\n")).toHaveLength(4);
    expect(lines).toContain("/openapi/chat/create_gd");
    const before = README.slice(0, README.indexOf("```sh")).replace(/^# .*|^English .*/gm, "");
    expect(before.trim().split("\n").length).toBeLessThanOrEqual(2);
  });
});

describe("the page on architecture", () => {
  it("the layout in architecture.md names exactly the parts of src/", () => {
    // A folder of core, operators or tools is a part too. The layout indents its name by two more blanks.
    const partOf = (file: string) => [
      ...(file.match(/^src\/([^/]+(?:\/|\.ts$))/)?.slice(1) ?? []),
      ...(file.match(/^src\/((?:core|operators|tools)\/[^/]+\/)/)?.slice(1) ?? []),
    ];
    const parts = new Set([...FILES.flatMap(partOf), "operators/surfaces.ts"]);
    expect(parts.size).toBeGreaterThan(20);
    const [, rest = ""] = textOf("docs/architecture.md").split(/^ {4}src\/$/m);
    const [layout = ""] = rest.split(/^ {4}migrations\/ /m);
    let folder = "";
    const namedFiles = [...layout.matchAll(/^ {6}( {2})?([\w.-]+(?:\/|\.ts)) /gm)].map(([, inside, part = ""]) => {
      if (inside === undefined) folder = part;
      return inside === undefined ? part : folder + part;
    });
    expect(namedFiles.sort()).toEqual([...parts].sort());
  });

  it("the core in an hour has at most 20 files of core with at most 2,500 lines", () => {
    const files = rowsOf(sectionOf("architecture.md", "The core in an hour")).flatMap(
      ([cell = ""]) => cell.match(/src\/core\/[\w/-]+\.ts/) ?? [],
    );
    const lines = files.flatMap((file) => (SOURCES[file] ?? "").split("\n").slice(1)).length;
    expect(files.filter((file) => SOURCES[file] === undefined)).toEqual([]);
    expect(files.length).toBeGreaterThan(10);
    expect([files.length <= 20, lines <= 2_500]).toEqual([true, true]);
  });

  it("architecture.md lists each table of the schemas once, with its key", () => {
    const keyOf = ({ columns, primaryKeys: [key] }: (typeof TABLES)[number]) => {
      const names = (key?.columns ?? columns.filter(({ primary }) => primary)).map(({ name }) => name);
      return names.length === 1 ? names.join() : `(${names.join(", ")})`;
    };
    const listed = rowsOf(sectionOf("architecture.md", "Tables")).flatMap(([names = "", key]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => [name, key]),
    );
    expect(listed.sort()).toEqual(TABLES.map((table) => [table.name, keyOf(table)]).sort());
  });
});

/**
 * The numbers that the pages for contributors give. For each constant of the code: the words of a page, with `#` for the constant's value,
 * which is divided by the third element. Other numbers of these pages are of the past.
 */
const NUMBERS: Record<string, Record<string, [constant: string, words: string, unit?: number][]>> = {
  "architecture.md": {
    "src/core/credentials/hedge.ts": [["KV_HEAD_START_MS", "has not answered after # ms"]],
    "src/core/credentials/isolate-cache.ts": [["CACHED_MS", "keeps a record for # minutes", 60_000]],
    "src/core/credentials/look-up-bounds.ts": [
      ["NEGATIVE_CACHE_MS", "for **this address** again only after # s", 1_000],
    ],
    "src/core/signed/verify-again.ts": [["CONFIRM_LIMIT_MS", "waits at most # s for this answer", 1_000]],
    "src/core/signed/nonce-memory.ts": [["MOST_NONCES", "the last # to 10,000 used"]],
    "src/core/store/run-batch.ts": [["TRY_LIMIT_MS", "with 503 and `Retry-After: #`", 1_000]],
    "src/events/budget.ts": [
      ["CALLS_AT_ONCE", "at most # posts in flight"],
      ["BEGIN_ATTEMPTS_MS", "begins no post after # s", 1_000],
    ],
    "src/events/home-run.ts": [["ALONE_MS", "more is due after # s", 1_000]],
    "src/events/post.ts": [["POST_LIMIT_MS", "has # s to answer", 1_000]],
    "src/events/store/deliveries.ts": [
      ["MOST_IN_FLIGHT", "at most # in flight for a webhook"],
      ["MOST_IN_FLIGHT_FAILING", "at most # in flight, and one"],
    ],
    "src/events/store/webhook-events.ts": [["FAILING_EVENT_SECONDS", "has failed for # minutes", 60]],
    "src/events/store/webhook-health.ts": [["FAILING_DAYS", "has not kept up for # days"]],
    "src/events/sweep.ts": [["OVERDUE_SECONDS", "more than # s overdue"]],
    "src/operators/store/home/erase-step.ts": [["SESSIONS_PER_STEP", "# sessions, one batch each"]],
  },
  "decisions.md": {
    "src/core/credentials/look-up-bounds.ts": [["CONFIRMATIONS_PER_SECOND", "# times a second for an app"]],
    "src/core/describe-violations.ts": [["LONGEST", "in at most # characters"]],
    "src/core/http/read-body.ts": [["ARRIVAL_LIMIT_MS", "has not arrived after # s", 1_000]],
    "src/core/operations/auto-title.ts": [
      ["MOST_GRAPHEMES", "at most # graphemes"],
      ["MOST_CODE_POINTS", "and # code points"],
    ],
    "src/events/target.ts": [["CLOCK_SECONDS", "comes up to # s too early"]],
    "src/operators/http/journal-refusals.ts": [["LONGEST_DETAIL", "cut off at # characters"]],
    "src/operators/services/drill-webhook.ts": [["DRILL_SECONDS", "none in the last # s"]],
    "src/operators/store/home/webhooks.ts": [["MOST_WEBHOOKS", "| #, counted in the INSERT"]],
    "src/events/post.ts": [
      ["POST_LIMIT_MS", "2xx headers in # s", 1_000],
      ["DRAIN_BYTES", "reads # KB of the body", 1_024],
      ["ERROR_CHARACTERS", "Up to # characters of the answer"],
    ],
    "src/events/store/deliveries.ts": [
      ["MOST_IN_FLIGHT", "| #, or 3 while it fails"],
      ["MOST_IN_FLIGHT_FAILING", ", or # while it fails"],
    ],
    "src/operators/journal/forged-calls.ts": [["MOST_ROWS", "# rows a minute and app"]],
    "src/operators/journal/journal.ts": [["OWN_ROWS", "the first # calls of a minute"]],
    "src/operators/services/erase-customer.ts": [["RECEIPTS_FRESH_SECONDS", "is older than # hours", 3_600]],
    "src/operators/services/homes.ts": [["READ_LIMIT_MS", "After # s a call raises", 1_000]],
    "src/operators/services/listed-sites.ts": [["RANKED_SITES", "Of # sites"]],
    "src/operators/services/search.ts": [["MOST_SITES_FOR_WORDS", "on # sites of each home"]],
    "src/operators/services/token-limits.ts": [["HELD_BACK_MS", "is answered after # s", 1_000]],
    "src/operators/store/home/customers.ts": [["CUSTOMERS_READ", "A page walks # customers"]],
    "src/operators/store/home/erase-step.ts": [["SESSIONS_PER_STEP", "| # sessions, with one batch in a call"]],
    "src/operators/store/home/old-sessions.ts": [
      ["SESSIONS_PER_BATCH", "| # sessions. It deletes fewer"],
      ["MOST_ROWS", "more than # participants and deliveries"],
    ],
    "src/operators/store/home/redeliver-many.ts": [
      ["MOST_READ", "Steps of # `seq`"],
      ["DUE_PER_SECOND", "| # in each second"],
    ],
    "src/operators/store/home/refusals.ts": [["MOST_READ", "It looks at # rows a page"]],
    "src/operators/store/home/search.ts": [["TITLES_SEARCHED", "The newest # sessions of each site"]],
    "src/operators/store/pruning/prune-usage.ts": [["HOURS_KEPT_DAYS", "added to its day after # days"]],
    "src/operators/store/usage/home-metrics.ts": [["MOST_COUNTED", "They are cut off at #"]],
  },
};

describe("the pages for contributors", () => {
  const rows = Object.entries(NUMBERS).flatMap(([page, files]) =>
    Object.entries(files).flatMap(([file, constants]) =>
      constants.map(([constant, words, unit = 1]) => [page, constant, file, words, unit] as const),
    ),
  );

  it.each(rows)("%s gives the value of %s in %s", (page, constant, file, words, unit) => {
    const [, value = ""] = new RegExp(`const ${constant} = ([\\d_]+);`).exec(textOf(file, SOURCES)) ?? [];
    const number = Number(value.replaceAll("_", "")) / unit;
    const sentence = words.replace("#", groupDigits(number));
    const text = inOneLine(textOf(`docs/${page}`)).replaceAll(/ +/g, " ");
    expect([sentence, text.includes(sentence)]).toEqual([sentence, true]);
  });
});

describe("commands of the pages", () => {
  it("every npm script that a page names is in package.json", () => {
    const namedScripts = Object.entries(PAGES).flatMap(([path, text]) =>
      [...text.matchAll(/\bnpm run (?:--?[a-z]+ )*([a-z][\w:-]*)/g)].map(([, name = ""]) => ({ path, name })),
    );
    expect(namedScripts.length).toBeGreaterThan(20);
    expect(namedScripts.filter(({ name }) => !(name in scripts))).toEqual([]);
  });

  it("every test file that a page names exists", () => {
    const namedFiles = Object.values(PAGES).flatMap((text) => text.match(/\btest\/[\w/.-]+\.ts\b/g) ?? []);
    expect(namedFiles.length).toBeGreaterThan(3);
    expect(namedFiles.filter((file) => !FILES.includes(file))).toEqual([]);
  });
});

describe("the page on integrating", () => {
  it("integrating.md gives the key, the body and the signature of both test vectors", () => {
    expect(INTEGRATING).toContain(`\`${VECTOR_SECRET}\``);
    for (const { body, signature } of [ACCEPTED_VECTOR, DOCUMENTED_VECTOR]) {
      expect(INTEGRATING).toContain(`\n${body}\n`);
      expect(INTEGRATING).toContain(`\`${signature}\``);
    }
  });

  it("integrating.md and receiving.md have the markers of their generated parts", () => {
    for (const name of ["calls", "callers", "fields create_gd", "fields add_kf", "refusals", "details"]) {
      expect(madeOf(INTEGRATING, name)).toBeTypeOf("string");
    }
    for (const name of ["events", "receivers"]) {
      expect(madeOf(textOf("docs/receiving.md"), name)).toBeTypeOf("string");
    }
  });

  it.for([["create_gd"], ["add_kf"]])(
    "integrating.md lists each field of %s with its limits, and whether the field is required",
    ([operation = ""], { skip }) => {
      const rows = rowsOf(madeOf(INTEGRATING, `fields ${operation}`));
      skip(rows.length === 0, "npm run tables has not run");
      const body = document.paths[`/openapi/chat/${operation}`]?.post?.requestBody?.content["application/json"];
      const { properties = {}, required = [] } =
        document.components.schemas[body?.schema.$ref.replace("#/components/schemas/", "") ?? ""] ?? {};
      expect(Object.keys(properties).length).toBeGreaterThan(4);
      for (const [field, rule] of Object.entries(properties)) {
        const row = rows.find(([names = ""]) => names.split(", ").includes(`\`${field}\``));
        expect([field, row?.[2]]).toEqual([field, required.includes(field) ? "required" : "optional"]);
        const cell = row?.at(-1)?.replaceAll(/(\d),(?=\d{3})/g, "$1");
        for (const limit of limitsOf(rule)) expect([field, cell]).toEqual([field, expect.stringContaining(limit)]);
      }
    },
  );

  it("integrating.md gives the limits of metadata as openapi.json has them", () => {
    const rule = document.components.schemas.CreateSession?.properties?.metadata as {
      maxProperties: number;
      propertyNames: { pattern: string };
      additionalProperties: { maxLength: number };
    };
    const [, letters, shortest, longest] = rule.propertyNames.pattern.match(/^\^\[(.+)\]\{(\d+),(\d+)\}\$$/) ?? [];
    const [, section = ""] = INTEGRATING.split("\n### metadata\n");
    const rules = rowsOf(section.split("\n## ")[0] ?? "").map(([, cell]) => cell);
    expect(rules.slice(1)).toEqual([
      `a JSON object of at most ${rule.maxProperties} pairs`,
      `${shortest} to ${longest} characters of \`${letters}\``,
      expect.stringContaining(`a string of up to ${rule.additionalProperties.maxLength} characters.`),
    ]);
  });

  it("integrating.md lists each refusal with its status and message", ({ skip }) => {
    const rows = rowsOf(madeOf(INTEGRATING, "refusals"));
    skip(rows.length === 0, "npm run tables has not run");
    for (const { status, message } of Object.values(WIRE_ERRORS)) {
      const isNamed = rows.some(([cell = ""]) => cell.includes(String(status)) && cell.includes(message));
      expect([status, message, isNamed]).toEqual([status, message, true]);
    }
  });

  it("the README and the contract have no table of fields or refusals", () => {
    for (const page of [README, CONTRACT]) {
      const cells = rowsOf(page).flatMap(([first = "", second = ""]) => [first, second]);
      expect(cells.filter((cell) => ["`ranstr`", "`fzr_uid`", "`参数错误`"].includes(cell))).toEqual([]);
    }
  });
});

/** The answers for each row of the table on retrying. A function that throws gives no answer. */
const refusal =
  (status: number, msg: string, headers: Record<string, string> = {}) =>
  () =>
    new Response(JSON.stringify({ code: -1, msg, data: "" }), { status, headers: { "retry-after": "0", ...headers } });
const strange = (status: number) => () => new Response("<h1>No</h1>", { status });
const OTHER_4XX = Object.values(WIRE_ERRORS).filter(({ status }) => status < 500 && status !== 429);
const ANSWERS: Record<string, (() => Response)[]> = {
  "200": [() => new Response('{"code":1,"msg":"ok","data":{"chat_id":1}}')],
  "no answer in time, a broken connection": [
    () => {
      throw new TypeError("fetch failed");
    },
  ],
  "503 with `x-error-detail: the site is closed for now`": [
    refusal(503, WIRE_ERRORS.unavailable.message, { "x-error-detail": "the site is closed for now" }),
  ],
  "any other 503": [refusal(503, WIRE_ERRORS.unavailable.message), strange(503)],
  "408, 502, 504, or another 5xx that is not from this service, such as a gateway's error page": [
    ...[408, 500, 502, 504, 520].map(strange),
  ],
  "429": [refusal(429, WIRE_ERRORS.too_many_requests.message), strange(429)],
  "401 with `timestamp` in `x-error-detail`": [
    refusal(401, WIRE_ERRORS.token_invalid.message, {
      "x-error-detail": `timestamp: must be within 300 s of ${Math.floor(Date.now() / 1000) + 3600}, Unix seconds`,
    }),
  ],
  "any other 4xx of this service": OTHER_4XX.map(({ status, message }) => refusal(status, message)),
  "500": [refusal(500, WIRE_ERRORS.internal.message)],
};

/** Whether the client sends a call again after this answer. */
async function retriesAfter(answer: () => Response, idempotencyKey: string | false): Promise<boolean> {
  let calls = 0;
  const fetch = async () => {
    calls++;
    return answer();
  };
  const client = new AgentSessionClient({ baseUrl: "http://localhost", appid: "a", secret: "s", maxTries: 2, fetch });
  await client.addAgents({ chatId: 1, agentIds: [1] }, { idempotencyKey }).catch(() => {});
  return calls === 2;
}

describe("what may be retried", () => {
  it("openapi.json and retrying.md promise what may be retried in the same words", () => {
    expect(inOneLine(RETRYING)).toContain(COMPATIBILITY_PROMISE);
    expect(document.info.description).toContain(COMPATIBILITY_PROMISE);
    expect(RETRYING).toContain(`\`Retry-After: ${CLOSED_RETRY_SECONDS}\``);
  });

  it("the client retries as each row of the table in retrying.md says, with a key and without one", async () => {
    const rows = rowsOf(RETRYING).filter(([, outcome]) => outcome !== "was it done?");
    expect(rows.map(([answer]) => answer)).toEqual(expect.arrayContaining(Object.keys(ANSWERS)));
    expect(rows).toHaveLength(Object.keys(ANSWERS).length);
    // As the page says, without a key the client does not retry the 503 of a closed site.
    const careful = "503 with `x-error-detail: the site is closed for now`";
    expect(inOneLine(RETRYING)).toContain("it does not retry the 503 of a closed site");
    const rules = rows.flatMap(([answer = "", , withKey = "", without = ""]) => [
      [answer, "with a key", withKey.startsWith("retry")],
      [answer, "without", without.startsWith("retry") && answer !== careful],
    ]);
    const retries = await Promise.all(
      rows.flatMap(([row = ""]) =>
        (["key", false] as const).map(async (key) => {
          const each = await Promise.all((ANSWERS[row] ?? []).map((answer) => retriesAfter(answer, key)));
          expect([row, new Set(each).size]).toEqual([row, 1]);
          return [row, key === false ? "without" : "with a key", each[0]];
        }),
      ),
    );
    expect(retries).toEqual(rules);
  });
});

describe("how long events are tried", () => {
  const pauses = Array.from({ length: MOST_ATTEMPTS - 1 }, (_, index) =>
    Number(nextAttemptAt({ random: () => 0.5 }, index + 1, 0)),
  );
  const hours = Math.round(pauses.reduce((sum, seconds) => sum + seconds, 0) / 3600);
  const inWords = (seconds: number) => {
    if (seconds < 60) return `${seconds} s`;
    return seconds < 3600 ? `${seconds / 60} min` : `${seconds / 3600} h`;
  };

  it.each([
    "README.md",
    "docs/receiving.md",
    "docs/operating/webhooks.md",
    "docs/deploying.md",
    "docs/threat-model.md",
  ])("%s gives the same number of hours and attempts of a delivery as the code", (path) => {
    const page = inOneLine(textOf(path)).replaceAll(/ +/g, " ");
    expect(page).toContain(`about ${hours} hours`);
    expect(page.replaceAll(`about ${hours} hours`, "")).not.toContain(`${hours} hours`);
    for (const [phrase, count] of page.matchAll(/\b(\w+) attempts (?:take|failed|have failed|are used up)/gi)) {
      expect([phrase, count?.toLowerCase()]).toEqual([phrase, "eight"]);
    }
  });

  it("openapi.json and decisions.md list the same times between attempts as the code", () => {
    expect(MOST_ATTEMPTS).toBe(8);
    const steps = pauses.map(inWords);
    expect(JSON.stringify(document)).toContain(`after ${steps.slice(0, -1).join(", ")} and ${steps.at(-1)}`);
    expect(textOf("docs/decisions.md")).toContain(`| after ${steps.join(", ")}, each ± 10 %`);
  });
});

describe("the pages on the deployment", () => {
  it("deploying.md lists each var of wrangler.toml with its value, and each binding", () => {
    const [, vars = ""] = WRANGLER.match(/^\[vars\]\n(.*?)\n\n/ms) ?? [];
    const values = [...vars.matchAll(/^([A-Z_]+) = "(.+)"$/gm)].map(([, name, value]) => [
      `\`${name}\``,
      `var, ${value}`,
    ]);
    expect(values.length).toBeGreaterThan(2);
    expect(rowsOf(DEPLOYING).map((cells) => cells.slice(0, 2))).toEqual(expect.arrayContaining(values));
    const bindings = [...WRANGLER.matchAll(/^(?:binding|name) = "(?!HOME_)([A-Z_]+)"$/gm)].map(([, name]) => name);
    const knownNames = rowsOf(DEPLOYING).flatMap(([names = ""]) =>
      [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name),
    );
    expect(bindings).toContain("DB");
    expect(bindings.filter((name) => name !== "ASSETS" && !knownNames.includes(name))).toEqual([]);
  });

  it("the pages give each limit of wrangler.toml, and how often the crons run", () => {
    const limits = [...WRANGLER.matchAll(/^name = "(\w+)"\n.+\nsimple = \{ limit = (\d+), period = (\d+) \}$/gm)];
    expect(limits.length).toBeGreaterThan(1);
    for (const [, name = "", limit, period] of limits) {
      const rule = new RegExp(`\\b${groupDigits(Number(limit))} (requests|failures|changes|reads) in ${period} s\\b`);
      expect(OPERATING).toMatch(rule);
      expect(DEPLOYING).toMatch(rule);
      if (!name.startsWith("TOKEN_")) expect(INTEGRATING).toContain(`| ${groupDigits(Number(limit))} in ${period} s |`);
    }
    expect(WRANGLER).toContain('crons = ["* * * * *", "*/5 * * * *"]');
    expect(OPERATING).toContain("Every five minutes what has expired is removed");
    expect(OPERATING).toContain("each minute the Worker looks into every open home");
  });

  it("the pages give the times for which the service remembers requests and waits for D1", () => {
    const pattern = new RegExp(`remembered (for )?${groupDigits(NONCE_SECONDS)} s\\b`);
    for (const text of [CONTRACT, OPERATING, textOf("docs/decisions.md")]) expect(text).toMatch(pattern);
    expect(DEPLOYING).toContain(`at most ${MAX_TOLERANCE_SECONDS}`);
    expect(INTEGRATING).toContain(`For ${NONCE_SECONDS / 60} minutes it knows`);
    expect(RETRYING).toContain(`remembered for ${IDEMPOTENCY_SECONDS / 3600} hours`);
    expect([TRIES, TRY_LIMIT_MS, WHOLE_LIMIT_MS]).toEqual([3, 3_000, 8_000]);
    expect(textOf("docs/architecture.md")).toContain("three tries of 3 s, and 8 s in all");
  });

  it("people.md describes each role in the same words as the console", () => {
    const roleRows = rowsOf(PEOPLE.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")).filter(([role]) =>
      /^`\w+`$/.test(role ?? ""),
    );
    const view = { t: (english: string, ...values: unknown[]) => english.replace("{0}", String(values[0])) };
    const rows = ROLES.map((role) => [`\`${role}\``, roleMeans(view, role)]);
    expect(roleRows.filter(([role]) => rows.some(([name]) => name === role))).toEqual(rows);
  });

  it("people.md says of each action of the audit log what its row holds", () => {
    const [, rows = ""] = PEOPLE.split("\n### What the rows say\n");
    const table = rows.split("\n## ")[0] ?? "";
    expect(AUDIT_ACTIONS.filter((action) => !table.includes(`\`${action}\``))).toEqual([]);
  });

  it("each reason in watching.md's table of the log exists in the code", () => {
    const [, table = ""] = WATCHING.split("| `reason` |");
    const reasons = rowsOf(table.split("\n\n")[0] ?? "").flatMap(([names = ""]) => names.match(/`[a-z0-9_]+`/g) ?? []);
    expect(reasons.length).toBeGreaterThan(15);
    const code = Object.entries(SOURCES)
      .filter(([path]) => path.startsWith("src/"))
      .map(([, text]) => text)
      .join("\n");
    // A reason is in quotes in the code, or is the name of an operation's own refusal.
    const isGiven = (reason: string) => new RegExp(`"${reason}"|^ {4}${reason}: \\{$`, "m").test(code);
    expect(reasons.filter((reason) => !isGiven(reason.replaceAll("`", "")))).toEqual([]);
  });
});
