import { CLIENT_LIMIT_PERIOD, failureKey, withinRate } from "../../../rate-limit.ts";
import { isSame } from "../../admin/admin-token.ts";
import { clientAddress } from "../../client-address.ts";
import type { RequestContext } from "../../context.ts";
import { configOf } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { nowOf } from "../../operator.ts";
import { consolePath, withParameter } from "../console-path.ts";
import { show } from "../layout.tsx";
import { noTokenText } from "../no-token-text.ts";
import { Field, Notice } from "../parts.tsx";
import { readForm } from "../read-form.ts";
import { closeSession, hostCookie, openSession } from "../session-cookie.ts";
import { LANGUAGE_COOKIE } from "../view.ts";

const YEAR_SECONDS = 31_536_000;

/** Fields of a form that came when nobody was signed in any more, and the path it was sent to. */
type Kept = { path: string; values: Record<string, string> };

/** The pages that need no sign-in: signing in and out, and the choice of language. */
export function signInPages(routes: Routes): void {
  routes.get("/sign-in", (c) => {
    const next = consolePath(c.req.query("next"));
    return c.var.view.session === undefined ? signInPage(c, 200, { next }) : c.redirect(next, 303);
  });

  routes.post("/sign-in", async (c) => {
    const { t } = c.var.view;
    const { directory, adminToken, clientLimit } = configOf(c);
    const { next: asked, kept: keptPath, token = "", ...form } = await readForm(c);
    const next = consolePath(asked);
    const kept = keptPath === undefined ? undefined : { path: consolePath(keptPath), values: withoutSecrets(form) };
    if (adminToken === undefined) return signInPage(c, 401, { next, kept });
    if (!(await isSame(token.trim(), adminToken))) {
      // Failures alone count, so that nobody's wrong tokens keep out who has the right one.
      if (await withinRate(c.var.isolate.runtime, clientLimit, failureKey("operator", clientAddress(c.req.raw)))) {
        return signInPage(c, 401, { next, kept, error: t("This is not the admin token.") });
      }
      c.header("retry-after", String(CLIENT_LIMIT_PERIOD));
      return signInPage(c, 429, { next, kept, error: t("Too many attempts. Try again in a minute.") });
    }
    c.header("set-cookie", await openSession(c.var.isolate.runtime, directory, adminToken, nowOf(c)));
    return kept === undefined ? c.redirect(next, 303) : showAgain(c, kept.path);
  });

  routes.post("/sign-out", async (c) => {
    c.header("set-cookie", await closeSession(c.var.isolate.runtime, configOf(c).directory, c.var.view.session));
    return c.redirect("/console/sign-in", 303);
  });

  routes.post("/language", async (c) => {
    // With a form that came back the choice stands in the address: the body is that form's own.
    const draft = c.req.query("draft");
    const { language, back } = draft === undefined ? await readForm(c) : c.req.query();
    c.header("set-cookie", hostCookie(LANGUAGE_COOKIE, language === "zh" ? "zh" : "en", YEAR_SECONDS));
    return draft === undefined ? c.redirect(consolePath(back), 303) : showAgain(c, consolePath(draft));
  });
}

/** Asks whoever is not signed in for the token. What a form brought is kept, and comes back in it. */
export async function askToSignIn(c: RequestContext): Promise<Response> {
  const { here } = c.var.view;
  if (c.req.method !== "POST") return c.redirect(`/console/sign-in?${new URLSearchParams({ next: here })}`, 303);
  const kept = { path: c.req.path, values: withoutSecrets(await readForm(c)) };
  return signInPage(c, 401, { next: "/console", kept });
}

/** The browser sends the same form on to its own path, which shows it filled and does nothing: see `isDraft`. */
const showAgain = (c: RequestContext, path: string) => c.redirect(withParameter(path, "draft", "1"), 307);

/** Never a secret, and not what makes a form count. */
const withoutSecrets = (form: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(form).filter(([name]) => !["form", "secret", "token", "next", "kept"].includes(name)),
  );

function signInPage(
  c: RequestContext,
  status: 200 | 401 | 429,
  { next, kept, error }: { next: string; kept?: Kept | undefined; error?: string },
): Response {
  const { t } = c.var.view;
  const body = (
    <>
      {kept && (
        <Notice kind="note" title={t("You are no longer signed in")}>
          <p>{t("Nothing was changed. Sign in, and what you entered comes back in its form; a secret does not.")}</p>
        </Notice>
      )}
      <section class="card door">
        <form method="post" action="/console/sign-in">
          <input type="hidden" name="next" value={next} />
          {kept && (
            <>
              <input type="hidden" name="kept" value={kept.path} />
              {Object.entries(kept.values).map(([name, value]) => (
                <input type="hidden" name={name} value={value} />
              ))}
            </>
          )}
          <Field
            label={t("Admin token")}
            name="token"
            type="password"
            autocomplete="current-password"
            error={error ?? noTokenText(c.var.view, configOf(c).adminTokenFault)}
            autofocus
            hint={t("The deployment's ADMIN_TOKEN. You stay signed in for 12 hours.")}
            required
          />
          <button type="submit">{t("Sign in")}</button>
        </form>
      </section>
    </>
  );
  const back = `/console/sign-in?${new URLSearchParams({ next })}`;
  return show(c, { title: t("Sign in to the console"), back, filled: kept, body }, status);
}
