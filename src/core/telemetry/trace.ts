import type { Violation } from "../rules.ts";

/** The data of one request for the log. Never a secret, a signature, a customer's name or the content of a message. */
export interface Trace {
  requestId: string;
  /** The appid of a known app only, because a caller who mixes up the fields may send a secret as appid. */
  appid?: string;
  /** The home of the site that the request is about. */
  home?: string;
  /** What the caller drills: one of DRILLS in core/signed/drill.ts. */
  drill?: string | undefined;
  reason?: string;
  /** Which field broke which rule, for the journal. */
  violations?: readonly Violation[] | undefined;
  /** The text of the violations, or a sentence for operators when there are none. */
  detail?: string | undefined;
  /** True when an earlier request under the same Idempotency-Key was accepted, and its answer was given again. */
  repeated?: boolean;
  /** The agents that add_kf left out, each with the reason. */
  ignoredAgents?: string;
  fault?: string;
  /** True for a fault of the service, even where ERROR_STATUS turns its status into 200. */
  serverFault?: boolean;
  /** For the journal: the app that the request names, once it is known. `isRouted`: the directory has just named this place. */
  app?: { siteId: number; appid: string; home: string; isRouted?: true };
  /** The appid that the request names, while its app is not known. For the journal only, because it may be a secret. */
  claimedAppid?: string;
  operation?: string;
  /** The version of the secret that verified the signature. */
  secretVersion?: string;
  sessionId?: number;
  credentialsFrom?: string;
  credentialsMs?: number;
  kvMs?: number;
  d1Ms?: number;
}
