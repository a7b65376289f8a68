import { settingsOf } from "../../../env.ts";
import { isSame } from "../../admin-token.ts";
import type { RequestContext } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { nowOf } from "../../operator.ts";
import { CLIENT_LIMIT_PERIOD, clientAddress, withinRate } from "../../rate-limit.ts";
import { show } from "../layout.tsx";
import { noTokenText } from "../no-token-text.ts";
import { Field } from "../parts.tsx";
import { readForm } from "../read-form.ts";
import { hostCookie, signedInCookie, signedOutCookie } from "../session-cookie.ts";
import { LANGUAGE_COOKIE } from "../view.ts";

const YEAR_SECONDS = 31_536_000;

/** The pages that need no sign-in: signing in and out, and the choice of language. */
export function signInPages(routes: Routes): void {
  routes.get("/sign-in", (c) => {
    if (c.var.view.signedIn) return c.redirect("/console", 303);
    return signInPage(c, consolePath(c.req.query("next")));
  });

  routes.post("/sign-in", async (c) => {
    const { t } = c.var.view;
    const { adminToken, clientLimit } = settingsOf(c.env);
    const form = await readForm(c);
    const next = consolePath(form.next);
    // Every attempt counts, before it is looked at.
    if (!(await withinRate(clientLimit, clientAddress(c.req.raw)))) {
      c.header("retry-after", String(CLIENT_LIMIT_PERIOD));
      return signInPage(c, next, 429, t("Too many attempts. Try again in a minute."));
    }
    if (adminToken === undefined) return signInPage(c, next, 401);
    if (!(await isSame((form.token ?? "").trim(), adminToken))) {
      return signInPage(c, next, 401, t("This is not the admin token."));
    }
    c.header("set-cookie", await signedInCookie(adminToken, nowOf(c)));
    return c.redirect(next, 303);
  });

  routes.post("/sign-out", (c) => {
    c.header("set-cookie", signedOutCookie());
    return c.redirect("/console/sign-in", 303);
  });

  routes.post("/language", async (c) => {
    // With a form that was filled in the choice stands in the address: the body is that form's own.
    const draft = c.req.query("draft");
    const { language, back } = draft === undefined ? await readForm(c) : c.req.query();
    c.header("set-cookie", hostCookie(LANGUAGE_COOKIE, language === "zh" ? "zh" : "en", YEAR_SECONDS));
    if (draft === undefined) return c.redirect(consolePath(back), 303);
    // The browser sends the same form on to its own path.
    return c.redirect(`${consolePath(draft)}?draft=1`, 307);
  });
}

function signInPage(c: RequestContext, next: string, status: 200 | 401 | 429 = 200, error?: string): Response {
  const { t } = c.var.view;
  const body = (
    <section class="card door">
      <form method="post" action="/console/sign-in">
        <input type="hidden" name="next" value={next} />
        <Field
          label={t("Admin token")}
          name="token"
          type="password"
          autocomplete="current-password"
          error={error ?? noTokenText(c.var.view, settingsOf(c.env).adminTokenFault)}
          autofocus
          hint={t("The deployment's ADMIN_TOKEN. You stay signed in for 12 hours.")}
          required
        />
        <button type="submit">{t("Sign in")}</button>
      </form>
    </section>
  );
  const back = `/console/sign-in?${new URLSearchParams({ next })}`;
  return show(c, { title: t("Sign in to the console"), back, body }, status);
}

/** A path of the console, whatever was asked for: no form leads out of it. */
function consolePath(path: string | undefined): string {
  return path !== undefined && /^\/console(?:\/[\w-]+)*(?:\?[\w\-.*=&%+]*)?$/.test(path) ? path : "/console";
}
