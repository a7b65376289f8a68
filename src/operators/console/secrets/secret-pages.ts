import type { AuditAction } from "../../services/audit.ts";
import type { Site } from "../../services/sites.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { form, page } from "../page-call.ts";
import { endOverlap, endPage } from "./end-overlap.tsx";
import { secretPage } from "./new-secret-page.tsx";
import { confirmPage, rotateSecret } from "./rotate-secret.tsx";
import type { ShownSecretOwner } from "./secret-owner.ts";

/**
 * The calls that rotate the secret of an app or a webhook, show the new secret, and end the old one.
 *
 * @param base the start of their paths
 */
export function secretPages(
  base: `/sites/:site_id${string}`,
  audit: { rotated: AuditAction; ended: AuditAction },
  ownerOf: (c: PageContext, site: Site) => Promise<ShownSecretOwner>,
): ConsoleCall[] {
  return [
    page("operator", `${base}/rotate`, async (c, site) => confirmPage(c, await ownerOf(c, site), c.req.query())),
    form("operator", `${base}/rotate`, [audit.rotated], async (c, site) => rotateSecret(c, await ownerOf(c, site))),
    page("operator", `${base}/end-overlap`, async (c, site) => endPage(c, await ownerOf(c, site))),
    form("operator", `${base}/end-overlap`, [audit.ended], async (c, site) => endOverlap(c, await ownerOf(c, site))),
    page("operator", `${base}/secret`, async (c, site) => secretPage(c, await ownerOf(c, site))),
  ];
}
