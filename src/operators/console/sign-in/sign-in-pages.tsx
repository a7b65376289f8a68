import type { Config } from "../../../config.ts";
import { isRefusedFor, ServiceError } from "../../../core/errors.ts";
import { clientAddress } from "../../../core/http/client-address.ts";
import { readTokenText } from "../../access/token-text.ts";
import type { AccessRefusal } from "../../services/access-sessions.ts";
import { closeConsoleSession, openConsoleSession, SIGNED_IN_SECONDS } from "../../services/console-sessions.ts";
import { isByAccess } from "../../services/identity.ts";
import { browserOf } from "../browser.ts";
import { consolePath, withParameter } from "../console-path.ts";
import { dropsCookies, hostCookie, languageCookie, SESSION_COOKIE } from "../cookies.ts";
import type { PageContext, SentForm } from "../env.ts";
import { beginWork } from "../forms/form-action.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Field, Hidden } from "../parts/form.tsx";
import { LinkLine, NoticeBox } from "../parts/parts.tsx";
import type { View } from "../view.ts";

/** Cloudflare's own path on the console's host, which signs out of Access. */
const ACCESS_SIGN_OUT = "/cdn-cgi/access/logout";

export async function getSignIn(c: PageContext): Promise<Response> {
  const { session } = c.var.view;
  const next = consolePath(c.req.query("next"));
  const takes = takesToken(c);
  // Somebody who came through Access may still sign in as the root, when the deployment allows both.
  if (session !== undefined && !(takes && isByAccess(session.identity.who))) return c.redirect(next, 303);
  return signInPage(c, takes ? 200 : 401, { next });
}

export async function postSignIn(c: PageContext): Promise<Response> {
  const { ctx, t } = c.var;
  const { next: nextPath, token = "" } = c.var.form;
  const next = consolePath(nextPath);
  const keptForm = c.var.sent;
  const again = (status: 401 | 429, error?: string) => signInPage(c, status, { next, keptForm, error });
  if (ctx.config.adminTokenFault !== undefined || !takesToken(c)) return again(401);
  if (dropsCookies(c.req.raw)) return again(401, t("Nobody can stay signed in here"));
  try {
    const cookie = await openConsoleSession(ctx, {
      token: token.trim(),
      client: clientAddress(c.req.raw),
      browser: browserOf(c.req.header("user-agent") ?? ""),
    });
    c.header("set-cookie", hostCookie(SESSION_COOKIE, cookie, SIGNED_IN_SECONDS));
  } catch (error) {
    if (isRefusedFor(error, "admin_token_wrong", "person_token_ended", "token_expired"))
      return again(401, wrongToken(c.var.view, token.trim(), error.context.reason));
    if (!isRefusedFor(error, "client_limit", "person_changes", "person_in_flight")) throw error;
    const { reason, retryAfter } = error.context;
    c.header("retry-after", String(retryAfter));
    if (reason === "client_limit") return again(429, t("Too many attempts. Try again in a minute."));
    return again(429, t("Wait {0} seconds, and then try again. Nothing was changed.", retryAfter));
  }
  return keptForm === undefined ? c.redirect(next, 303) : showAgain(c, keptForm.path);
}

function wrongToken({ t }: View, token: string, reason: string): string {
  if (reason === "token_expired") return t("This token has expired: whoever runs this console can make another.");
  if (reason === "person_token_ended")
    return t("This token signs nobody in: it was ended, or it is of another console.");
  const form = readTokenText(token);
  if (form === undefined) return t("This token opens nothing here.");
  if (form.kind === "person") return t("A character of this token is wrong or missing: copy it again, whole.");
  return form.isSlip
    ? t("This is a token for programs, with a character wrong or missing. It would not open the console either.")
    : t("This is a token for programs. It opens the admin API, not the console.");
}

export async function postSignOut(c: PageContext): Promise<Response> {
  const { session } = c.var.view;
  beginWork(c);
  if (session !== undefined) await closeConsoleSession(c.var.ctx, session);
  if (session !== undefined && isByAccess(session.identity.who)) return c.redirect(ACCESS_SIGN_OUT, 303);
  c.header("set-cookie", hostCookie(SESSION_COOKIE, "", 0));
  return c.redirect("/console/sign-in", 303);
}

export async function postLanguage(c: PageContext): Promise<Response> {
  // When a form is sent along, the body holds that form, and `language` is in the address.
  const draft = c.req.query("draft");
  const { language, back } = draft === undefined ? c.var.form : c.req.query();
  c.header("set-cookie", languageCookie(language === "zh" ? "zh" : "en"));
  return draft === undefined ? c.redirect(consolePath(back), 303) : showAgain(c, consolePath(draft));
}

const takesToken = (c: PageContext): boolean => c.var.ctx.config.signIn !== "access";

/** Refusals of visitors whom Access has identified, but who may do nothing here. */
const WITHOUT_ROLE: readonly AccessRefusal[] = ["access_no_role", "assertion_without_email"];

/**
 * Shows the sign-in page. It keeps the fields of a sent form, which is shown again after the sign-in.
 *
 * @throws ServiceError `forbidden` for a person without a role, and for an assertion without an e-mail address
 */
