import { UnsealError } from "../../core/credentials/sealed-secret.ts";
import { ServiceError } from "../../core/errors.ts";
import { type Runtime, unixSeconds } from "../../core/runtime.ts";
import { newEventId } from "../../core/signed/event-id.ts";
import { PING } from "../../core/store/event-schema.ts";
import { webhookBody } from "../../events/body.ts";
import { openKeys } from "../../events/open-keys.ts";
import { post } from "../../events/post.ts";
import { newWebhookSecret } from "../../events/secret.ts";
import { importSigningKey, signatureHeaders } from "../../events/sign.ts";
import { insertAuditOnce } from "../store/audit.ts";
import { selectSealedWebhook } from "../store/home/read-webhooks.ts";
import { masterKeyWrong, webhookDisabled, webhookUnknown } from "./refusals.ts";
import { authorOf, homeOf, keyringOf, requireOpenHome, type ServiceContext } from "./service-context.ts";
import { requirePostable, type WebhookOf } from "./webhooks.ts";

/** The classes of statuses that a case expects. */
export const DRILL_CLASSES = ["2xx", "4xx"] as const;

interface DrillCase {
  /** What is posted, and the fault of a receiver that answers it in the wrong way, in the console's English. */
  posted: string;
  fault: string;
  expected: (typeof DRILL_CLASSES)[number];
  /** Whether it has the webhook-id of the case before. */
  repeats?: true;
  /** How many seconds its timestamp is old. */
  age?: number;
  /** The keys that sign, from those of the webhook and one that its receiver cannot know; by default the webhook's. */
  keys?: (own: CryptoKey[], strange: CryptoKey) => CryptoKey[];
  /** Changes the signatures. */
  forge?: (signatures: string) => string;
  /** Changes the body after it was signed. */
  alter?: (body: string) => string;
}

/** The cases of a drill, in the order of their posts. */
export const DRILL_CASES = {
  good: {
    posted: "A good event",
    fault: "It did not take a good event: it has another secret, does not verify the raw body, or fails.",
    expected: "2xx",
  },
  twice: {
    posted: "The same event again",
    fault: "It did not take an event that came twice: it must answer it with a 2xx again, and act on it once.",
    expected: "2xx",
    repeats: true,
  },
  forged: {
    posted: "A forged event",
    fault: "It accepted a forged event: it does not verify the signature, or not all of it.",
    expected: "4xx",
    // The case of its last letter, so a receiver that compares only a part of it, or any case, is found too.
    forge: (signatures) =>
      signatures.replace(/[a-z](?=[^a-z]*=)/gi, (letter) =>
        letter < "a" ? letter.toLowerCase() : letter.toUpperCase(),
      ),
  },
  stale: {
    posted: "An event that is 10 minutes old",
    fault: "It accepted an event that is 10 minutes old: it does not compare webhook-timestamp with its clock.",
    expected: "4xx",
    age: 600,
  },
  altered: {
    posted: "A body that was changed after it was signed",
    fault:
      "It accepted a body that was changed after it was signed: it verifies not the raw body, but one that it has trimmed or written anew, or none.",
    expected: "4xx",
    // The JSON stays the same, so a body that is written anew, or trimmed, has the bytes that were signed.
    alter: (body) => `${body} `,
  },
  // During an overlap the secret of before signs second. A third signature finds a receiver that reads the last alone.
  previous_secret: {
    posted: "An event whose second signature is right",
    fault:
      "It refused an event whose second signature is right: it reads only one of them, or bans whoever sent bad events.",
    expected: "2xx",
    keys: (own, strange) => [strange, ...own, strange],
  },
} as const satisfies Record<string, DrillCase>;

export type DrillCaseName = keyof typeof DRILL_CASES;
export const DRILL_CASE_NAMES = Object.keys(DRILL_CASES) as DrillCaseName[];

/** A webhook is drilled at most once in this time. */
const DRILL_SECONDS = 60;

type Status = number | null;

/** Judges the statuses of a drill, in the order of {@link DRILL_CASES}. A status is null when no answer came. */
export function judgeDrill(statuses: readonly Status[]) {
  const results = DRILL_CASE_NAMES.map((name, i) => {
    const { expected } = DRILL_CASES[name];
    const status = statuses[i] ?? null;
    return { case: name, status, expected, ok: String(status).at(0) === expected.at(0) };
  });
  return { ok: results.every(({ ok }) => ok), results };
}

/**
 * Posts good and bad events of type `ping` to a webhook, one after the other, and judges what its receiver answers. Stores nothing but
 * an audit row, before the first post.
 *
 * @throws ServiceError `not_found`; `conflict`, reason `webhook_disabled`; `invalid_input` for a URL that events cannot be posted to;
 *   `unavailable`, reason `home_closed`; `internal` when MASTER_KEY does not open the secrets; `too_many_requests`, reason
 *   `webhook_drill_limit`
 */
export async function drillWebhook(ctx: ServiceContext, { site, webhookId }: WebhookOf) {
  const db = homeOf(ctx, site);
  const webhook = await selectSealedWebhook(ctx.runtime, db, { siteId: site.id, id: webhookId });
  if (webhook === undefined) throw webhookUnknown();
  if (webhook.status !== "enabled") throw webhookDisabled();
  requirePostable(ctx, webhook.url);
  requireOpenHome(ctx, site.home);
  const keys = await openKeys(await keyringOf(ctx), { ...webhook, webhookId }, ctx.now).catch((error) => {
    throw error instanceof UnsealError ? masterKeyWrong(error) : error;
  });
  const row = { siteId: site.id, action: "webhook.drilled" as const, subject: webhookId };
  const since = ctx.now - DRILL_SECONDS + 1;
  if (!(await insertAuditOnce(db, authorOf(ctx), row, since, "anybody"))) throw drilledBefore();
  ctx.isPosting = true;
  return judgeDrill(await postCases(ctx.runtime, webhook.url, webhookId, keys));
}

const drilledBefore = () =>
  new ServiceError("too_many_requests", {
    reason: "webhook_drill_limit",
    detail: `A webhook is drilled at most once in ${DRILL_SECONDS} s. Nothing was posted now.`,
    retryAfter: DRILL_SECONDS,
  });

/** Posts the cases one after the other. @returns their statuses */
async function postCases(runtime: Runtime, url: string, webhookId: string, keys: CryptoKey[]): Promise<Status[]> {
  const strange = await importSigningKey(newWebhookSecret(runtime));
  // The number of an event that is not stored is 0: no stored event has it.
  const data = JSON.stringify({ seq: 0, webhook_id: webhookId });
  const body = webhookBody({ type: PING, at: unixSeconds(runtime), data });
  const statuses: Status[] = [];
  let id = "";
  for (const each of Object.values<DrillCase>(DRILL_CASES)) {
    if (!each.repeats) id = newEventId(runtime);
    const timestamp = unixSeconds(runtime) - (each.age ?? 0);
    const signers = each.keys?.(keys, strange) ?? keys;
    const headers = await signatureHeaders(signers, { id, timestamp, body });
    const signatures = headers["webhook-signature"];
    headers["webhook-signature"] = each.forge?.(signatures) ?? signatures;
    const { status } = await post(runtime, url, headers, each.alter?.(body) ?? body);
    statuses.push(status);
  }
  return statuses;
}
