import type { Child } from "hono/jsx";
import { isRefusedFor } from "../../../core/errors.ts";
import { isVisible } from "../../../core/fields.ts";
import { refusalOf } from "../../../core/http/faults.ts";
import { type AppSummary, checkAppid, issueApp, issueAppSchema, listApps } from "../../services/apps.ts";
import type { Site } from "../../services/sites.ts";
import { readLastUses as readLastUsesOf, type Usage } from "../../services/usage.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { AskLink, type Fields, FieldsForm, Fold, FormErrors, FormFields } from "../parts/form.tsx";
import { List, Table } from "../parts/list.tsx";
import { Ago, Badge, EmptyState, type FactRows, NameLink, RowMenu, Time, TimeLeft } from "../parts/parts.tsx";
import { hasOverlap, secretLocation } from "../secrets/rotate-secret.tsx";
import { useView, type View } from "../view.ts";

/** The fields of a new app. The caller of another service keeps its `appid` and its `secret`. */
export const appFields = ({ t }: View): Record<"name" | "appid" | "secret", Fields[string]> => ({
  name: { label: t("Name"), hint: t("What will use it: “Shop back end”, say."), required: true, maxlength: 100 },
  appid: { label: "appid", maxlength: 64, code: true },
  secret: { label: t("Secret"), type: "password", autocomplete: "new-password", maxlength: 256, code: true },
});

export async function postApp(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, form } = c.var;
  const { name = "", appid = "", secret = "" } = form;
  const input = { name, ...(appid && { appid }), ...(secret && { secret }) };
  return formAction(c, {
    entered: enteredFields(view, issueAppSchema.safeParse(input)),
    page: (filledForm) => appsPage(c, site, filledForm),
    look: async () => appid !== "" && checkAppid(ctx, { site, appid }),
    refused: (error) => (isRefusedFor(error, "appid_taken") ? { appid: view.t("This appid is taken.") } : undefined),
    work: async (app) => {
      const { appid, version } = await issueApp(ctx, { site, ...app });
      return secretLocation(c, `${c.req.path}/${appid}`, version, true);
    },
  });
}

export async function appsPage(c: PageContext, site: Site, filled?: FilledForm): Promise<Response> {
  const { ctx, view, t } = c.var;
  const path = `/console/sites/${site.id}/apps`;
  const [apps, uses] = await Promise.all([
    listApps(ctx, { site, cursor: c.req.query("cursor"), limit: 50 }),
    readLastUses(c, site),
  ]);
  const { name, ...imported } = appFields(view);
  const isImport = filled && (filled.values.appid || filled.errors.appid || filled.errors.secret);
  const add = (
    <Fold action={path} label={t("Issue an app")} open={filled !== undefined || apps.items.length === 0}>
      <section class="card">
        <FieldsForm action={path} fields={{ name }} filled={filled} button={t("Issue app")}>
          <details open={Boolean(isImport)}>
            <summary>{t("Use an existing appid or secret")}</summary>
            <p>{t("For callers of another service that keep what they have. Whatever is left empty is made here.")}</p>
            <FormFields fields={imported} filled={filled} />
          </details>
        </FieldsForm>
      </section>
    </Fold>
  );
  const body = (
    <>
      <FormErrors filled={filled} fields={{ name, ...imported }} />
      <List
        path={path}
        add={add}
        {...tableOf(view, site.id, apps.items, uses)}
        lookedTo={apps.items.length > 0 && countedUntilText(view, uses)}
        cursor={apps.nextCursor}
      />
    </>
  );
  return showPage(c, { title: t("Apps"), site: { ...site, tab: "apps" }, back: path, body, filled });
}

/** @param props `uses`: when the apps were last used; undefined when the read failed */
export function AppTable({ siteId, apps, uses }: { siteId: number; apps: AppSummary[]; uses: LastUses }) {
  const view = useView();
  return (
    <>
      <Table {...tableOf(view, siteId, apps, uses)} />
      {apps.length > 0 && <p class="hint">{countedUntilText(view, uses)}</p>}
    </>
  );
}

function tableOf(view: View, siteId: number, apps: AppSummary[], uses: LastUses) {
  const { t, now } = view;
  const hasOverlaps = apps.some((app) => isOverlapping(app, now));
  return {
    label: t("Apps"),
    head: [
      t("Name"),
      { label: "appid", phone: "hide" as const },
      { label: t("State"), phone: "top" as const },
      { label: t("Last used"), named: true as const },
      ...(hasOverlaps ? [{ label: t("Old one ends in"), named: true as const }] : []),
      { label: t("Issued"), phone: "hide" as const },
    ],
    rows: apps.map((app) => [
      <NameLink class="clip" href={`/console/sites/${siteId}/apps/${app.appid}`} name={nameOf(app)} />,
      <code class="appid" title={app.appid}>
        {app.appid}
      </code>,
      <AppState app={app} />,
      <LastUsed uses={uses} app={app} isAgo />,
      ...(hasOverlaps ? [isOverlapping(app, now) && <TimeLeft at={app.previousExpiresAt ?? 0} />] : []),
      <Time at={app.createdAt} />,
    ]),
    actions: apps.map((app) => <AppMenu siteId={siteId} app={app} />),
    empty: (
      <EmptyState title={t("No apps yet.")}>
        <span>{t("Issue one above: a program signs its calls with its appid and secret.")}</span>
      </EmptyState>
    ),
  };
}

