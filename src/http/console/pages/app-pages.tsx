import type { Child } from "hono/jsx";
import { revokeApp } from "../../../services/revoke-app.ts";
import { rotateSecret, rotateSecretSchema } from "../../../services/rotate-secret.ts";
import { type AppSummary, findAppOfSite } from "../../../store/directory/apps.ts";
import { notFound } from "../../admin/problem.ts";
import type { RequestContext } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { deskOf, siteOf } from "../../operator.ts";
import { show } from "../layout.tsx";
import { doneLocation, doneNotice, type Filled, isRefused } from "../messages.ts";
import { isDraft, once } from "../once.ts";
import { Copyable, Faults, Field, Form, Notice, Time, Until } from "../parts.tsx";
import { readForm } from "../read-form.ts";
import type { View } from "../view.ts";
import { AppState } from "./app-state.tsx";
import { secretLocation } from "./secret-page.tsx";

export function appPages(routes: Routes): void {
  routes.get("/sites/:site_id/apps/:appid", (c) => appPage(c));

  routes.get("/sites/:site_id/apps/:appid/rotate", (c) => confirmPage(c, c.req.query("overlap_seconds")));

  routes.post("/sites/:site_id/apps/:appid/rotate", async (c) => {
    const { t, now } = c.var.view;
    const { site, app, path } = await appOf(c);
    const form = await readForm(c);
    const { overlap_seconds = "", version, confirmed } = form;
    const overlap = overlapOf(overlap_seconds);
    if (overlap === undefined) {
      return appPage(c, { values: { overlap_seconds }, errors: { overlap_seconds: t("Choose one of the overlaps.") } });
    }
    if (await isDraft(c, form)) {
      if (confirmed)
        return c.redirect(await doneLocation(c, `${path}/rotate?overlap_seconds=${overlap}`, "draft"), 303);
      return appPage(c, { values: { overlap_seconds }, errors: {} });
    }
    return once(c, form, path, async () => {
      if (app.revokedAt === null && version === app.version && !confirmed && endsASecret(app, overlap, now)) {
        return `${path}/rotate?overlap_seconds=${overlap}`;
      }
      const rotated = await rotateSecret(deskOf(c, "console"), app.appid, overlap, version ?? "");
      if (rotated === "revoked") return doneLocation(c, path, "revoked_before");
      if (rotated === "missing" || rotated === "busy") return doneLocation(c, path, "rotated_before");
      return secretLocation(c, site.id, rotated);
    });
  });

  routes.get("/sites/:site_id/apps/:appid/revoke", (c) => revokePage(c));

  routes.post("/sites/:site_id/apps/:appid/revoke", async (c) => {
    const { app, path } = await appOf(c);
    const form = await readForm(c);
    if (await isDraft(c, form)) return c.redirect(await doneLocation(c, `${path}/revoke`, "draft"), 303);
    return once(c, form, path, async () => {
      await revokeApp(deskOf(c, "console"), app.appid);
      return doneLocation(c, path, "revoked");
    });
  });
}

/** A rotation that stops a secret callers may still sign with is asked about first. */
const endsASecret = (app: AppSummary, overlap: number, now: number) => overlap === 0 || hasOverlap(app, now);

const hasOverlap = ({ previousExpiresAt }: AppSummary, now: number) => (previousExpiresAt ?? 0) > now;

/** @returns undefined for what is no overlap; an empty field is none, though Number() makes it 0 */
function overlapOf(text: string): number | undefined {
  const overlap_seconds = /^\d+$/.test(text) ? Number(text) : text;
  return rotateSecretSchema.safeParse({ overlap_seconds }).data?.overlap_seconds;
}

const overlapsOf = ({ t }: View): [string, string][] => [
  ["0", t("None: the old one stops now")],
  ["3600", t("1 hour")],
  ["86400", t("24 hours")],
  ["604800", t("7 days")],
];

