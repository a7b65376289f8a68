import type { Config } from "../../../config.ts";
import type { AccessRefusal } from "../../services/access-sessions.ts";
import { NoticeBox } from "../parts/parts.tsx";
import { useView, type View } from "../view.ts";
import { noTokenText } from "./no-token-text.ts";

/** Cloudflare's own path on the console's host, which signs out of Access. */
export const ACCESS_SIGN_OUT = "/cdn-cgi/access/logout";

/** The sign-in page's notice about Cloudflare Access: why somebody who comes through it may not enter. */
export function AccessNotice({ config }: { config: Config }) {
  const view = useView();
  const [title, text] = noticeOf(view, config) ?? [];
  if (title === undefined) return null;
  return (
    <NoticeBox kind="bad" title={title}>
      {text && <p>{text}</p>}
      {view.refused && (
        <p>
          <a href={ACCESS_SIGN_OUT}>{view.t("Sign in there again")}</a>
        </p>
      )}
    </NoticeBox>
  );
}

function noticeOf(
  view: View,
  { signIn, accessFault, adminTokenFault }: Config,
): [title: string, text?: string] | undefined {
  const { t, refused } = view;
  const noToken = noTokenText(view, adminTokenFault);
  if (signIn === "token" || (signIn === "both" && noToken !== undefined)) return undefined;
  if (noToken !== undefined) return [noToken];
  if (accessFault !== undefined)
    return [
      t("Nobody can sign in by Cloudflare Access"),
      t("A setting of this deployment is wrong: {0}.", accessFault),
    ];
  if (refused !== undefined) return [t("Cloudflare Access did not sign you in"), refusalText(view, refused.reason)];
  if (signIn === "both") return undefined;
  return [
    t("You did not come through Cloudflare Access"),
    t("This console is open to people who sign in there. Whoever runs it must let Access guard /console of this host."),
  ];
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
