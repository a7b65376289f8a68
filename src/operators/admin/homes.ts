import { noteHome } from "../http/context.ts";
import { type DivergentApp, listDivergentApps } from "../services/divergent-apps.ts";
import { listHomes, type ReconciledHome, reconcileHome, reconcileSchema } from "../services/homes.ts";
import { pageQuerySchema } from "../services/page.ts";
import { adminCall } from "./call.ts";
import type { AdminContext } from "./env.ts";
import { shownPage } from "./page.ts";

/** The home that the path names, even if it does not exist. The log and the text of a fault name it too. */
function homeOf(c: AdminContext): string {
  const home = c.req.param("name") ?? "";
  noteHome(c, home);
  return home;
}

const shownToken = ({ id, name, role, siteId, createdAt }: ReconciledHome["tokens"][number]) => ({
  id,
  name,
  role,
  site_id: siteId,
  created_at: createdAt,
});

const shownReconciledHome = ({
  reconciliationId,
  sites,
  skippedBy,
  reopenAfter,
  erasures,
  sitesDeletedAgain,
  homesDown,
  tokens,
}: ReconciledHome) => ({
  settling_id: reconciliationId,
  sites,
  lifted_by: skippedBy,
  erased_again: erasures.done,
  erasures_left: erasures.left,
  sites_deleted_again: sitesDeletedAgain,
  reopen_after: reopenAfter,
  homes_down: homesDown,
  tokens: tokens.map(shownToken),
});

const shownDivergentApp = ({ appid, siteId, why }: DivergentApp) => ({ appid, site_id: siteId, why });

export const homeCalls = [
  adminCall(
    { id: "listHomes", method: "get", path: "/homes", role: "viewer", scope: "deployment", audit: [] },
    async (c) => c.json({ items: await listHomes(c.var.ctx) }),
  ),

  adminCall(
    {
      id: "settleRestoredHome",
      method: "post",
      path: "/homes/:name/restored",
      role: "owner",
      scope: "deployment",
      audit: ["home.restored", "customer.erased", "site.deletion_begun"],
      body: reconcileSchema,
      bodyOptional: true,
    },
    async (c, { body: { settling_id: reconciliationId, lift: skip, force, receipts, deletions } }) => {
      const input = { home: homeOf(c), reconciliationId, skip, force, receipts, deletions };
      return c.json(shownReconciledHome(await reconcileHome(c.var.ctx, input)));
    },
  ),

  adminCall(
    {
      id: "listDivergentApps",
      method: "get",
      path: "/homes/:name/divergent",
      role: "viewer",
      scope: "deployment",
      audit: [],
      query: pageQuerySchema,
    },
    async (c, { query }) => {
      const apps = await listDivergentApps(c.var.ctx, { home: homeOf(c), ...query });
      return c.json({ ...shownPage(apps, shownDivergentApp), homes_down: apps.homesDown });
    },
  ),
];
