import type { UnsealError } from "../../core/credentials/sealed-secret.ts";
import { ServiceError } from "../../core/errors.ts";
import type { Role } from "../access/role.ts";

/** This file has the refusals that several services share. */

/** @param neededRole the role that the call needs; `ownRole` the operator's */
export const roleTooLow = (neededRole: Role, ownRole: Role) =>
  new ServiceError("forbidden", {
    reason: "role_too_low",
    role: neededRole,
    detail: `This call needs the role ${neededRole}, and yours is ${ownRole}.`,
  });

/** @param cause for the log */
export const masterKeyWrong = (cause: UnsealError) =>
  new ServiceError("internal", {
    reason: "master_key_wrong",
    detail: "MASTER_KEY does not open what is sealed. Nothing was changed: GET /healthz says more.",
    cause,
  });

export const siteUnknown = () =>
  new ServiceError("not_found", { reason: "site_unknown", detail: "There is no such site." });

export const tokenUnknown = () =>
  new ServiceError("not_found", { reason: "token_unknown", detail: "There is no such token." });

export const personUnknown = () =>
  new ServiceError("not_found", { reason: "person_unknown", detail: "There is no such person." });

/** @param id of the row that the e-mail address has */
export const personTaken = (id: string) =>
  new ServiceError("conflict", {
    reason: "person_taken",
    detail: `email: this address has access already, as ${id}. End that first.`,
  });

export const consoleSessionUnknown = () =>
  new ServiceError("not_found", { reason: "console_session_unknown", detail: "There is no such console session." });

export const homeUnknown = () =>
  new ServiceError("not_found", { reason: "home_unknown", detail: "There is no such home." });

export const appUnknown = () =>
  new ServiceError("not_found", { reason: "app_unknown", detail: "There is no such app." });

/** The appid is reserved for a site that has no such app. */
export const appMissing = () =>
  new ServiceError("not_found", { reason: "app_missing", detail: "There is no such app." });

export const agentUnknown = () =>
  new ServiceError("not_found", { reason: "agent_unknown", detail: "There is no such agent." });

export const customerUnknown = () =>
  new ServiceError("not_found", { reason: "customer_unknown", detail: "There is no such customer." });

export const erasureUnknown = () =>
  new ServiceError("not_found", { reason: "erasure_unknown", detail: "There is no such erasure." });

export const sessionUnknown = () =>
  new ServiceError("not_found", { reason: "session_unknown", detail: "There is no such session." });

export const appidTaken = () => new ServiceError("conflict", { reason: "appid_taken", detail: "appid: is taken" });

export const appRevoked = () => new ServiceError("conflict", { reason: "app_revoked", detail: "The app is revoked." });

export const agentTaken = () =>
  new ServiceError("conflict", { reason: "agent_taken", detail: "id: the site has an agent of this id" });

export const webhookUnknown = () =>
  new ServiceError("not_found", { reason: "webhook_unknown", detail: "There is no such webhook." });

export const webhookDisabled = () =>
  new ServiceError("conflict", { reason: "webhook_disabled", detail: "The webhook is disabled: enable it first." });

export const webhookEnding = () =>
  new ServiceError("conflict", {
    reason: "webhook_ending",
    detail:
      "Deliveries that were pending when the webhook was disabled are still being ended, within minutes: enable it when `pending` is 0.",
  });

export const eventUnknown = () =>
  new ServiceError("not_found", { reason: "event_unknown", detail: "There is no such event, or it is kept no more." });
