import { STATUS_OF } from "../../../src/core/errors.ts";
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

const DETAILS: Record<string, string[]> = {
  fields_invalid: [
    "sbs: must be a string of 1 to 64 characters",
    "ip: must be one IPv4 or IPv6 address, without port, brackets or blanks; fzr_uid: must be one of kefu_id",
    "kefu_id: must be an array of 1 to 100 agent ids (one named twice counts once)",
    "content: must be a string of 1 to 2000 characters",
  ],
  agents_invalid: ["kefu_id: 10408 disabled", "kefu_id: 99999 unknown, 10416 disabled"],
  timestamp_stale: ["timestamp: 1803912000 is 4212 s too old; 300 s are allowed"],
};

/** Makes refusals of two days, for every reason of the journal. @returns the newest first */
export async function seedJournal(db: D1Database, siteId: number, appids: readonly string[]): Promise<SeededRefusal[]> {
  const rows = range(460).map((index) => {
    const reason = index % 3 === 0 ? pick(REFUSAL_REASONS, Math.floor(index / 3)) : pick(FREQUENT, index);
    const at = SHOWN - 45 - Math.round(index ** 1.4 * 32);
    return {
      site_id: siteId,
      request_id: requestIdAt(at, `refusal ${index}`),
      at,
      appid: reason === "signature_mismatch" ? (appids[1] ?? "") : pick(appids, index),
      operation: index % 4 === 0 ? "add_agents" : "create_session",
      reason,
      status: STATUS_OF[codeOfReason(reason)],
      detail: DETAILS[reason] ? pick(DETAILS[reason], index) : null,
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
