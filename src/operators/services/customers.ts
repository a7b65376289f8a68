import * as z from "zod/mini";
import { customerId } from "../../core/fields.ts";
import { SESSION_EVENT_TYPES } from "../../core/operations/index.ts";
import { insertAudit } from "../store/audit.ts";
import type { Site } from "../store/directory/sites.ts";
import { type StoredCustomer, selectCustomer } from "../store/home/customers.ts";
import { customerHasher } from "./customer-hash.ts";
import { afterId, CURSOR_RULE } from "./page.ts";
import { customerUnknown } from "./refusals.ts";
import { authorOf, homeOf, type ServiceContext } from "./service-context.ts";

/** Body of POST /admin/sites/:site_id/customers/export. */
export const customerExportSchema = z.strictObject({
  sbs: customerId,
  cursor: z.optional(z.string(CURSOR_RULE).check(z.regex(/^\d{1,16}$/, CURSOR_RULE))),
});

/** Body of POST /admin/sites/:site_id/customers/erase. */
export const customerErasureSchema = z.strictObject({ sbs: customerId });

export const SESSIONS_PER_PAGE = 50;

/** A page of what is stored of a customer. */
export interface ExportedCustomer {
  customer: StoredCustomer["customer"];
  /** The oldest session first, each with its participants and messages. */
  sessions: (StoredCustomer["sessions"][number] & Pick<StoredCustomer, "participants" | "messages">)[];
  /** The stored events of these sessions. `data` is null once it is erased. */
  events: (Omit<StoredCustomer["events"][number], "data"> & { data: Record<string, unknown> | null })[];
  nextCursor: string | null;
}

/**
 * Everything stored of a customer, {@link SESSIONS_PER_PAGE} sessions at a time. Each page leaves a row in the audit log, which names the
 * customer by a hash.
 *
 * @param input `cursor` is the `nextCursor` of the page before
 * @throws ServiceError `invalid_input` for a malformed cursor; `not_found`, reason `customer_unknown`
 */
export async function exportCustomer(
  ctx: ServiceContext,
  { site, sbs: externalId, cursor }: { site: Site; sbs: string; cursor?: string | undefined },
): Promise<ExportedCustomer> {
  const after = afterId({ cursor, limit: SESSIONS_PER_PAGE });
  const db = homeOf(ctx, site);
  const sessionChoice = { siteId: site.id, externalId, after, limit: SESSIONS_PER_PAGE + 1 };
  const storedCustomer = await selectCustomer(db, sessionChoice, SESSION_EVENT_TYPES);
  if (storedCustomer === undefined) throw customerUnknown();
  const { customer, chatIds, sessions, participants, messages, events } = storedCustomer;
  const lastChatId = chatIds.at(SESSIONS_PER_PAGE - 1) ?? Number.MAX_SAFE_INTEGER;
  const page = sessions.filter(({ id }) => id <= lastChatId);
  const hash = await (await customerHasher(ctx))(site.id, externalId);
  const details = { hash, sessions: page.length, after };
  await insertAudit(db, authorOf(ctx), { siteId: site.id, action: "customer.exported", subject: "", details });
  return {
    customer,
    sessions: page.map((session) => ({
      ...session,
      participants: participants.filter(({ sessionId }) => sessionId === session.id),
      messages: messages.filter(({ sessionId }) => sessionId === session.id),
    })),
    events: events
      .filter(({ sessionId }) => Number(sessionId) <= lastChatId)
      .map((event) => ({ ...event, data: JSON.parse(event.data ?? "null") as Record<string, unknown> | null })),
    nextCursor: chatIds.length > SESSIONS_PER_PAGE ? String(lastChatId) : null,
  };
}
