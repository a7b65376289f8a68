import { countOpenSessions } from "../../services/console-sessions.ts";
import { endPerson, findPerson, roleInSettings } from "../../services/people.ts";
import { sitesOf } from "../../services/site-names.ts";
import { consolePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { askPage } from "../parts/ask.tsx";
import { grantFacts, LastUse, PEOPLE_PATH } from "../parts/grant.tsx";
import { endGrant } from "../parts/grant-page.tsx";
import { Time } from "../parts/parts.tsx";
import { roleText } from "../parts/role-texts.ts";
import { nameOf, wayIn } from "./person-rows.tsx";

const idOf = (c: PageContext) => c.req.param("person_id") ?? "";

/** Asks before somebody's access is ended, and says what ends with it. */
export async function endPersonPage(c: PageContext): Promise<Response> {
  const { ctx, view, t } = c.var;
  const person = await findPerson(ctx, { id: idOf(c) });
  const back = consolePath(c.req.query("back"), PEOPLE_PATH);
  const roleLeft = roleInSettings(ctx, person.email);
  return askPage(c, {
    title: t("End this person's access?"),
    section: "tokens",
    text: (
      <>
        {t(
          "They are signed out at once, in every browser, and do not come in by this row any more. It cannot be undone.",
        )}{" "}
        {roleLeft &&
          t(
            "The settings name this address too: after signing in again it has the role {0}.",
            roleText(view, roleLeft),
          )}
      </>
    ),
    facts: [
      [person.email === null ? t("Name") : t("E-mail address"), <bdi>{nameOf(person)}</bdi>],
      ["ID", <code>{person.id}</code>],
      [t("Way in"), wayIn(view, person)],
      [t("Open sessions that end"), String(await countOpenSessions(ctx, person))],
      [t("Let in on"), <Time at={person.createdAt} />],
      [t("Last used"), <LastUse at={person.lastUsedAt} />],
      ...grantFacts(view, person, await sitesOf(ctx, [person])),
    ],
    hidden: { back },
    button: t("End the access"),
    keep: t("Keep it"),
    back,
  });
}

export const postEndPerson = (c: PageContext): Promise<Response> =>
  endGrant(c, {
    list: PEOPLE_PATH,
    end: () => endPerson(c.var.ctx, { id: idOf(c) }),
    unknown: "person_unknown",
    done: "person_ended",
    before: "person_ended_before",
  });