export async function askToSignIn(c: PageContext): Promise<Response> {
  const { here, refused } = c.var.view;
  if (refused !== undefined && WITHOUT_ROLE.includes(refused.reason))
    throw new ServiceError("forbidden", { reason: refused.reason });
  if (c.req.method !== "POST") {
    if (refused?.reason === "certs_unavailable") {
      c.header("retry-after", "60");
      return signInPage(c, 503, { next: here });
    }
    if (refused !== undefined || !takesToken(c)) return signInPage(c, 401, { next: here });
    return c.redirect(`/console/sign-in?${new URLSearchParams({ next: here })}`, 303);
  }
  await readForm(c);
  return signInPage(c, 401, { next: "/console", keptForm: c.var.sent });
}

/** Redirects by 307, so that the browser sends the form again to its own path, where it is a draft. See {@link isDraft}. */
const showAgain = (c: PageContext, path: string) => c.redirect(withParameter(path, "draft", "1"), 307);

function signInPage(
  c: PageContext,
  status: 200 | 401 | 429 | 503,
  { next, keptForm, error }: { next: string; keptForm?: SentForm | undefined; error?: string | undefined },
): Promise<Response> {
  const { t } = c.var;
  const { config } = c.var.ctx;
  const { adminTokenFault } = config;
  const noToken = adminTokenFault && t(`ADMIN_TOKEN ${adminTokenFault}, so nobody can sign in.`);
  const [accessTitle, accessText] = accessNotice(c.var.view, config, noToken) ?? [];
  const takes = takesToken(c);
  const body = (
    <>
      {keptForm && (
        <NoticeBox kind="note" title={t("You are no longer signed in")}>
          <p>
            {takes
              ? t("Nothing was changed. Sign in, and what you entered comes back in its form; a secret does not.")
              : t("Nothing was changed, and what you entered is lost. Sign in, and enter it again.")}
          </p>
        </NoticeBox>
      )}
      {accessTitle && (
        <NoticeBox kind="bad" title={accessTitle}>
          {accessText && <p>{accessText}</p>}
          {c.var.view.refused && <LinkLine href={ACCESS_SIGN_OUT} label={t("Sign in there again")} />}
        </NoticeBox>
      )}
      {takes && dropsCookies(c.req.raw) && (
        <NoticeBox kind="bad" title={t("Nobody can stay signed in here")}>
          <p>
            {t(
              "Browsers keep a sign-in by http:// only at localhost. Others on the network could read the token, too.",
            )}
          </p>
          <p>
            {t(
              "Open the console by https://, or on the machine where it runs as http://localhost:{0}/console. From another machine, make a tunnel to it first: ssh -L {0}:localhost:{0} MACHINE",
              new URL(c.req.url).port || 80,
            )}
          </p>
        </NoticeBox>
      )}
      {takes && (
        <section class="card door">
          <form method="post" action="/console/sign-in">
            <Hidden values={{ next, ...(keptForm && { kept: keptForm.path, ...keptForm.values }) }} />
            <Field
              label={t("Token")}
              name="token"
              type="password"
              autocomplete="current-password"
              error={error ?? noToken}
              autofocus
              hint={t("Your own token, or the deployment's ADMIN_TOKEN. You stay signed in for 12 hours.")}
              required
            />
            <button type="submit">{t("Sign in")}</button>
          </form>
        </section>
      )}
    </>
  );
  const back = `/console/sign-in?${new URLSearchParams({ next })}`;
  return showPage(c, { title: t("Sign in to the console"), back, filled: keptForm, body }, status);
}

/** Why somebody who comes through Cloudflare Access may not enter. */
function accessNotice(
  { t, refused }: View,
  { signIn, accessFault }: Config,
  noToken: string | undefined,
): [title: string, text?: string] | undefined {
  if (signIn === "token" || (signIn === "both" && noToken !== undefined)) return undefined;
  if (noToken !== undefined) return [noToken];
  if (accessFault !== undefined)
    return [
      t("Nobody can sign in by Cloudflare Access"),
      t("A setting of this deployment is wrong: {0}.", accessFault),
    ];
  if (refused !== undefined) return [t("Cloudflare Access did not sign you in"), refusalText(t, refused.reason)];
  if (signIn === "both") return undefined;
  return [
    t("You did not come through Cloudflare Access"),
    t("This console is open to people who sign in there. Whoever runs it must let Access guard /console of this host."),
  ];
}

function refusalText(t: View["t"], reason: AccessRefusal): string {
  const other = t("What it sent is not meant for this console: ACCESS_TEAM_DOMAIN or ACCESS_AUD may be wrong.");
  const texts: Record<AccessRefusal, string> = {
    assertion_malformed: t("What it sent cannot be read."),
    assertion_forged: t("What it sent is not signed by the team of this console."),
    assertion_expired: t("Your sign-in has expired."),
    assertion_early: t("Your sign-in is not valid yet: a clock is wrong."),
    assertion_audience: other,
    assertion_issuer: other,
    assertion_without_email: t("What it sent names no e-mail address: programs use a token and the admin API."),
    certs_unavailable: t("Its keys cannot be fetched now. Try again in a minute."),
    access_no_role: t("Your address has no role here."),
    access_session_ended: t("You signed out, or somebody ended this session."),
  };
  return texts[reason];
}
