import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { place, start, useCheckout } from "../support/npm-start.ts";
import { Receiver } from "../support/receiver.ts";
import { signedCall } from "../support/signed-call.ts";

/**
 * Usage and metrics of a running Worker, read by other projects' programs: the strict OpenMetrics parser of
 * prometheus_client, and promtool of Prometheus. Debian has both.
 */

const PYTHON = "/usr/bin/python3";
const ROOT = join(import.meta.dirname, "../..");
const RULES = join(ROOT, "docs/prometheus");
/** 32 minutes in seconds. A nonce is kept for 31 minutes. */
const LATER = 32 * 60;
const AGENT = 10411;

/** Prints the parsed metrics: name, type, unit, and samples as [name, labels, value]. */
const PARSE = `
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
print(json.dumps([[f.name, f.type, f.unit, [[s.name, s.labels, str(s.value)] for s in f.samples]]
                  for f in text_string_to_metric_families(sys.stdin.read())]))
`;

import { eventually } from "../support/eventually.ts";

type Family = [name: string, type: string, unit: string, samples: [string, Record<string, string>, string][]];

const toText = ({ status, error, stdout, stderr }: SpawnSyncReturns<string>) =>
  ({ status, text: error?.message ?? `${stdout}${stderr}` }) as const;

const promtool = (args: string[], input = "") =>
  toText(spawnSync("promtool", args, { cwd: RULES, input, encoding: "utf8" }));

