/** One handled request. Must not hold a secret, a signature, a customer's name or the content of a message. */
export interface RequestRecord {
  request_id: string;
  method: string;
  /** The pattern of the route, `/admin/apps/:appid`, not the path. */
  route: string;
  status: number;
  /** Only of a known app: a caller who mixes up fields may have sent a secret as appid. */
  appid?: string | undefined;
  /** The home of the site that the request was about. */
  home?: string | undefined;
  outcome: "ok" | "refused" | "repeated";
  /** Why it was refused, as a short word to search for. */
  reason?: string | undefined;
  /** Which field broke which rule. */
  detail?: string | undefined;
  /** The error below the refusal, without data of a caller. */
  fault?: string | undefined;
  chat_id?: number | undefined;
  /** The agents that were left out, each with its reason. */
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

/** Something that an operator should know, although no request failed by it. */
export interface WarningRecord {
  warning: string;
  [more: string]: unknown;
}

/** Where records go. Must not throw, and must not keep a request waiting. */
export interface Telemetry {
  /** @param failed true for a fault of the service, whatever status ERROR_STATUS makes of it */
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
