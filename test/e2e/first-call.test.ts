import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { run } from "../support/run-cli.ts";

const ROOT = join(import.meta.dirname, "../..");
const LOCAL = "http://localhost:8787";

let worker: BuiltWorker;
let folder: string;

beforeAll(async () => {
  worker = await startBuiltWorker();
  folder = mkdtempSync(join(tmpdir(), "first-call-test-"));
  writeFileSync(join(folder, ".dev.vars"), `MASTER_KEY=unused\nADMIN_TOKEN=${worker.adminToken}\n`);
});
afterAll(async () => {
  await worker.close();
  rmSync(folder, { recursive: true });
});

const readme = () => commands(readFileSync(join(ROOT, "README.md"), "utf8"), /^```sh\n(.*?)^```/gms);
const guide = () => {
  const page = readFileSync(join(ROOT, "src/openapi/pages/guide.html"), "utf8");
  return commands(page, /<pre><code>(.*?)<\/code><\/pre>/gs)
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll("&amp;", "&");
};

/** The one block of a page that sets BASE_URL. */
function commands(page: string, blocks: RegExp): string {
  const [found, ...more] = [...page.matchAll(blocks)]
    .map(([, block = ""]) => block)
    .filter((block) => /^export BASE_URL=/.test(block));
  if (found === undefined || more.length > 0) throw new Error("there is not one block that sets BASE_URL");
  return found;
}

/** The blocks of commands of a page that need the README's commands first. */
const following = (path: string) =>
  [...readFileSync(join(ROOT, path), "utf8").matchAll(/^ *```sh\n(.*?)^ *```/gms)].map(([, block = ""]) => block);

/** Runs commands in a folder with the .dev.vars of the Worker, at the Worker's address instead of localhost:8787. */
function shell(script: string, base = worker.url, cwd = folder, env: Record<string, string> = {}) {
  const prelude = `cd '${cwd}'; npm() { command npm --prefix '${ROOT}' "$@"; }`;
  return run("sh", [], { input: `${prelude}\n${script.replaceAll(LOCAL, base)}`, env });
}

describe("the first call", () => {
  it("works as the README says, its last refusal says why, and the calls of docs/ that follow it work too", async () => {
    const { stdout, stderr } = await shell(readme());
    expect(stderr).toBe("");
    expect(stdout).toMatch(
      /^\{"id":1,"name":"Shop","home":"main","status":"open"\}\n\{"id":10411,"name":"Li Na","status":"normal"\}\n\{"appid":"my-shop",.*\}\n/,
    );
    expect(stdout).toContain('{"code":1,"msg":"ok","data":{"chat_id":1}}');
    expect(stdout).toMatch(/^x-error-detail +kefu_ids: /m);

    const blocks = ["docs/integrating.md", "docs/retrying.md"].flatMap(following);
    const answers = await shell(blocks.join("\n"), worker.url, ROOT, { BASE_URL: worker.url });
    expect([answers.exitCode, answers.stderr]).toEqual([0, ""]);
    expect([...answers.stdout.matchAll(/^(?:\{"code":1,.*"chat_id":)?(\d+)(?:\}\})?$/gm)].map(([, id]) => id)).toEqual([
      "2",
      "3",
      "4",
      "4",
    ]);
    expect(answers.stdout).toContain("\ncurl -sS -i ");
    expect(answers.stdout).toMatch(/^idempotency-replayed +true$/m);
  });

  it("works after the preparation in the guide", async () => {
    const { id } = await worker.admin<{ id: number }>("POST", "/admin/sites", { name: "Next" });
    const { stdout, stderr } = await shell(guide().replaceAll("sites/1/", `sites/${id + 1}/`));
    expect(stderr).toBe("");
    expect(stdout).toContain(`{"id":${id + 1},"name":"Shop","home":"main","status":"open"}\n`);
    expect(stdout).toMatch(/\{"appid":"[0-9a-f]{32}","secret":".+","name":"Back end","version":"[0-9a-f]{32}"\}\n$/);
  });

  it.each([
    ["README", readme],
    ["guide", guide],
  ])("prints the error when admin() from the %s fails", async (_, page) => {
    const [address, token, admin] = page()
      .trim()
      .split("\n")
      .map((line) => line.trim());
    const refused = await shell(`${address}\n${token}\n${admin}\nadmin sites '{"nam":"Shop"}'`);
    expect(refused.stdout).toContain('"errors":[{"field":"name","message":"is required"}');
    expect(refused.stderr).toContain("400");
    expect(refused.exitCode).toBe(22);
    const unheard = await shell(`${address}\n${token}\n${admin}\nadmin sites '{"name":"Shop"}'`, "http://localhost:1");
    expect(unheard.stderr).toMatch(/curl: .*localhost port 1/);
    expect(unheard.exitCode).toBe(7);
  });
});
