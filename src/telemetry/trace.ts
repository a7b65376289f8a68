/** What one request leaves in the log. Never a secret, a signature, a customer's name or a message's content. */
export interface Trace {
  requestId: string;
  /** Of a known app only: a caller who mixes up fields must not leave a secret in the log. */
  appid?: string;
  /** The home of the site that the request is about. */
  home?: string;
  reason?: string;
  /** Which field broke which rule. */
  detail?: string;
  /** Accepted before under the same Idempotency-Key; answered again. */
  repeated?: boolean;
  /** Agents that add_kf left out, each with why. */
  ignoredAgents?: string;
  fault?: string;
  /** The failure is the service's own, also where ERROR_STATUS answers 200. */
  serverFault?: boolean;
  sessionId?: number;
  credentialsFrom?: string;
  credentialsMs?: number;
  kvMs?: number;
  d1Ms?: number;
}
