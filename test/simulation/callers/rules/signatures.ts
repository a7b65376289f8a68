import type { App } from "../../checker/home-model.ts";
import type { Model } from "../../checker/model.ts";
import type { Call } from "../../world/call.ts";
import { type ContractReading, isSignedWith } from "./contract.ts";

export interface SignedCall {
  call: Call;
  reading: ContractReading;
  /** For each version of a secret, whether it signed the call. Computed on demand. */
  signedBy: Map<string, boolean>;
}

/** Whether a valid secret signed the request, by the home's rows and by `clock`. */
export function isInForce(model: Model, app: App, signed: SignedCall, clock = signed.call.clock): boolean {
  if (app.isRevoked) return false;
  const versions = [app.version];
  if (app.previousVersion !== null && app.previousExpiresAt > clock) versions.push(app.previousVersion);
  return versions.some((version) => isSignedBy(model, version, signed));
}

/** Whether any secret that the app has ever had signed the request. An isolate may not have heard of a change. */
export const wasOnceInForce = (model: Model, signed: SignedCall): boolean =>
  [...(model.versions.get(signed.reading.appid) ?? [])].some((version) => isSignedBy(model, version, signed));

export function isSignedBy(model: Model, version: string, { call, reading, signedBy }: SignedCall): boolean {
  const secret = model.secrets.get(version);
  if (secret === undefined) return false;
  const signs = signedBy.get(version) ?? isSignedWith(secret, call.wire.body, reading.signature);
  signedBy.set(version, signs);
  return signs;
}
