import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { selectWebhook } from "../../../../src/operators/store/home/read-webhooks.ts";
import { updateWebhook, type WebhookChange } from "../../../../src/operators/store/home/webhooks.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { NOW, runtimeAt } from "../../../support/test-runtime.ts";
import { World } from "../../../support/world.ts";

const author = { actor: "admin-api", now: NOW, requestId: "a call", who: null, address: null } as const;

it.each<[WebhookChange]>([[{ url: "https://hooks.example.com/new" }], [{ events: ["session.created"] }]])(
  "a webhook that the Worker disabled stays disabled, with reason and time, when it gets %j",
  async (change) => {
    const reason = { status: "disabled", disabled_reason: "gone", disabled_at: NOW - 5 };
    const webhook = await newWebhook(await World.create(), reason);
    const details = () => ({ change: "{}", statusSwitch: "{}" });
    const runtime = runtimeAt(() => NOW * 1000);
    await updateWebhook(runtime, env.DB, webhook, change, details, author);
    expect(await selectWebhook(env.DB, webhook)).toMatchObject({
      ...change,
      status: "disabled",
      disabledReason: "gone",
      disabledAt: NOW - 5,
    });
  },
);
