import * as z from "zod/mini";
import { invalidInput, unlessRefusedFor } from "../../core/errors.ts";
import { positiveId } from "../../core/fields.ts";
import type { Role } from "../access/role.ts";
import type { ServiceContext } from "./service-context.ts";
import { findSite, hasEnded } from "./sites.ts";

/** This file has what tokens and people have in common: a role, perhaps one site, and an end. */

const DAYS_RULE = "must be an integer from 1 to 3650";

/** The fields of a body that say where and how long a token or a person may do something. */
export const grantFields = {
  site_id: z.optional(positiveId),
  expires_in_days: z.optional(z.int(DAYS_RULE).check(z.minimum(1, DAYS_RULE), z.maximum(3_650, DAYS_RULE))),
};

/** The check of a body: only viewers and operators may be of one site. @param whose ends the sentence */
export const fitsOneSite = <Body extends { role: Role; site_id?: number | undefined }>(whose: string) =>
  z.refine<Body>(({ role, site_id }) => site_id === undefined || role === "viewer" || role === "operator", {
    error: `must be viewer or operator for ${whose} of one site`,
    path: ["role"],
  });

/** Where and how long a token or a person may do something. */
export interface Grant {
  /** Null or undefined: all sites. */
  siteId?: number | null | undefined;
  expiresInDays?: number | undefined;
}

/** The columns of a grant that begins now. @throws ServiceError `invalid_input` for an unknown site */
export async function newGrant(ctx: ServiceContext, { siteId = null, expiresInDays }: Grant) {
  if (siteId !== null) {
    const site = await findSite(ctx, { siteId }).catch(unlessRefusedFor("site_unknown"));
    if (site === undefined || hasEnded(site))
      throw invalidInput([{ field: "site_id", message: "must be a site's id" }]);
  }
  const expiresAt = expiresInDays === undefined ? null : ctx.now + expiresInDays * 86_400;
  return { siteId, createdAt: ctx.now, expiresAt, lastUsedAt: null };
}

/** Whether a token or a person has expired. */
export const hasExpired = ({ expiresAt }: { expiresAt: number | null }, now: number): boolean =>
  expiresAt !== null && expiresAt <= now;
