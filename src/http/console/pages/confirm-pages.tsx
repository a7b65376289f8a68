import type { Child } from "hono/jsx";
import type { PageContext } from "../env.ts";
import { show } from "../layout.tsx";
import { doneNotice } from "../messages.ts";
import { Ask } from "../parts/ask.tsx";
import { Notice } from "../parts/parts.tsx";
import { appOf } from "./app-of.ts";
import { hasOverlap } from "./app-table.tsx";
import { overlapOf } from "./overlap.ts";

/** Asks before a rotation that ends a secret which callers may use: tells which secret ends, and when. */
export async function confirmRotationPage(c: PageContext, chosen = ""): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
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
        {hasOverlap(app, view.now) && (
          <>
            <dt>{t("The previous secret")}</dt>
            <dd>
              {stops} {t("Without this rotation it works until {0}.", view.time(app.previousExpiresAt ?? 0))}
            </dd>
          </>
        )}
        <dt>{t("The secret in use")}</dt>
        <dd>{overlap === 0 ? stops : t("Works until {0}.", view.time(view.now + overlap))}</dd>
        <dt>{t("The new secret")}</dt>
        <dd>{t("Works at once.")}</dd>
      </>
    ),
    hidden: { version: app.version, overlap_seconds: String(overlap), confirmed: "yes" },
    button: t("Rotate now"),
    keep: t("Cancel"),
  });
}

export async function confirmRevocationPage(c: PageContext): Promise<Response> {
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

/** Asks an operator to confirm a change to an app that cannot be undone. */
async function askPage(
  c: PageContext,
  step: "rotate" | "revoke",
  ask: { title: string; text: string; facts?: Child; hidden: Record<string, string>; button: string; keep: string },
): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const { site, app, path } = await appOf(c);
  const done = await doneNotice(c);
  const body = (
    <>
      {done && <Notice {...done} />}
      <Ask
        view={view}
        text={ask.text}
        facts={
          <>
            <dt>{t("Name")}</dt>
            <dd>
              <bdi>{app.name}</bdi>
            </dd>
            <dt>appid</dt>
            <dd>
              <code>{app.appid}</code>
            </dd>
            {ask.facts}
          </>
        }
        action={`${path}/${step}`}
        hidden={ask.hidden}
        button={ask.button}
        keep={ask.keep}
        back={path}
      />
    </>
  );
  return show(c, { title: ask.title, site: { ...site, tab: "apps" }, body });
}
