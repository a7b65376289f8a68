import { type Keyring, type Slot, unseal } from "../core/credentials/sealed-secret.ts";
import { type Runtime, unixSeconds } from "../core/runtime.ts";
import { rootOf } from "../core/store/run-batch.ts";
import type { Telemetry } from "../core/telemetry/telemetry.ts";
import { importSigningKey } from "./sign.ts";
import type { AskedRow } from "./store/deliveries.ts";

/** The sealed secrets of a webhook, and what they are sealed for. */
type SealedKeys = Pick<AskedRow, "siteId" | "webhookId" | "version" | "secret"> &
  Pick<AskedRow, "previousVersion" | "previousSecret" | "previousExpiresAt">;

/**
 * The keys that sign for a webhook: of the current secret, and during an overlap also of the previous one.
 *
 * @param now Unix seconds
 * @throws UnsealError when MASTER_KEY does not open them
 */
export async function openKeys(keyring: Keyring, webhook: SealedKeys, now: number): Promise<CryptoKey[]> {
  const { siteId, webhookId, version, secret, previousVersion, previousSecret, previousExpiresAt } = webhook;
  const open = async (slot: Slot, secretVersion: string, sealed: string) =>
    importSigningKey(await unseal(keyring, { siteId, webhookId, version: secretVersion }, slot, sealed));
  const overlaps = previousVersion !== null && previousSecret !== null && (previousExpiresAt ?? 0) > now;
  return Promise.all([
    open("current", version, secret),
    ...(overlaps ? [open("previous", previousVersion, previousSecret)] : []),
  ]);
}

/** Like {@link openKeys}, but logs a warning and returns undefined when the secrets do not open. */
export async function tryToOpenKeys(
  { runtime, telemetry }: { runtime: Runtime; telemetry: Telemetry },
  home: string,
  keyring: () => Promise<Keyring>,
  webhook: AskedRow,
): Promise<CryptoKey[] | undefined> {
  try {
    return await openKeys(await keyring(), webhook, unixSeconds(runtime));
  } catch (error) {
    const warning = "the secret of a webhook does not open: MASTER_KEY";
    telemetry.warn({ warning, home, webhook: webhook.webhookId, fault: rootOf(error).message });
    return undefined;
  }
}