function familiesOf(text: string): Family[] {
  const { status, stdout, stderr } = spawnSync(PYTHON, ["-c", PARSE], { input: text, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout) as Family[];
}

/**
 * The same metrics in the text format of Prometheus, which promtool's linter reads. There, the type of a counter stands at the name of
 * its samples, and there are no units and no last line.
 */
const toPrometheusText = (text: string): string => {
  const counters = [...text.matchAll(/^# TYPE (\S+) counter$/gm)].map(([, name]) => name);
  const result = counters.reduce<string>(
    (all, name) => all.replaceAll(new RegExp(`^# (TYPE|HELP) ${name} `, "gm"), `# $1 ${name}_total `),
    text,
  );
  return result.replaceAll(/^# (?:UNIT .*|EOF)\n/gm, "");
};

const missing = [
  ...(spawnSync("promtool", ["--version"]).status === 0 ? [] : ["promtool (Debian's prometheus)"]),
  ...(spawnSync(PYTHON, ["-c", "import prometheus_client.openmetrics.parser"]).status === 0
    ? []
    : ["prometheus_client (Debian's python3-prometheus-client)"]),
];

useCheckout();

const why = missing.length > 0 ? `: ${missing.join(" and ")} is not installed` : "";

// CI has both programs, because .ci/run installs them.
if (missing.length > 0 && process.env.CI !== undefined) {
  it("other projects' programs read the metrics", () =>
    expect.unreachable(`${missing.join(" and ")} is not installed`));
}

describe.skipIf(missing.length > 0)(`the files for Prometheus${why}`, () => {
  it("promtool accepts the configuration for Prometheus and its rules", () => {
    // The configuration names a file with a token, which must exist.
    const folder = join(place.folder, "prometheus");
    mkdirSync(folder);
    for (const name of ["prometheus.yml", "alerts.yml"]) copyFileSync(join(RULES, name), join(folder, name));
    writeFileSync(join(folder, "agent-session.token"), "ast_");
    expect(promtool(["check", "config", "--lint-fatal", join(folder, "prometheus.yml")])).toMatchObject({ status: 0 });
    expect(promtool(["check", "rules", "--lint-fatal", "alerts.yml"])).toMatchObject({ status: 0 });
  });
});

describe.skipIf(missing.length > 0)("the metrics of a Worker that runs", () => {
  type App = { appid: string; secret: string };
  type Usage = {
    items: { operation: string; outcome: string; count: number }[];
    apps: { last_used_at: number | null }[];
    complete_until: number;
  };

  let worker: Awaited<ReturnType<typeof start>>;
  let receiver: Receiver;
  let site: { id: number };
  let app: App;
  let token: string;
  let root: string;
  /** How many calls had which outcome, as the test counted them. */
  const sent = new Map<string, number>();

  /** Each call has its own connection, because the server sometimes closes an idle one at the moment of the next call. */
  const api = (path: string, init: RequestInit = {}, bearer = root) =>
    fetch(`${worker.url}/admin/${path}`, {
      ...init,
      headers: {
        connection: "close",
        authorization: `Bearer ${bearer}`,
        ...(init.body && { "content-type": "application/json" }),
      },
    });

  async function admin<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await api(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
    expect([method, path, answer.status]).toEqual([method, path, expect.toSatisfy((status) => status < 300)]);
    return (await answer.json()) as T;
  }

  /** Runs the pruning cron as if this many seconds had passed. */
  async function prune(seconds: number): Promise<void> {
    const query = new URLSearchParams({ cron: "*/5 * * * *", time: String(Date.now() + seconds * 1_000) });
    expect((await worker.get(`/cdn-cgi/handler/scheduled?${query}`)).status).toBe(200);
  }

  /** Sends a call, and counts it under its expected outcome. */
  async function send(
    operation: "create_gd" | "add_kf",
    outcome: string,
    body: Record<string, unknown>,
    { headers = {}, secret = app.secret }: { headers?: Record<string, string>; secret?: string } = {},
  ): Promise<{ chat_id: number }> {
    const answer = await signedCall(worker.url, { ...app, secret }, operation, body, headers);
    const { code, data } = (await answer.json()) as { code: number; data: { chat_id: number } };
    expect([operation, outcome, code]).toEqual([operation, outcome, ["ok", "repeated"].includes(outcome) ? 1 : -1]);
    const key = `${operation} ${outcome}`;
    sent.set(key, (sent.get(key) ?? 0) + 1);
    return data;
  }

  const stamp = () => ({ appid: app.appid, timestamp: Math.floor(Date.now() / 1_000), ranstr: randomUUID() });
  const create = (change: Record<string, unknown> = {}) => ({
    ...stamp(),
    sbs: "customer_001",
    ip: "192.0.2.1",
    sbs_mc: "客户",
    content: "Hello",
    kefu_id: [AGENT],
    fzr_uid: AGENT,
    ...change,
  });

  async function scrape(query = "", bearer = token): Promise<string> {
    const answer = await api(`metrics${query}`, {}, bearer);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      200,
      "application/openmetrics-text; version=1.0.0; charset=utf-8",
    ]);
    return answer.text();
  }

  /** The samples of a counter above 0, as "label label" → number. Other samples exist with the value 0. */
  function countersOf(text: string, name: string, ...labels: string[]): Record<string, number> {
    const [, , , samples = []] = familiesOf(text).find(([each]) => each === name) ?? [];
    return Object.fromEntries(
      samples
        .filter(([, , value]) => Number(value) > 0)
        .map(([, of, value]) => [labels.map((each) => of[each]).join(" "), Number(value)]),
    );
  }

  /** The counts as the metrics show them, with all refusals as one outcome. */
  const sentByOutcome = () => {
    const all: Record<string, number> = {};
    for (const [key, count] of sent) {
      const [operation, outcome = ""] = key.split(" ");
      const shown = `${operation} ${["ok", "repeated"].includes(outcome) ? outcome : "refused"}`;
      all[shown] = (all[shown] ?? 0) + count;
    }
    return all;
  };

  const sentByReason = () => {
    const all: Record<string, number> = {};
    for (const [key, count] of sent) {
      const [, outcome = ""] = key.split(" ");
      if (!["ok", "repeated"].includes(outcome)) all[outcome] = (all[outcome] ?? 0) + count;
    }
    return all;
  };

  beforeAll(async () => {
    receiver = await Receiver.start();
    worker = await start();
    root = /^ADMIN_TOKEN=(.*)$/m.exec(readFileSync(join(place.checkout, ".dev.vars"), "utf8"))?.[1] ?? "";
    site = await admin("POST", "sites", { name: "Ada's shop" });
    await admin("POST", `sites/${site.id}/agents`, { id: AGENT, name: "Agent" });
    await admin("POST", `sites/${site.id}/agents`, { id: AGENT + 1, name: "Another" });
    app = await admin("POST", `sites/${site.id}/apps`, { name: "App" });
    ({ token } = await admin<{ token: string }>("POST", "tokens", { name: "Scraper", role: "metrics" }));
  });
  afterAll(async () => {
    await receiver?.close();
  });

  it("the metrics say that a home has never answered, until the cron has asked it", async () => {
    expect(await scrape()).toMatch(/^agent_session_home_silence_seconds\{home="main"\} \+Inf$/m);
    // Refused calls are counted from 31 minutes before the first run of the cron.
    await prune(0);
    expect(await scrape()).toMatch(/^agent_session_home_silence_seconds\{home="main"\} \d+$/m);
  });

  it("the metrics and GET usage count each call once, whatever its outcome", async () => {
    await admin("POST", `sites/${site.id}/webhooks`, { url: `${receiver.url}/`, events: ["session.created"] });
    const first = create();
    const { chat_id } = await send("create_gd", "ok", first);
    await send("create_gd", "ranstr_seen_here", first);
    for (const _ of [1, 2]) await send("create_gd", "ok", create());
    await send("add_kf", "ok", { ...stamp(), chat_id, kefu_ids: [AGENT + 1] });
    const keyed = { headers: { "idempotency-key": randomUUID() } };
    await send("create_gd", "ok", create(), keyed);
    await send("create_gd", "repeated", create(), keyed);
    await send("create_gd", "key_reused", create({ content: "Another" }), keyed);
    await send("create_gd", "signature_mismatch", create(), { secret: "0".repeat(64) });
    await send("create_gd", "timestamp_stale", create({ timestamp: stamp().timestamp - 400 }));
    for (const _ of [1, 2, 3]) await send("create_gd", "fields_invalid", create({ sender_type: 4 }));
    await send("create_gd", "agents_invalid", create({ kefu_id: [AGENT, 404] }));
    await send("add_kf", "session_not_found", { ...stamp(), chat_id: 999_999, kefu_ids: [AGENT] });

    // The journal and the event arrive by two different queues.
    await eventually(async () => {
      const { items } = await admin<{ items: { reason: string }[] }>("GET", `sites/${site.id}/refusals?limit=100`);
      const refused = [...sent].filter(([key]) => !/ (ok|repeated)$/.test(key));
      expect(items).toHaveLength(refused.reduce((all, [, count]) => all + count, 0));
      expect(receiver.arrived).toHaveLength(4);
    });
    await prune(60);
    expect(countersOf(await scrape(), "agent_session_calls", "operation", "outcome")).toEqual({});
    await prune(LATER);
    const text = await scrape();
    expect(countersOf(text, "agent_session_calls", "operation", "outcome")).toEqual(sentByOutcome());
    expect(countersOf(text, "agent_session_refusals", "reason")).toEqual(sentByReason());
    expect(countersOf(text, "agent_session_events", "type")).toEqual({
      "session.created": 4,
      "session.agents_added": 1,
    });
    expect(countersOf(text, "agent_session_delivery_attempts", "outcome")).toEqual({ delivered: 4 });

    const { items, apps, complete_until } = await admin<Usage>("GET", `sites/${site.id}/usage`);
    const counts: Record<string, number> = {};
    for (const { operation, outcome, count } of items) {
      counts[`${operation} ${outcome}`] = (counts[`${operation} ${outcome}`] ?? 0) + count;
    }
    expect(counts).toEqual(Object.fromEntries(sent));
    expect(apps).toEqual([expect.objectContaining({ appid: app.appid, last_used_at: expect.any(Number) })]);
    expect(complete_until).toBeGreaterThanOrEqual(Number(apps[0]?.last_used_at));
  });

  it("a strict parser of OpenMetrics and promtool read the metrics, also with the labels of sites and apps", async () => {
    for (const query of ["", "?by=site"]) {
      const text = await scrape(query);
      const families = familiesOf(text);
      expect(families.map(([name, type]) => `${name} ${type}`)).toEqual(
        [...text.matchAll(/^# TYPE (\S+ \S+)$/gm)].map(([, family]) => family),
      );
      for (const [name, , unit] of families) {
        if (/_(seconds|bytes)$/.test(name)) expect(name.endsWith(`_${unit}`) && unit !== "").toBe(true);
      }
      expect(promtool(["check", "metrics"], toPrometheusText(text))).toEqual({ status: 0, text: "" });
    }
    const bySite = countersOf(await scrape("?by=site"), "agent_session_calls", "site", "app", "operation", "outcome");
    const expected = Object.entries(sentByOutcome()).map(([key, count]) => [`${site.id} ${app.appid} ${key}`, count]);
    expect(bySite).toEqual(Object.fromEntries(expected));
  });

  it("the metrics hold no text of a caller or a customer, and no name of a site, an agent or an app", async () => {
    const usage = await (await api(`sites/${site.id}/usage`)).text();
    const all = `${await scrape()}${await scrape("?by=site")}${usage}`;
    expect(all).toContain(app.appid);
    for (const text of ["Ada", "Agent", '"App"', "customer_001", "客户", "Hello", "192.0.2", app.secret]) {
      expect(all).not.toContain(text);
    }
  });

  it("scrapers and viewers of all sites may read the metrics, and a token of one site may not", async () => {
    const siteToken = { name: "Of one site", role: "viewer", site_id: site.id };
    const one = await admin<{ token: string }>("POST", "tokens", siteToken);
    const all = await admin<{ token: string }>("POST", "tokens", { name: "Of all sites", role: "viewer" });
    for (const bearer of [token, all.token]) expect((await api("metrics", {}, bearer)).status).toBe(200);
    expect((await api("sites", {}, token)).status).toBe(403);
    expect((await api("metrics", {}, one.token)).status).toBe(403);
    expect((await api(`sites/${site.id}/usage`, {}, one.token)).status).toBe(200);
    expect((await api("metrics", {}, `${token}x`)).status).toBe(401);
  });

  it("the commands of docs/operating/watching.md for metrics and those of docs/paged.md work as shown, also the trial of the alerts", () => {
    const page = (name: string) => readFileSync(join(ROOT, `docs/${name}.md`), "utf8");
    const part = (page("operating/watching").split("\n## Usage\n")[1] ?? "") + page("paged");
    // Those that speak with Cloudflare or wait for minutes are not run here.
    const blocks = [...part.matchAll(/^```sh\n(.*?)^```/gms)]
      .map(([, block = ""]) => block)
      .filter((block) => !/wrangler|npm run deploy|sleep/.test(block));
    expect(blocks.length).toBeGreaterThan(5);
    for (const file of ["alerts", "alerts-of-days"]) {
      expect(part).toMatch(new RegExp(`^promtool test rules .*docs/prometheus/${file}\\.test\\.yml`, "m"));
    }
    const [helper] = readFileSync(join(ROOT, "README.md"), "utf8").match(/^admin\(\) .*$/m) ?? [];
    const cwd = join(place.folder, "commands");
    mkdirSync(cwd);
    for (const name of ["docs", "src", "package.json", "node_modules"]) symlinkSync(join(ROOT, name), join(cwd, name));
    const env = { ...process.env, BASE_URL: worker.url, ADMIN_TOKEN: root };
    const input = `${helper}\n${blocks.join("\n").replaceAll("sites/1/", `sites/${site.id}/`)}`;
    const { status, stdout, stderr } = spawnSync("sh", ["-e"], { cwd, env, input, encoding: "utf8" });
    expect([status, stderr]).toEqual([0, expect.not.stringContaining("FAILED")]);
    expect(stdout).toMatch(
      /^\{"items":\[\{"at":\d+,"appid":"\w+","operation":"(add_kf|create_gd)","outcome":"\w+","count":\d+\}/,
    );
    expect(stdout).toContain("agent_session_home_size_bytes{");
    expect(stdout).toMatch(/SUCCESS: \d+ rules found/);
    expect(readFileSync(join(cwd, "agent-session.token"), "utf8")).toMatch(/^ast_\w{49}\n$/);
  });

  it("the metrics are the same after the Worker was started again, and count nothing twice", async () => {
    // Counts the probe's call.
    await prune(LATER + 30);
    const before = await scrape();
    await worker.stop("SIGINT");
    worker = await start();
    await prune(LATER + 60);
    const counters = (text: string) => text.split("\n").filter((line) => /^\w+_total/.test(line));
    expect(counters(before).length).toBeGreaterThan(10);
    expect(counters(await scrape())).toEqual(counters(before));
  });
});
