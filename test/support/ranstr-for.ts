import { isBusy } from "../../src/core/signed/drill.ts";
import { nonceKey } from "../../src/core/signed/kv-nonces.ts";

/** A new ranstr with which the drill `busy` refuses a call of the app; or lets it through. */
export async function ranstrFor(appid: string, outcome: "refused" | "let through"): Promise<string> {
  const ranstr = crypto.randomUUID();
  return isBusy(await nonceKey(appid, ranstr)) === (outcome === "refused") ? ranstr : ranstrFor(appid, outcome);
}
