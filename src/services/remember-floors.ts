import { ServiceError } from "../errors.ts";
import { withinTime } from "../runtime.ts";
import { writeSiteFloors } from "../store/kv-floors.ts";
import { TRY_LIMIT_MS } from "../store/run-batch.ts";
import type { ServiceContext } from "./service-context.ts";

/** Asks KV for what a restore of D1 does not undo. @throws ServiceError `unavailable`, reason `kv_unavailable`, after 3 s too */
export const fromKv = <T>({ runtime }: ServiceContext, ask: () => Promise<T>): Promise<T> =>
  withinTime(runtime, TRY_LIMIT_MS, ask, () => {
    throw new ServiceError("unavailable", { reason: "kv_unavailable", detail: "KV does not answer.", retryAfter: 1 });
  });

/**
 * Remembers in KV which ids of a site were skipped, because a restore of its home may undo that in D1.
 *
 * @param chatIdFloor no session gets an id up to this one
 * @throws ServiceError `unavailable`, reason `kv_unavailable`
 */
export const rememberFloors = (
  ctx: ServiceContext,
  { id, home }: { id: number; home: string },
  chatIdFloor: number,
): Promise<void> =>
  fromKv(ctx, () => writeSiteFloors(ctx.config.credentials, home, { siteId: id, chatId: chatIdFloor, eventSeq: 0 }));
