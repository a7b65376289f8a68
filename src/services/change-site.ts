import * as z from "zod/mini";
import { invalidInput, ServiceError } from "../errors.ts";
import { displayName } from "../fields.ts";
import { type Site, updateSiteCopy } from "../store/directory/sites.ts";
import { type KnownSite, updateHomeSite } from "../store/home/home-sites.ts";
import { SITE_STATUSES } from "../store/schema.ts";
import { firstChatId } from "./create-site.ts";
import { siteUnknown } from "./refusals.ts";
import { rememberFloors } from "./remember-floors.ts";
import { authorOf, homeOf, type ServiceContext } from "./service-context.ts";

/** Body of PATCH /admin/sites/:site_id. */
export const siteChangeSchema = z
  .strictObject({
    name: z.optional(displayName),
    status: z.optional(z.enum(SITE_STATUSES, 'must be "open" or "closed"')),
    first_chat_id: z.optional(firstChatId),
    events: z.optional(z.boolean("must be true or false")),
  })
  .check(
    z.refine((change) => Object.values(change).some((value) => value !== undefined), {
      error: "must change name, status, first_chat_id or events",
      params: { minProperties: 1 },
    }),
  );

export interface SiteChange {
  name?: string | undefined;
  status?: (typeof SITE_STATUSES)[number] | undefined;
  /** The next session gets this id. Must be above every id that the site has given, or be what was set last. */
  firstChatId?: number | undefined;
  /** Whether accepted calls leave events from now on. */
  events?: boolean | undefined;
}

/**
 * Renames, opens or closes a site, lifts its chat ids, or turns its events on or off. The home is changed first, because it decides; the directory gets a copy, which
 * holds the next chat id that the site may give too. The same call again repairs a copy that was not made. Where the home was
 * restored and the directory knows more of the site, the home gets that too.
 *
 * @throws ServiceError `invalid_input` for a first_chat_id that is too low, and then nothing is changed; `not_found` when the home does
 *   not have the site; `conflict`, reason `changed_meanwhile`; `unavailable`, reason `site_not_copied`, when the home has the change
 *   and the directory does not; `site_not_remembered` when KV does not keep the first_chat_id
 */
export async function changeSite(
  ctx: ServiceContext,
  { site, change }: { site: Site; change: SiteChange },
): Promise<Site & { events: boolean }> {
  const { runtime, config } = ctx;
  const { name, status, firstChatId, events } = change;
  const chatIdFloor = firstChatId === undefined ? undefined : firstChatId - 1;
  const wanted = { name, status, chatIdFloor, events };
  const changed = await updateHomeSite(runtime, homeOf(ctx, site), knownOf(site), wanted, authorOf(ctx), ctx.answerBy);
  if (changed === undefined) throw siteUnknown();
  const { site: now, givenId } = changed;
  if (givenId !== undefined) {
    const message = `must be above ${givenId}, the highest chat_id that the site has given or skipped`;
    throw invalidInput([{ field: "first_chat_id", message }]);
  }
  // Each copy holds the ids too: the copy of an earlier change that comes late is dropped.
  const copy = { name: now.name, status: now.status, revision: now.revision, firstChatId: now.chatIdFloor + 1 };
  await updateSiteCopy(runtime, config.directory, site.id, copy).catch(sayNotCopied);
  if (firstChatId !== undefined) await rememberFloors(ctx, site, now.chatIdFloor).catch(sayNotRemembered);
  return { ...site, ...copy, events: now.events };
}

const knownOf = ({ id: siteId, name, status, firstChatId, revision }: Site): KnownSite => ({
  siteId,
  name,
  status: status === "closed" ? "closed" : "open",
  chatIdFloor: firstChatId - 1,
  revision,
});

function sayNotRemembered(cause: unknown): never {
  const detail =
    "The site is changed, but KV, which keeps first_chat_id for a restore, does not answer: send the same change again.";
  throw new ServiceError("unavailable", { reason: "site_not_remembered", detail, retryAfter: 1, cause });
}

function sayNotCopied(cause: unknown): never {
  if (!(cause instanceof ServiceError) || cause.code !== "unavailable") throw cause;
  const detail = "The site is changed, but the directory does not know it: send the same change again.";
  throw new ServiceError("unavailable", { reason: "site_not_copied", detail, retryAfter: 1, cause });
}
