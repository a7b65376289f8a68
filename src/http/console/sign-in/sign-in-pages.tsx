import { isRefusedFor } from "../../../errors.ts";
import { closeConsoleSession, openConsoleSession, SIGNED_IN_SECONDS } from "../../../services/console-sessions.ts";
import { clientAddress } from "../../client-address.ts";
import { consolePath, withParameter } from "../console-path.ts";
import { hostCookie, LANGUAGE_COOKIE, SESSION_COOKIE } from "../cookies.ts";
import type { PageContext } from "../env.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Field } from "../parts/form.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { noTokenText } from "./no-token-text.ts";

const YEAR_SECONDS = 31_536_000;

/** A form that was sent after the console session had ended: its fields and its path. */
type Kept = { path: string; values: Record<string, string> };

export async function getSignIn(c: PageContext): Promise<Response> {
  const next = consolePath(c.req.query("next"));
  return c.var.view.session === undefined ? signInPage(c, 200, { next }) : c.redirect(next, 303);
}

export async function postSignIn(c: PageContext): Promise<Response> {
  const { t } = c.var.view;
  const { ctx } = c.var;
  const { next: asked, kept: keptPath, token = "", ...form } = await readForm(c);
  const next = consolePath(asked);
  const kept = keptPath === undefined ? undefined : { path: consolePath(keptPath), values: withoutSecrets(form) };
  if (ctx.config.adminTokenFault !== undefined) return signInPage(c, 401, { next, kept });
  try {
    const cookie = await openConsoleSession(ctx, { token: token.trim(), client: clientAddress(c.req.raw) });
    c.header("set-cookie", hostCookie(SESSION_COOKIE, cookie, SIGNED_IN_SECONDS));
  } catch (error) {
    if (isRefusedFor(error, "admin_token_wrong")) {
      return signInPage(c, 401, { next, kept, error: t("This is not the admin token.") });
    }
    if (!isRefusedFor(error, "client_limit")) throw error;
    c.header("retry-after", String(error.context.retryAfter));
    return signInPage(c, 429, { next, kept, error: t("Too many attempts. Try again in a minute.") });
  }
  return kept === undefined ? c.redirect(next, 303) : showAgain(c, kept.path);
}

export async function postSignOut(c: PageContext): Promise<Response> {
  const { ctx, view } = c.var;
  if (view.session !== undefined) await closeConsoleSession(ctx, view.session);
  c.header("set-cookie", hostCookie(SESSION_COOKIE, "", 0));
  return c.redirect("/console/sign-in", 303);
}

export async function postLanguage(c: PageContext): Promise<Response> {
  // With a form sent along, `language` is in the address: the body holds that form.
  const draft = c.req.query("draft");
  const { language, back } = draft === undefined ? await readForm(c) : c.req.query();
  c.header("set-cookie", hostCookie(LANGUAGE_COOKIE, language === "zh" ? "zh" : "en", YEAR_SECONDS));
  return draft === undefined ? c.redirect(consolePath(back), 303) : showAgain(c, consolePath(draft));
}

/** Shows the sign-in page. It keeps the fields of a sent form, which is shown again after signing in. */
export async function askToSignIn(c: PageContext): Promise<Response> {
  const { here } = c.var.view;
  if (c.req.method !== "POST") return c.redirect(`/console/sign-in?${new URLSearchParams({ next: here })}`, 303);
  const kept = { path: c.req.path, values: withoutSecrets(await readForm(c)) };
  return signInPage(c, 401, { next: "/console", kept });
}

/** Redirects by 307, so that the browser sends the form again to its own path. There it is a draft: {@link isDraft}. */
const showAgain = (c: PageContext, path: string) => c.redirect(withParameter(path, "draft", "1"), 307);

/** The form without its secrets, and without the token that would let it be carried out. */
const withoutSecrets = (form: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(form).filter(([name]) => !["form", "secret", "token", "next", "kept"].includes(name)),
  );

function signInPage(
  c: PageContext,
  status: 200 | 401 | 429,
  { next, kept, error }: { next: string; kept?: Kept | undefined; error?: string },
): Promise<Response> {
  const { t } = c.var.view;
  const body = (
    <>
      {kept && (
        <NoticeBox kind="note" title={t("You are no longer signed in")}>
          <p>{t("Nothing was changed. Sign in, and what you entered comes back in its form; a secret does not.")}</p>
        </NoticeBox>
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
            error={error ?? noTokenText(c.var.view, c.var.ctx.config.adminTokenFault)}
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
  return showPage(c, { title: t("Sign in to the console"), back, filled: kept, body }, status);
}
