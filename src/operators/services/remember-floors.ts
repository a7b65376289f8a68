import { ServiceError } from "../../core/errors.ts";
import { withinTime } from "../../core/runtime.ts";
import { TRY_LIMIT_MS } from "../../core/store/run-batch.ts";
import { type AskKv, writeSiteFloors, writeSiteId } from "../store/kv-floors.ts";
import type { ServiceContext } from "./service-context.ts";

/** Reads or writes KV within 3 s. A restore of D1 does not undo what KV holds. */
export const fromKv =
  ({ runtime }: Pick<ServiceContext, "runtime">): AskKv =>
  async (ask) => {
    const silentKv = (cause?: unknown) =>
      new ServiceError("unavailable", {
        reason: "kv_unavailable",
        detail: "KV does not answer.",
        retryAfter: 1,
        cause,
      });
    try {
      return await withinTime(runtime, TRY_LIMIT_MS, ask, () => {
        throw silentKv();
      });
    } catch (cause) {
      throw cause instanceof ServiceError ? cause : silentKv(cause);
    }
  };

/**
 * Stores in KV which ids a site skipped: a restore of its home returns D1 to a time before the skip.
 *
 * @param chatIdFloor new sessions get ids above this one
 * @throws ServiceError `unavailable`, reason `kv_unavailable`
 */
export const rememberFloors = (
  ctx: ServiceContext,
  { id, home }: { id: number; home: string },
  chatIdFloor: number,
): Promise<void> =>
  fromKv(ctx)(() => writeSiteFloors(ctx.config.credentials, home, { siteId: id, chatId: chatIdFloor, eventSeq: 0 }));

/** Stores a new site's id and floor in KV, for a restore of the directory. Never rejects: a failure of KV must not stop the new site. */
export async function rememberSite(
  ctx: ServiceContext,
  site: { id: number; home: string; firstChatId: number },
): Promise<void> {
  const floors = site.firstChatId > 1 ? [rememberFloors(ctx, site, site.firstChatId - 1)] : [];
  await Promise.allSettled([fromKv(ctx)(() => writeSiteId(ctx.config.credentials, site.id)), ...floors]);
}
