import { describeViolations } from "../../../src/core/describe-violations.ts";
import { STATUS_OF } from "../../../src/core/errors.ts";
import type { Violation } from "../../../src/core/rules.ts";
import { codeOfReason, REFUSAL_REASONS } from "../../../src/core/signed/refusal-reasons.ts";
import { SHOWN } from "../shown-time.ts";
import { insertRows, pick, range, requestIdAt } from "./rows.ts";

const HOUR = 3_600;
const DAY = 86_400;

export interface SeededRefusal {
  requestId: string;
  at: number;
  reason: string;
  appid: string;
}

/** The most frequent reasons, which are added to the list of all reasons. */
const FREQUENT = ["signature_mismatch", "signature_mismatch", "fields_invalid", "timestamp_stale", "agents_invalid"];

const VIOLATIONS: Record<string, Violation[][]> = {
  fields_invalid: [
    [{ field: "sbs", rule: "text_within", values: [1, 64] }],
    [
      { field: "ip", rule: "ip_address" },
      { field: "fzr_uid", rule: "one_of", values: ["kefu_id"] },
    ],
    [{ field: "kefu_id", rule: "agent_ids", values: [1, 100] }],
    [{ field: "content", rule: "text_within", values: [1, 2000] }],
  ],
  agents_invalid: [[10408], [99999, 10416]].map((ids) => [
    {
      field: "kefu_id",
      rule: "agents_fit",
      agents: ids.map((id) => ({ id, why: id === 99999 ? "unknown" : "disabled" })),
    },
  ]),
};

/** What rows from before rows had violations say. */
const OLD_DETAILS: Record<string, string> = {
  timestamp_stale: "timestamp: 1803912000 is 4212 s too old; 300 s are allowed",
};

/** Makes refusals of two days, for every reason of the journal. @returns the newest first */
export async function seedJournal(db: D1Database, siteId: number, appids: readonly string[]): Promise<SeededRefusal[]> {
  const rows = range(460).map((index) => {
    const reason = index % 3 === 0 ? pick(REFUSAL_REASONS, Math.floor(index / 3)) : pick(FREQUENT, index);
    const violations = VIOLATIONS[reason] ? pick(VIOLATIONS[reason], index) : null;
    const at = SHOWN - 45 - Math.round(index ** 1.4 * 32);
    return {
      site_id: siteId,
      request_id: requestIdAt(at, `refusal ${index}`),
      at,
      appid: reason === "signature_mismatch" ? (appids[1] ?? "") : pick(appids, index),
      operation: index % 4 === 0 ? "add_agents" : "create_session",
      reason,
      status: STATUS_OF[codeOfReason(reason)],
      detail: violations ? describeViolations(violations) : (OLD_DETAILS[reason] ?? null),
      violations: violations && JSON.stringify(violations),
      secret: null,
      client: index % 6 === 0 ? "2001:db8:4f::/48" : `192.0.2.${(index % 2) * 128}/24`,
      skipped: index % 11 === 0 ? 12 + index : 0,
    };
  });
  await insertRows(db, "refusals", rows);
  return rows.map(({ request_id: requestId, at, reason, appid }) => ({ requestId, at, reason, appid }));
}

/** The networks of an hour's calls. The old secret is used from one of its own, too. */
const networksOf = (at: number, app: number, isOld: boolean): string =>
  JSON.stringify({ [`203.0.${app + 112}.0/24`]: at, [isOld ? "198.51.100.0/24" : `2001:db8:${app}f::/48`]: at - 900 });

/**
 * Makes the calls of 14 days by hours. On the last day many more are refused for a wrong signature. The second app makes most of the
 * errors, and the first app most of the calls.
 */
export async function seedUsage(
  db: D1Database,
  siteId: number,
  apps: readonly { appid: string; version: string; previous?: string | undefined }[],
): Promise<void> {
  const countedUntil = SHOWN - 1_920;
  const thisHour = countedUntil - (countedUntil % HOUR);
  const rows = range(14 * 24).flatMap((back) => {
    const hour = thisHour - back * HOUR;
    const weekend = [0, 6].includes(new Date(hour * 1000).getUTCDay()) ? 0.4 : 1;
    const day = 0.3 + Math.sin((((hour % DAY) / HOUR - 5) / 24) * Math.PI) ** 2;
    return apps.flatMap(({ appid, version, previous }, index) => {
      const calls = Math.round((42 / (index + 1)) * day * weekend) + ((hour / HOUR + index) % 3);
      const callCount = (outcome: string, count: number, operation = "create_session", secret = version) => ({
        site_id: siteId,
        appid,
        operation,
        outcome,
        secret,
        count,
        last_at: hour + 2_400,
        hour,
        networks: secret === "" ? null : networksOf(hour + 2_400, index, secret === previous),
      });
      const wrong = index === 1 ? (back < 20 ? 31 : 2) : 0;
      return [
        callCount("accepted", calls, "create_session", previous !== undefined && back % 2 === 1 ? previous : version),
        callCount("accepted", Math.round(calls / 3), "add_agents"),
        callCount("fields_invalid", index === 2 ? 3 : back % 5 === 0 ? 1 : 0),
        callCount("signature_mismatch", wrong, "create_session", ""),
        callCount("timestamp_stale", back % 7 === 0 ? 2 : 0),
      ].filter(({ count }) => count > 0);
    });
  });
  await insertRows(db, "usage", rows);
  await db
    .prepare("INSERT OR REPLACE INTO folds (id, nonces_until, refusals_until, copies) VALUES (1, ?1, ?1, 1)")
    .bind(countedUntil)
    .run();
}
