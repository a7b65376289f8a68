import type { Config } from "../../../config.ts";
import { PERSON_ROLES, type PersonRole } from "../../access/role.ts";
import { docsPath } from "../docs-path.ts";
import { roleMeans, roleText } from "../parts/role-texts.ts";
import type { View } from "../view.ts";

const GUIDE = "operating#from-one-token-to-names-in-five-minutes";

/** The var of wrangler.toml that lists the people of a role. */
const SETTING_OF_ROLE: Record<PersonRole, string> = {
  viewer: "CONSOLE_VIEWERS",
  operator: "CONSOLE_OPERATORS",
  owner: "CONSOLE_OWNERS",
};

/** Who may do what in the console, and how to let a colleague only look. Only owners see it, because it names people. */
export function PeopleCard({ view, config, origin }: { view: View; config: Config; origin: string }) {
  const { t } = view;
  const { access } = config;
  return (
    <section class="card" id="people">
      <h2>{t("Let a colleague look and nothing else")}</h2>
      {access === undefined ? (
        <p>
          {t(
            "Everybody here signs in with the ADMIN_TOKEN, and may do everything. With Cloudflare Access in front of /console, each person has a name and a role. It takes five minutes:",
          )}{" "}
          <a href={docsPath(view, GUIDE)}>{t("the steps")}</a>
        </p>
      ) : (
        <p>{t("People sign in by Cloudflare Access. The lists of wrangler.toml say who has which role.")}</p>
      )}
      <ol class="steps">
        {access === undefined && (
          <li>{t("Guard the path /console of this host with an application of Access, as the steps say.")}</li>
        )}
        <li>{t("Add the colleague's e-mail address to CONSOLE_VIEWERS in wrangler.toml.")}</li>
        {access !== undefined && <li>{t("Let the policy of the Access application allow this address.")}</li>}
        <li>
          {t("Deploy it:")} <code>npm run deploy</code>
        </li>
        <li>{t("The colleague opens {0} and signs in there.", `${origin}/console`)}</li>
      </ol>
      <dl class="facts">
        {PERSON_ROLES.map((role) => (
          <>
            <dt>{roleText(view, role)}</dt>
            <dd>
              {roleMeans(view, role)}
              {access !== undefined && (
                <span class="hint line">
                  <code>{SETTING_OF_ROLE[role]}</code>: <bdi>{access.roles[role].join(t(", ")) || t("nobody")}</bdi>
                </span>
              )}
            </dd>
          </>
        ))}
      </dl>
      <p class="hint">
        {t("For a program or a script, make a token with the role viewer:")}{" "}
        <a href="/console/tokens?role=viewer#make">{t("Make a token")}</a>{" "}
        {t("For a scraper of the metrics, one with the role metrics:")}{" "}
        <a href="/console/tokens?role=metrics#make">{t("Make a token")}</a>
      </p>
    </section>
  );
}
