/** The log record of one request. It must not hold a secret, a signature, a customer's name or the content of a message. */
export interface RequestRecord {
  request_id: string;
  method: string;
  /** The route's pattern such as `/admin/apps/:appid`, not the path. */
  route: string;
  status: number;
  /** The appid of a known app only, because a caller who mixes up the fields may send a secret as appid. */
  appid?: string | undefined;
  /** The home of the site that the request was about. */
  home?: string | undefined;
  /** What the caller drills: `lost-answer` and `slow` withhold the answer that this record has. */
  drill?: string | undefined;
  outcome: "ok" | "refused" | "repeated";
  /** The reason of a refusal: a short word that an operator can search for. */
  reason?: string | undefined;
  /** Which field broke which rule. */
  detail?: string | undefined;
  /** The error that caused the refusal, without data of a caller. */
  fault?: string | undefined;
  chat_id?: number | undefined;
  /** The agents that were left out, each with the reason. */
  ignored_agents?: string | undefined;
  credentials_from?: string | undefined;
  credentials_ms?: number | undefined;
  kv_ms?: number | undefined;
  d1_ms?: number | undefined;
  ms: number;
}

export interface JobRecord {
  job: string;
  outcome: "ok" | "failed";
  ms: number;
  [more: string]: unknown;
}

/** A fault that an operator should know about, although no request failed. */
export interface WarningRecord {
  warning: string;
  [more: string]: unknown;
}

/** Where log records go. A method must not throw, and must not make a request wait. */
export interface Telemetry {
  /** @param failed true for a fault of the service, even where ERROR_STATUS turns its status into 200 */
  request(record: RequestRecord, failed: boolean): void;
  job(record: JobRecord): void;
  warn(record: WarningRecord): void;
}

/**
 * Writes one line of JSON per record to the console. Workers Logs indexes its fields.
 *
 * @param version the release that serves, for each line
 */
export function consoleTelemetry(version: string): Telemetry {
  const lineOf = (record: object) => JSON.stringify({ ...record, version });
  return {
    request(record, failed) {
      (failed ? console.error : console.log)(lineOf(record));
    },
    job(record) {
      (record.outcome === "ok" ? console.log : console.error)(lineOf(record));
    },
    warn(record) {
      console.warn(lineOf(record));
    },
  };
}