async function appPage(c: RequestContext, again?: Filled): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const { site, app, path } = await appOf(c);
  const done = await doneNotice(c);
  const body = (
    <>
      {done && <Notice {...done} />}
      <Faults v={v} filled={again} labels={{ overlap_seconds: t("Overlap") }} />
      <section class="card">
        <dl class="facts">
          <Copyable v={v} id="appid" label="appid" text={app.appid} />
          <dt>{t("State")}</dt>
          <dd>
            <AppState v={v} revokedAt={app.revokedAt} previousExpiresAt={app.previousExpiresAt} />
          </dd>
          <dt>{t("Issued")}</dt>
          <dd>
            <Time v={v} at={app.createdAt} />
          </dd>
          {app.revokedAt !== null && (
            <>
              <dt>{t("Revoked on")}</dt>
              <dd>
                <Time v={v} at={app.revokedAt} />
              </dd>
            </>
          )}
          {app.revokedAt === null && hasOverlap(app, v.now) && (
            <>
              <dt>{t("Previous secret until")}</dt>
              <dd>
                <Until v={v} at={app.previousExpiresAt ?? 0} />
              </dd>
            </>
          )}
        </dl>
      </section>
      {app.revokedAt === null && (
        <>
          <section class="card" id="rotate">
            <h2>{t("Rotate the secret")}</h2>
            <p>
              {t("Makes a new secret. The one in use goes on working for the overlap, so callers can change over.")}
            </p>
            {hasOverlap(app, v.now) && (
              <p>
                {t(
                  "An overlap is running: the previous secret works until {0}. Rotating now would stop it at once; you are asked first.",
                  v.time(app.previousExpiresAt ?? 0),
                )}
              </p>
            )}
            <Form v={v} action={`${path}/rotate`}>
              <input type="hidden" name="version" value={app.version} />
              <Field
                label={t("Overlap")}
                name="overlap_seconds"
                value={again?.values.overlap_seconds ?? "86400"}
                error={again?.errors.overlap_seconds}
                options={overlapsOf(v)}
              />
              <button type="submit">{t("Rotate")}</button>
            </Form>
          </section>
          <p>
            <a class="button danger" href={`${path}/revoke`}>
              {t("Revoke this app…")}
            </a>
          </p>
        </>
      )}
    </>
  );
  const page = { title: app.name, site: { ...site, tab: "apps" as const }, back: path, body };
  const filled = again && { path: `${path}/rotate`, values: again.values };
  return show(c, { ...page, filled }, isRefused(again) ? 400 : 200);
}

/** Says which secret stops when, before a rotation that stops one which callers may be using. */
async function confirmPage(c: RequestContext, chosen = ""): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const { app, path } = await appOf(c);
  const overlap = overlapOf(chosen);
  if (overlap === undefined || app.revokedAt !== null) return c.redirect(path, 303);
  const stops = <strong>{t("Stops at once.")}</strong>;
  return askPage(c, "rotate", {
    title: t("Rotate the secret of this app?"),
    text: t(
      "Calls signed with a secret that has stopped fail at once with 401: make sure first that no caller uses it any more.",
    ),
    facts: (
      <>
        {hasOverlap(app, v.now) && (
          <>
            <dt>{t("The previous secret")}</dt>
            <dd>
              {stops} {t("Without this rotation it works until {0}.", v.time(app.previousExpiresAt ?? 0))}
            </dd>
          </>
        )}
        <dt>{t("The secret in use")}</dt>
        <dd>{overlap === 0 ? stops : t("Works until {0}.", v.time(v.now + overlap))}</dd>
        <dt>{t("The new secret")}</dt>
        <dd>{t("Works at once.")}</dd>
      </>
    ),
    hidden: { version: app.version, overlap_seconds: String(overlap), confirmed: "yes" },
    button: t("Rotate now"),
    keep: t("Cancel"),
  });
}

async function revokePage(c: RequestContext): Promise<Response> {
  const { t } = c.var.view;
  const { app, path } = await appOf(c);
  if (app.revokedAt !== null) return c.redirect(path, 303);
  return askPage(c, "revoke", {
    title: t("Revoke this app?"),
    text: t(
      "None of its secrets will verify from then on, and it cannot be undone. Calls that use it fail at once with 401.",
    ),
    hidden: {},
    button: t("Revoke for good"),
    keep: t("Keep it"),
  });
}

/** What stands between an operator and a change to an app that cannot be undone. */
async function askPage(
  c: RequestContext,
  step: "rotate" | "revoke",
  ask: { title: string; text: string; facts?: Child; hidden: Record<string, string>; button: string; keep: string },
): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const { site, app, path } = await appOf(c);
  const done = await doneNotice(c);
  const card = (
    <section class="card">
      <p>{ask.text}</p>
      <dl class="facts">
        <dt>{t("Name")}</dt>
        <dd>
          <bdi>{app.name}</bdi>
        </dd>
        <dt>appid</dt>
        <dd>
          <code>{app.appid}</code>
        </dd>
        {ask.facts}
      </dl>
      <Form v={v} action={`${path}/${step}`}>
        {Object.entries(ask.hidden).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <div class="buttons">
          <button type="submit" class="danger">
            {ask.button}
          </button>
          <a class="button plain" href={path}>
            {ask.keep}
          </a>
        </div>
      </Form>
    </section>
  );
  const body = (
    <>
      {done && <Notice {...done} />}
      {card}
    </>
  );
  return show(c, { title: ask.title, site: { ...site, tab: "apps" }, body });
}

async function appOf(c: RequestContext) {
  const { config, site } = await siteOf(c);
  const app = await findAppOfSite(config.directory, site.id, c.req.param("appid") ?? "");
  if (app === undefined) throw notFound("app");
  return { site, app, path: `/console/sites/${site.id}/apps/${app.appid}` };
}
