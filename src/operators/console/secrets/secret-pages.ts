import { call } from "../../http/call.ts";
import type { AuditAction } from "../../services/audit.ts";
import type { Site } from "../../services/sites.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
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
  base: string,
  audit: { rotated: AuditAction; ended: AuditAction },
  ownerOf: (c: PageContext, site: Site) => Promise<ShownSecretOwner>,
): ConsoleCall[] {
  const operatorOfSite = { role: "operator", scope: "site" } as const;
  return [
    call({ ...operatorOfSite, method: "get", path: `${base}/rotate`, audit: [] }, async (c: PageContext, site) =>
      confirmPage(c, await ownerOf(c, site), c.req.query()),
    ),
    call(
      { ...operatorOfSite, method: "post", path: `${base}/rotate`, audit: [audit.rotated] },
      async (c: PageContext, site) => rotateSecret(c, await ownerOf(c, site)),
    ),
    call({ ...operatorOfSite, method: "get", path: `${base}/end-overlap`, audit: [] }, async (c: PageContext, site) =>
      endPage(c, await ownerOf(c, site)),
    ),
    call(
      { ...operatorOfSite, method: "post", path: `${base}/end-overlap`, audit: [audit.ended] },
      async (c: PageContext, site) => endOverlap(c, await ownerOf(c, site)),
    ),
    call({ ...operatorOfSite, method: "get", path: `${base}/secret`, audit: [] }, async (c: PageContext, site) =>
      secretPage(c, await ownerOf(c, site)),
    ),
  ];
}
