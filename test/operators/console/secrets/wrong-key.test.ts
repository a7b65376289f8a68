import { env } from "cloudflare:workers";
import { beforeEach, expect, it, vi } from "vitest";
import type { ConsolePage } from "../../../support/console-page.ts";
import { start } from "../../../support/console-visitor.ts";
import { addWebhook, eventStore } from "../../../support/webhook-store.ts";

/** What the console says when MASTER_KEY is another key than the one that sealed the secrets. */

const WRONG = { MASTER_KEY: Uint8Array.fromBase64(env.MASTER_KEY).toReversed().toBase64() };

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  return () => vi.restoreAllMocks();
});

async function startWithWebhook() {
  const { world, visitor, site, app } = await start();
  const { id } = await addWebhook(world);
  const wrong = visitor.through(world.anotherIsolate(WRONG));
  return { world, visitor, wrong, paths: { site, app, webhook: `${site}/webhooks/${id}` } };
}

function expectWrongKey(page: ConsolePage) {
  expect([page.status, page.heading]).toEqual([500, "MASTER_KEY does not open what is sealed"]);
  expect(page.text).toContain(
    "Nothing was changed. Set the master key that sealed it, as MASTER_KEY or MASTER_KEY_PREVIOUS.",
  );
}

it.each<[string, "site" | "app" | "webhook", string, string, Record<string, string>]>([
  ["an app is issued", "site", "/apps", "Issue app", { Name: "Shop" }],
  ["a webhook is added", "site", "/webhooks", "Add a webhook", { URL: "https://hooks.example.com/" }],
  ["a test call is sent", "app", "/test", "Send a test call", { "Responsible agent": "1" }],
  ["the secret of an app is rotated", "app", "", "Rotate", {}],
  ["the secret of a webhook is rotated", "webhook", "/settings", "Rotate", {}],
])(
  "the console says that MASTER_KEY is wrong and that nothing was changed, when %s",
  async (_, of, path, button, fill) => {
    const { world, wrong, paths } = await startWithWebhook();
    const stored = async () => [await world.operated(), await world.stored(), await eventStore(world)];
    const before = await stored();
    expectWrongKey(await wrong.press(await wrong.open(paths[of] + path), button, fill));
    expect(await stored()).toEqual(before);
  },
);

it.each([
  ["app", ""],
  ["webhook", "/settings"],
] as const)("the console says that MASTER_KEY is wrong on the page of the new secret: %s", async (of, path) => {
  const { visitor, wrong, paths } = await startWithWebhook();
  const secretPage = await visitor.press(await visitor.open(paths[of] + path), "Rotate");
  expect(secretPage.path).toContain("/secret?ticket=");
  expectWrongKey(await wrong.open(secretPage.path));
});
