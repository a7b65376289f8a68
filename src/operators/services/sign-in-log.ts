import { remember } from "../../core/credentials/remember.ts";
import { rootOf } from "../../core/store/run-batch.ts";
import { insertAudit, insertAuditOnce } from "../store/audit.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";

/** This file writes audit rows for what changes nothing: refused sign-ins, and reads by the root. It writes them after the answer. */

/** A refused sign-in leaves a row at most this often, in each isolate and surface. */
const REFUSED_MS = 60_000;

/**
 * Notes a refused sign-in to the console, or a refused token of the admin API. A row counts the refusals since the last row, and has the
 * reason of the newest.
 *
 * @param subject the e-mail address that Access confirms, if any
 */
export function noteRefused(ctx: ServiceContext, reason: string, subject = ""): void {
  const { runtime, memory, actor } = ctx;
  const now = runtime.now();
  const { at, count } = memory.refused.get(actor) ?? { at: Number.NEGATIVE_INFINITY, count: 0 };
  if (now - at < REFUSED_MS) {
    memory.refused.set(actor, { at, count: count + 1 });
    return;
  }
  memory.refused.set(actor, { at: now, count: 0 });
  const row = { siteId: null, action: "operator.refused" as const, subject, details: { reason, count: count + 1 } };
  writeLater(ctx, () =>
    insertAudit(ctx.config.directory, authorOf(ctx), row).catch((error) => {
      const { count: since } = memory.refused.get(actor) ?? { count: 0 };
      memory.refused.set(actor, { at: now, count: since + count + 1 });
      throw error;
    }),
  );
}

const HOUR_SECONDS = 3_600;

/** The start of the hour of a time. Both in Unix seconds. */
export const hourOf = (at: number): number => at - (at % HOUR_SECONDS);

const ROOT_READ = { siteId: null, action: "root.read" as const, subject: "" };

/** Notes that the root reads: one row for each hour and network. */
export function noteRootRead(ctx: ServiceContext): void {
  const { memory, address, now } = ctx;
  const hour = hourOf(now);
  const network = address ?? "";
  if (memory.rootReads.get(network) === hour) return;
  remember(memory.rootReads, network, hour);
  writeLater(ctx, () =>
    insertAuditOnce(ctx.config.directory, authorOf(ctx), ROOT_READ, hour, "operator").catch((error) => {
      memory.rootReads.delete(network);
      throw error;
    }),
  );
}

/** Writes a row after the answer. When that fails, the log gets a warning. */
export function writeLater({ telemetry, waitUntil }: ServiceContext, write: () => Promise<unknown>): void {
  const warn = (error: unknown) =>
    telemetry.warn({ warning: "a row of the audit log was not written", fault: rootOf(error).message });
  waitUntil(write().catch(warn));
}
