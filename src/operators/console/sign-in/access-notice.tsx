import type { Config } from "../../../config.ts";
import type { AccessRefusal } from "../../services/access-sessions.ts";
import { NoticeBox } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { noTokenText } from "./no-token-text.ts";
import { ACCESS_SIGN_OUT } from "./sign-out-path.ts";

/** The sign-in page's notice about Cloudflare Access: why somebody who comes through it may not enter. */
export function AccessNotice({ view, config }: { view: View; config: Config }) {
  const { t, refused } = view;
  const { signIn, accessFault, adminTokenFault } = config;
  if (signIn === "token") return null;
  const noToken = noTokenText(view, adminTokenFault);
  if (noToken !== undefined) return signIn === "both" ? null : <NoticeBox kind="bad" title={noToken} />;
  if (accessFault !== undefined) {
    return (
      <NoticeBox kind="bad" title={t("Nobody can sign in by Cloudflare Access")}>
        <p>{t("A setting of this deployment is wrong: {0}.", accessFault)}</p>
      </NoticeBox>
    );
  }
  if (refused === undefined) {
    if (signIn === "both") return null;
    return (
      <NoticeBox kind="bad" title={t("You did not come through Cloudflare Access")}>
        <p>
          {t(
            "This console is open to people who sign in there. Whoever runs it must let Access guard /console of this host.",
          )}
        </p>
      </NoticeBox>
    );
  }
  return (
    <NoticeBox kind="bad" title={t("Cloudflare Access did not sign you in")}>
      <p>{refusalText(view, refused.reason)}</p>
      <p>
        <a href={ACCESS_SIGN_OUT}>{t("Sign in there again")}</a>
      </p>
    </NoticeBox>
  );
}

function refusalText({ t }: View, reason: AccessRefusal): string {
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
