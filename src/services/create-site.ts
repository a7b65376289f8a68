import * as z from "zod/mini";
import { invalidInput, ServiceError } from "../errors.ts";
import { displayName } from "../fields.ts";
import { MAIN_HOME } from "../homes.ts";
import { insertSite, type Site } from "../store/directory/sites.ts";
import { HIGHEST_FIRST_CHAT_ID } from "../store/home/home-sites.ts";
import { finishSite } from "./finish-site.ts";
import { rememberSite } from "./remember-floors.ts";
import { authorOf, requireOpenDirectory, type ServiceContext } from "./service-context.ts";

const FIRST_ID_RULE = `must be an integer from 1 to ${HIGHEST_FIRST_CHAT_ID}`;

/** The first chat_id that a site gives. */
export const firstChatId = z
  .int(FIRST_ID_RULE)
  .check(z.minimum(1, FIRST_ID_RULE), z.maximum(HIGHEST_FIRST_CHAT_ID, FIRST_ID_RULE));

/** Body of POST /admin/sites. */
export const newSiteSchema = z.strictObject({
  name: displayName,
  home: z._default(z.string("must be the name of a home"), MAIN_HOME),
  first_chat_id: z._default(firstChatId, 1),
});

export interface NewSite {
  name: string;
  home: string;
  firstChatId: number;
}

/** The same calls at the same moment may finish each other's sites. Each then begins another one, this often at most. */
const TRIES = 20;

/**
 * Creates a site in a home. Names need not be unique. The directory gets the site first, with the status `creating`, then the home,
 * then the directory opens it: the same call again finishes what an earlier one began.
 *
 * @throws ServiceError `invalid_input` for an unknown home; `conflict`, reason `site_id_taken`, when the home has a site that the
 *   directory does not know; `unavailable` when one of the two databases does not answer, or `main` is closed
 */
export async function createSite(ctx: ServiceContext, { name, home, firstChatId }: NewSite): Promise<Site> {
  const { runtime, config } = ctx;
  requireOpenDirectory(ctx);
  if (!config.homes.has(home)) throw invalidInput([{ field: "home", message: homeRule(config.homes) }]);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const site = await insertSite(runtime, config.directory, { name, home, firstChatId }, authorOf(ctx));
    if (!(await finishSite(ctx, { site }))) continue;
    ctx.waitUntil(rememberSite(ctx, site));
    return { ...site, status: "open" };
  }
  throw new ServiceError("conflict", { reason: "site_busy", detail: "Others create sites of this name; try again." });
}

const homeRule = (homes: ReadonlyMap<string, unknown>) => `must be one of ${[...homes.keys()].join(", ")}`;
