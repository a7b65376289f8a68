import type { Intent } from "./intents.ts";

/** Calls whose answer contains a secret. */
export const GIVING: Intent["kind"][] = ["issueApp", "rotate", "addWebhook", "rotateWebhook"];

/** The rule that a call breaks when it writes something that is not its purpose. */
export const WRITES: Record<Intent["kind"], string> = {
  createSite: "a site is made once in its home and then opened",
  changeSite: "a change of a site is made as it was asked for, in home and directory",
  deleteSite: "only a closed site ends, by its own name, and is known to end elsewhere before anything of it goes",
  exportSite: "handing over a site writes nothing but its row in the audit log",
  issueApp: "an app is made on its own site, behind a route, with its secret sealed for it",
  rotate: "a rotation gives a new secret and ends no other than it says",
  endOverlap: "ending an overlap removes the previous secret and nothing else",
  revoke: "an app is revoked and keeps its route; only a route without an app is released",
  addAgent: "an agent is added as it was asked for",
  changeAgent: "an agent is changed as it was asked for",
  reseal: "re-sealing keeps every secret",
  restored: "reconciling a restored home gives back what other databases know, and makes its sites skip ids",
  createToken: "a token is stored as it was asked for, and only its hash",
  deleteToken: "a token is deleted once, and its row tells when",
  eraseCustomer: "an erasure takes the customer's sessions up to its begin, whole, and nothing else",
  exportCustomer: "handing over a customer's data writes nothing but its row in the audit log",
  read: "a read writes nothing",
  addWebhook: "a webhook is added as it was asked for, with its secret sealed for it",
  changeWebhook: "a webhook is changed as it was asked for",
  rotateWebhook: "a rotation gives a webhook a new secret and ends no other than it says",
  endWebhookOverlap: "ending the overlap of a webhook removes its previous secret and nothing else",
  deleteWebhook: "a webhook is removed with its deliveries and nothing else",
  ping: "a ping is one event for one webhook",
  redeliver: "redelivering makes one delivery due",
  redeliverMany: "sending again makes due what was asked for, each once",
};
