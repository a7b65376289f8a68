/** What the service tells of itself: one record per request, one per job, and warnings. */

/** One handled request. Never with a secret, a signature, a customer's name or a message's content in it. */
export interface RequestRecord {
  request_id: string;
  method: string;
  /** The pattern of the route, never the path itself. */
  route: string;
  status: number;
  /** Of a known app only: a caller who mixes up fields must not leave a secret in the log. */
  appid?: string | undefined;
  outcome: "ok" | "refused" | "repeated";
  /** Why it was refused, in a word to search for. */
  reason?: string | undefined;
  /** Which field broke which rule. */
  detail?: string | undefined;
  /** What went wrong underneath, without data of a caller. */
  fault?: string | undefined;
  chat_id?: number | undefined;
  /** Agents that were left out, each with why. */
  ignored_agents?: string | undefined;
  credentials_from?: string | undefined;
  credentials_ms?: number | undefined;
  kv_ms?: number | undefined;
  d1_ms?: number | undefined;
  ms: number;
}

/** One run of a scheduled job. */
export interface JobRecord {
  job: string;
  outcome: "ok" | "failed";
  ms: number;
  [more: string]: unknown;
}

/** Something an operator should know of that failed no request. */
export interface WarningRecord {
  warning: string;
  [more: string]: unknown;
}

/** Where records go. Must not throw, and must not keep a request waiting. */
export interface Telemetry {
  /** @param failed the service's own fault, also where ERROR_STATUS answers 200 */
  request(record: RequestRecord, failed: boolean): void;
  job(record: JobRecord): void;
  warn(record: WarningRecord): void;
}

/** One line of JSON per record on the console, which Workers Logs indexes field by field. */
export const consoleTelemetry: Telemetry = {
  request(record, failed) {
    (failed ? console.error : console.log)(JSON.stringify(record));
  },
  job(record) {
    (record.outcome === "ok" ? console.log : console.error)(JSON.stringify(record));
  },
  warn(record) {
    console.warn(JSON.stringify(record));
  },
};
