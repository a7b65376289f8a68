import type { Violation } from "../rules.ts";

/** The data of one request for the log. Never a secret, a signature, a customer's name or the content of a message. */
export interface Trace {
  requestId: string;
  /** The appid of a known app only: a caller who confuses the fields may have sent a secret as appid. */
  appid?: string;
  /** The home of the site that the request is about. */
  home?: string;
  reason?: string;
  /** Which field broke which rule, for the journal. */
  violations?: readonly Violation[] | undefined;
  /** The text of the violations, or the sentence in place of them. */
  detail?: string | undefined;
  /** True when an earlier request under the same Idempotency-Key was accepted, and its answer was given again. */
  repeated?: boolean;
  /** The agents that add_kf left out, each with the reason. */
  ignoredAgents?: string;
  fault?: string;
  /** True for a fault of the service, even where ERROR_STATUS turns its status into 200. */
  serverFault?: boolean;
  /** The app that the request names, once it is known, for the journal. `isRouted`: the directory has just said that it is there. */
  app?: { siteId: number; appid: string; home: string; isRouted?: true };
  /** The appid that the request names, until somebody has said whose it is. For the journal only: it may be a secret. */
  claimedAppid?: string;
  /** The operation that was asked for, by its name. */
  operation?: string;
  /** The version of the secret that verified the signature. */
  secretVersion?: string;
  sessionId?: number;
  credentialsFrom?: string;
  credentialsMs?: number;
  kvMs?: number;
  d1Ms?: number;
}
