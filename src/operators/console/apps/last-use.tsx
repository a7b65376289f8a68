import { refusalOf } from "../../../core/http/faults.ts";
import type { AppSummary } from "../../services/apps.ts";
import type { Site } from "../../services/sites.ts";
import { type LastUse, readLastUses as readLastUsesOf } from "../../services/usage.ts";
import type { PageContext } from "../env.ts";
import { Ago, Time } from "../parts/parts.tsx";
import type { SecretUse } from "../secrets/secret-owner.ts";
import type { View } from "../view.ts";

/** When the secrets of apps were last used. */
export interface LastUses {
  byAppid: ReadonlyMap<string, LastUse>;
  /** All calls up to this time are counted, in Unix seconds; null before the first run of the cron. */
  completeUntil: number | null;
}

export const lastUsesOf = (usage: { apps: LastUse[]; completeUntil: number | null }): LastUses => ({
  byAppid: new Map(usage.apps.map((app) => [app.appid, app])),
  completeUntil: usage.completeUntil,
});

/**
 * The last uses of a site's apps, or of one. Undefined when they could not be read: the page is shown without them.
 *
 * @param appid when only one app is wanted
 */
export async function readLastUses(c: PageContext, site: Site, appid?: string): Promise<LastUses | undefined> {
  const { ctx, trace } = c.var;
  try {
    return lastUsesOf(await readLastUsesOf(ctx, { site, appid }));
  } catch (error) {
    refusalOf(error as Error, trace);
    return undefined;
  }
}

/** In place of a last use. The last half hour is not counted, so nobody can say "never". */
function noUse({ t }: View, uses: LastUses | undefined, { createdAt }: AppSummary): string {
  if (uses === undefined || uses.completeUntil === null) return "–";
  return createdAt > uses.completeUntil ? t("Not counted yet") : t("No counted call");
}

/** The cell of a table of apps. */
export function LastUsedCell({ view, uses, app }: { view: View; uses: LastUses | undefined; app: AppSummary }) {
  const at = uses?.byAppid.get(app.appid)?.lastUsedAt ?? null;
  return at === null ? <span class="hint">{noUse(view, uses, app)}</span> : <Ago view={view} at={at} />;
}

/** Beneath a table of apps: how far the last uses are known. */
export function LastUsedHint({ view, uses }: { view: View; uses: LastUses | undefined }) {
  return <p class="hint">{countedText(view, uses)}</p>;
}

function countedText({ t, time }: View, uses: LastUses | undefined): string {
  if (uses === undefined) return t("When apps were last used could not be read. Try again in a moment.");
  if (uses.completeUntil === null) return t("Nothing is counted yet. Calls are counted half an hour after they came.");
  return t("Last uses are known up to {0}: calls are counted half an hour after they came.", time(uses.completeUntil));
}

/** The facts on an app's page. */
export function LastUsedFact({ view, uses, app }: { view: View; uses: LastUses | undefined; app: AppSummary }) {
  const at = uses?.byAppid.get(app.appid)?.lastUsedAt ?? null;
  return (
    <>
      <dt>{view.t("Last used")}</dt>
      <dd>
        {at === null ? noUse(view, uses, app) : <Time view={view} at={at} />}
        <span class="hint line">{countedText(view, uses)}</span>
      </dd>
    </>
  );
}

/** When the old secret of an app was last used, in words: so that one knows whether to end it. */
export function oldSecretUse({ t, time }: View, uses: LastUses | undefined, appid: string): SecretUse {
  if (uses === undefined)
    return { used: t("When the old secret was last used could not be read. Try again in a moment."), counted: "" };
  const { completeUntil } = uses;
  const at = uses.byAppid.get(appid)?.previousSecretUsedAt ?? null;
  return {
    used:
      at === null
        ? t("It is not known whether the old secret is still used: no counted call has used it.")
        : t("The old secret was last used on {0}, as far as is counted.", time(at)),
    counted: completeUntil === null ? "" : t("Counted up to {0}: later calls are not known yet.", time(completeUntil)),
  };
}
