import type { AdminCallId } from "../../operators/admin/calls.ts";
import { type CallWords, ID_CURSOR } from "./admin-call.ts";

/** The words for the calls about sites, by operationId. */
export const siteWords = {
  createSite: {
    summary: "Create a site",
    description:
      "Makes the site in a home, a database near its callers. It stays there. When the answer was lost, send the same call again: it finishes a site that was begun. A call that was finished makes another site.",
    body: "NewSite",
    answer: { status: 201, schema: "Site" },
    refusals: [409],
    description200: "The site was created.",
  },
  listSites: {
    summary: "List the sites",
    query: ID_CURSOR,
    answer: { status: 200, schema: "SitePage" },
    description200: "A page of sites, by id.",
  },
  changeSite: {
    summary:
      "Rename, close or open a site, lift its chat ids, turn its events on or off, or set how long it keeps sessions",
    description:
      "Signed calls of a closed site are refused with 503 and use up no `ranstr`. All of the change is made, or nothing. The same call again repairs what was only done in part.",
    body: "SiteChange",
    answer: { status: 200, schema: "ChangedSite" },
    description200: "The site as it is now.",
  },
  readSite: {
    summary: "Read a site",
    description:
      "The site with its settings, how many of its sessions are older than it keeps them, and how far its deletion is.",
    answer: { status: 200, schema: "WholeSite" },
    description200: "The site.",
  },
  exportSite: {
    summary: "Export a site",
    description:
      "What a tenant takes along, as NDJSON: a JSON object a line, whose `kind` says what it is. Agents, apps without secrets, and sessions with messages and participants in the order of their ids; a customer comes before their first session. The last line of each answer is of the kind `end`: call again with its `next` as `after`, until it is null. An answer without that line was cut off: send the same call again. Sessions that are opened or erased meanwhile may be missing, and a customer may come twice.",
    query: {
      limit: { description: "How many agents, apps and sessions at most. Customers come in addition." },
      after: {
        description: "`next` of the last line before; leave out for the beginning. That of another site is 400.",
        pattern: "^[1-9][0-9]{0,15}\\.(agents|apps|sessions)\\.[A-Za-z0-9_-]{0,64}$",
      },
    },
    answer: { status: 200, schema: "ExportLine", media: "application/x-ndjson" },
    description200: "A part of the export.",
  },
  deleteSite: {
    summary: "Delete a site",
    description:
      "Ends a site that is closed; an open one is 409. Its apps are unknown and its webhooks get nothing more from now on. Everything of it is deleted within minutes or hours, in steps that leave the database to others, but not its rows in the audit log. Its appids are kept for 31 days after that. It cannot be called off. Send the same call again after a lost answer or a 503: it goes on. `GET` of the same path says what remains.",
    body: "SiteDeletion",
    answer: { status: 202, schema: "BegunDeletion" },
    description200: "The deletion has begun.",
  },
} satisfies Partial<Record<AdminCallId, CallWords>>;
