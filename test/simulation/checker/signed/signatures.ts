import type { Call } from "../../world/call.ts";
import type { App } from "../home-model.ts";
import type { Model } from "../model.ts";
import { isSignedWith, type Reading, type Unreadable } from "./contract.ts";

/** A signed call, as it was read. */
export interface SignedCall {
  call: Call;
  reading: Unreadable | Reading;
  /** Whether a secret signed it, by the secret's version. Filled when asked. */
  signedBy: Map<string, boolean>;
}

export type Readable<Signed extends SignedCall = SignedCall> = Signed & { reading: Reading };

export const isReadable = <Signed extends SignedCall>(signed: Signed): signed is Readable<Signed> =>
  typeof signed.reading !== "number";

/** Whether a secret that is in force, by the home and the isolate's clock when the call arrived, signed the request. */
export function isInForce(model: Model, app: App, signed: Readable, clock = signed.call.clock): boolean {
  if (app.revoked) return false;
  const versions = [app.version];
  if (app.previousVersion !== null && app.previousExpiresAt > clock) versions.push(app.previousVersion);
  return versions.some((version) => isSignedBy(model, version, signed));
}

/** Whether a secret that the app has or once had signed the request: an isolate may not have heard of the change. */
export const wasOnceInForce = (model: Model, signed: Readable): boolean =>
  [...(model.versions.get(signed.reading.appid) ?? [])].some((version) => isSignedBy(model, version, signed));

function isSignedBy(model: Model, version: string, { call, reading, signedBy }: Readable): boolean {
  const secret = model.secrets.get(version);
  if (secret === undefined) return false;
  const signs = signedBy.get(version) ?? isSignedWith(secret, call.wire.body, reading.signature);
  signedBy.set(version, signs);
  return signs;
}
