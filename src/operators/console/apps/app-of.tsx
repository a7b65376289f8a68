import { endOverlap, readSecret, rotateSecret } from "../../services/app-secrets.ts";
import { findApp } from "../../services/apps.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { Copyable } from "../parts/parts.tsx";
import type { ShownSecretOwner } from "../secrets/secret-owner.ts";
import { CodeExample } from "./code-example.tsx";
import { oldSecretUse, readLastUses } from "./last-use.tsx";

/** Reads the app that the path names, for its own pages and those of its secret. @throws ServiceError `not_found` */
export async function appOf(c: PageContext, site: Site) {
  const { ctx, view } = c.var;
  const { t } = view;
  const app = await findApp(ctx, { site, appid: c.req.param("appid") ?? "" });
  const { appid, version, previousExpiresAt } = app;
  const path = `/console/sites/${site.id}/apps/${appid}`;
  const owner: Omit<ShownSecretOwner, "page"> = {
    site: { ...site, tab: "apps" },
    path,
    version,
    previousExpiresAt,
    isActive: app.revokedAt === null,
    facts: (
      <>
        <dt>{t("Name")}</dt>
        <dd>
          <bdi>{app.name}</bdi>
        </dd>
        <Copyable id="appid" label="appid" text={appid} />
      </>
    ),
    words: {
      made: t("The app was issued"),
      use: t("Whoever has it can call as this app: keep it out of code, chats and tickets."),
      stopped: t(
        "Calls signed with a secret that has stopped fail at once with 401: make sure first that no caller uses it any more.",
      ),
    },
    read: () => readSecret(ctx, { site, appid, version }),
    rotate: (input) => rotateSecret(ctx, { appid, ...input }),
    endOverlap: (expectedVersion) => endOverlap(ctx, { appid, expectedVersion }),
    previousUse: async () => oldSecretUse(view, await readLastUses(c, site, appid), appid),
    next: () => CodeExample(c, { site, appid, path }),
  };
  return { ...owner, app };
}
