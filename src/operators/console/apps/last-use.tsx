import { refusalOf } from "../../../core/http/faults.ts";
import type { AppSummary } from "../../services/apps.ts";
import type { Site } from "../../services/sites.ts";
import { type LastUse, readLastUses as readLastUsesOf } from "../../services/usage.ts";
import type { PageContext } from "../env.ts";
import { Ago, type FactRows, Time } from "../parts/parts.tsx";
import type { SecretUse } from "../secrets/secret-owner.ts";
import { useView, type View } from "../view.ts";

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

/** The result of a read, or undefined when it failed: the page is then shown without it, and the log has the error. */
export const orUndefined = <Read,>(c: PageContext, read: Promise<Read>): Promise<Read | undefined> =>
  read.catch((error) => {
    refusalOf(error as Error, c.var.trace);
    return undefined;
  });

/**
 * Reads the last uses of a site's apps, or of one app. Undefined when the read failed.
 *
 * @param appid when only one app is wanted
 */
export const readLastUses = (c: PageContext, site: Site, appid?: string): Promise<LastUses | undefined> =>
  orUndefined(c, readLastUsesOf(c.var.ctx, { site, appid }).then(lastUsesOf));

const lastUseOf = (uses: LastUses | undefined, { appid }: AppSummary) => uses?.byAppid.get(appid)?.lastUsedAt ?? null;

/** The text in place of a last use. It never says "never", because calls of the last half hour are not counted yet. */
function noUseText({ t }: View, uses: LastUses | undefined, { createdAt }: AppSummary): string {
  if (uses === undefined || uses.completeUntil === null) return "–";
  return createdAt > uses.completeUntil ? t("Not counted yet") : t("No counted call");
}

/** The cell "last used" in a table of apps. */
export function LastUsedCell({ uses, app }: { uses: LastUses | undefined; app: AppSummary }) {
  const view = useView();
  const at = lastUseOf(uses, app);
  return at === null ? <span class="hint">{noUseText(view, uses, app)}</span> : <Ago at={at} />;
}

/** Up to which time the last uses are known. */
export function countedUntilText({ t, time }: View, uses: LastUses | undefined): string {
  if (uses === undefined) return t("When apps were last used could not be read. Try again in a moment.");
  if (uses.completeUntil === null) return t("Nothing is counted yet. Calls are counted half an hour after they came.");
  return t("Last uses are known up to {0}: calls are counted half an hour after they came.", time(uses.completeUntil));
}

/** When an app was last used, as a fact. */
export function lastUsedFact(view: View, uses: LastUses | undefined, app: AppSummary): FactRows[number] {
  const at = lastUseOf(uses, app);
  return [
    view.t("Last used"),
    <>
      {at === null ? noUseText(view, uses, app) : <Time at={at} />}
      <span class="hint line">{countedUntilText(view, uses)}</span>
    </>,
  ];
}

/** Says when an app's old secret was last used. A reader then knows whether it can be ended. */
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
