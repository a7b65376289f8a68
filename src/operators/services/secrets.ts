import { type SecretOwner, type Slot, UnsealError, unseal } from "../../core/credentials/sealed-secret.ts";
import type { Runtime } from "../../core/runtime.ts";
import { masterKeyWrong } from "./refusals.ts";
import { keyringOf, type ServiceContext } from "./service-context.ts";

/** 32 random bytes in hex: as strong as HMAC-SHA256 itself, and without a character that a shell or a URL would change. */
export const newSecret = (runtime: Runtime): string => runtime.bytes(32).toHex();

/** A random id for a secret. Nobody can guess it, and no two secrets have the same. */
export const newVersion = (runtime: Runtime): string => runtime.bytes(16).toHex();

export const newAppid = (runtime: Runtime): string => runtime.bytes(16).toHex();

/**
 * A stored secret in clear text.
 *
 * @throws ServiceError `internal` when no configured master key opens it
 */
export async function openSecret(ctx: ServiceContext, owner: SecretOwner, slot: Slot, sealed: string): Promise<string> {
  try {
    return await unseal(await keyringOf(ctx), owner, slot, sealed);
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    throw masterKeyWrong(error);
  }
}