const nameOf = ({ name, appid }: AppSummary): string => (isVisible(name) ? name : `(${appid})`);

const isOverlapping = (app: AppSummary, now: number): boolean => app.revokedAt === null && hasOverlap(app, now);

function AppMenu({ siteId, app }: { siteId: number; app: AppSummary }) {
  const { t, now, may } = useView();
  const path = `/console/sites/${siteId}/apps/${app.appid}`;
  const isActive = app.revokedAt === null;
  const links: [isShown: boolean, href: string, label: string, isQuestion?: true][] = [
    [true, refusedCallsPath(siteId, app.appid), t("Refused calls of this app")],
    [isActive && may(`${path}/test`), `${path}/test`, t("Send a test call")],
    [isActive && may(`${path}/rotate`), `${path}#rotate`, t("Rotate the secret")],
    [isOverlapping(app, now), `${path}/end-overlap`, `${t("The old secret stops now")}…`, true],
    [isActive, `${path}/revoke`, t("Revoke this app…"), true],
  ];
  return (
    <RowMenu label={t("Actions for {0}", nameOf(app))}>
      {links.map(([isShown, href, label, isQuestion]) => {
        const text = [label, <span class="unseen"> {nameOf(app)}</span>];
        return isShown && (isQuestion ? <AskLink href={href}>{text}</AskLink> : <a href={href}>{text}</a>);
      })}
    </RowMenu>
  );
}

export function AppState({ app }: { app: AppSummary }) {
  const { t, now } = useView();
  if (app.revokedAt !== null) return <Badge kind="bad" label={t("Revoked")} />;
  if (hasOverlap(app, now)) return <Badge kind="wait" label={t("Two secrets")} />;
  return <Badge kind="good" label={t("Active")} />;
}

/** When the secrets of apps were last used; undefined when the read failed. */
type LastUses = Pick<Usage, "apps" | "completeUntil"> | undefined;

/** The result of a read, or undefined when it failed: the page is then shown without it, and the log has the error. */
export const orUndefined = <Read,>(c: PageContext, read: Promise<Read>): Promise<Read | undefined> =>
  read.catch((error) => {
    refusalOf(error as Error, c.var.trace);
    return undefined;
  });

/** Reads the last uses of a site's apps, or of one app. */
export const readLastUses = (c: PageContext, site: Site, appid?: string): Promise<LastUses> =>
  orUndefined(c, readLastUsesOf(c.var.ctx, { site, appid }));

const lastUseOf = (uses: LastUses, appid: string) => uses?.apps.find((each) => each.appid === appid);

/** When an app was last used. In place of that it never says "never", because calls of the last half hour are not counted yet. */
function LastUsed({ uses, app, isAgo }: { uses: LastUses; app: AppSummary; isAgo?: boolean }) {
  const { t } = useView();
  const at = lastUseOf(uses, app.appid)?.lastUsedAt ?? null;
  if (at !== null) return isAgo ? <Ago at={at} /> : <Time at={at} />;
  const completeUntil = uses?.completeUntil ?? null;
  if (completeUntil === null) return <>–</>;
  return <span class="hint">{app.createdAt > completeUntil ? t("Not counted yet") : t("No counted call")}</span>;
}

/** Up to which time the last uses are known. */
function countedUntilText({ t, time }: View, uses: LastUses): string {
  if (uses === undefined) return t("When apps were last used could not be read. Try again in a moment.");
  if (uses.completeUntil === null) return t("Nothing is counted yet. Calls are counted half an hour after they came.");
  return t("Last uses are known up to {0}: calls are counted half an hour after they came.", time(uses.completeUntil));
}

const withHint = (text: Child, hint: string | undefined) => (
  <>
    {text}
    {hint && <span class="hint line">{hint}</span>}
  </>
);

/** When an app was last used, as a fact. */
export const lastUsedFact = (view: View, uses: LastUses, app: AppSummary): FactRows[number] => [
  view.t("Last used"),
  withHint(<LastUsed uses={uses} app={app} />, countedUntilText(view, uses)),
];

/** Says when an app's old secret was last used. A reader then knows whether it can be ended. */
export function oldSecretUse({ t, time }: View, uses: LastUses, appid: string): Child {
  if (uses === undefined) return t("When the old secret was last used could not be read. Try again in a moment.");
  const at = lastUseOf(uses, appid)?.previousSecretUsedAt ?? null;
  const { completeUntil } = uses;
  return withHint(
    at === null
      ? t("It is not known whether the old secret is still used: no counted call has used it.")
      : t("The old secret was last used on {0}, as far as is counted.", time(at)),
    completeUntil === null ? "" : t("Counted up to {0}: later calls are not known yet.", time(completeUntil)),
  );
}

/** The address of an app's refused calls, or of those for one reason. */
export const refusedCallsPath = (siteId: number, appid: string, reason?: string): string =>
  `/console/sites/${siteId}/refusals?${new URLSearchParams({ appid, ...(reason && { reason }) })}`;
