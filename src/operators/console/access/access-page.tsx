import { isAtLeast, PERSON_ROLES } from "../../access/role.ts";
import { identityOf } from "../../http/context.ts";
import {
  endConsoleSession,
  isSessionName,
  listConsoleSessions,
  MOST_LISTED_SESSIONS,
  type OpenSession,
  USE_SECONDS,
} from "../../services/console-sessions.ts";
import { isByAccess } from "../../services/identity.ts";
import { sitesOf } from "../../services/site-names.ts";
import type { PageContext } from "../env.ts";
import { buttonAction, isDraft } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Action } from "../parts/form.tsx";
import { PEOPLE_PATH, roleMeans, roleText, SiteOf } from "../parts/grant.tsx";
import { Table } from "../parts/list.tsx";
import { Ago, Badge, Card, Part } from "../parts/parts.tsx";
import { postSignOut } from "../sign-in/sign-in-pages.tsx";
import { useView, type View } from "../view.ts";

const PATH = "/console/access";

/** Shows who the reader is, what they may do, and the open console sessions. An owner sees everyone's sessions. */
export async function accessPage(c: PageContext): Promise<Response> {
  const { view, t } = c.var;
  const { who, role, onlySite: siteId = null } = identityOf(c);
  const sessions = await listConsoleSessions(c.var.ctx);
  const seesAll = role === "owner";
  const byToken = who.kind === "person" ? t("own token") : "ADMIN_TOKEN";
  const title = seesAll ? t("Open console sessions of everyone") : t("Your open console sessions");
  const body = (
    <>
      <Card
        facts={[
          [t("Name"), <bdi>{who.name}</bdi>],
          [t("Signed in by"), isByAccess(who) ? "Cloudflare Access" : byToken],
          [t("Role"), roleText(view, role)],
          siteId !== null && [t("Site"), <SiteOf siteId={siteId} sites={await sitesOf(c.var.ctx, [{ siteId }])} />],
          [
            t("What it may do"),
            PERSON_ROLES.filter((each) => isAtLeast(role, each)).map((each) => (
              <span class="line">{roleMeans(view, each)}</span>
            )),
          ],
        ]}
      >
        <p>
          {view.may(PEOPLE_PATH, "GET") ? (
            <a href={PEOPLE_PATH}>{t("Let somebody in")}</a>
          ) : (
            t("An owner of this deployment can let others in, and make tokens for programs.")
          )}
        </p>
      </Card>
      <Part title={title}>
        <Table
          label={title}
          head={[
            seesAll ? t("Whose") : t("Browser"),
            ...(seesAll ? [t("Browser")] : []),
            { label: t("Network"), phone: "hide" },
            { label: t("Signed in on"), phone: "hide" },
            t("Last used"),
          ]}
          rows={sessions.map((session) => [
            ...(seesAll ? [<bdi class="long">{session.who.name}</bdi>] : []),
            <span class="pair">
              {session.browser ?? t("Not known")}
              {isOwnSession(view, session.name) && <Badge kind="good" label={t("This session")} />}
            </span>,
            session.address === null ? "–" : <code>{session.address}</code>,
            <Ago at={session.createdAt} />,
            session.lastUsedAt === null ? "–" : <Ago at={session.lastUsedAt} />,
          ])}
          actions={sessions.map((session) => <EndSession {...session} />)}
          empty={t("None is open.")}
        />
        <p class="hint">{t("A last use may be up to {0} minutes later than it says here.", USE_SECONDS / 60)}</p>
        {sessions.length === MOST_LISTED_SESSIONS && (
          <p class="hint">{t("Of more than {0}, those used last are shown.", MOST_LISTED_SESSIONS)}</p>
        )}
      </Part>
    </>
  );
  return showPage(c, { title: t("Your access"), section: "access", body });
}

const isOwnSession = (view: View, name: string) => view.session !== undefined && isSessionName(name, view.session);

/** The button that ends a session. For the reader's own session it is the sign-out button, which does no harm when pressed twice. */
function EndSession({ name, who, browser }: OpenSession) {
  const view = useView();
  const { t } = view;
  if (isOwnSession(view, name))
    return <Action isFree action="/console/sign-out" label={t("Sign out")} about={t("This session")} />;
  const about = [who.name, browser].filter(Boolean).join(", ");
  return <Action action={`${PATH}/${name}/end`} label={t("End")} about={about} />;
}

/** Answers the button that ends a session. A reader who ends their own session is signed out. */
export async function postEndSession(c: PageContext): Promise<Response> {
  const { ctx, view } = c.var;
  const name = c.req.param("session") ?? "";
  if (isOwnSession(view, name) && !(await isDraft(c))) return postSignOut(c);
  return buttonAction(c, {
    draft: { path: PATH },
    list: PATH,
    work: async () =>
      doneLocation(c, PATH, (await endConsoleSession(ctx, { name })) ? "session_ended" : "session_ended_before"),
  });
}
