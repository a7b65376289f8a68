import { isVisible } from "../../../core/fields.ts";
import type { listNamed, Person } from "../../services/people.ts";
import type { Site } from "../../services/sites.ts";
import { withParameter } from "../console-path.ts";
import { AskLink } from "../parts/form.tsx";
import { End, LastUse, PEOPLE_PATH, SiteOf } from "../parts/grant.tsx";
import { roleText } from "../parts/role-texts.ts";
import { RowMenu } from "../parts/row-menu.tsx";
import type { View } from "../view.ts";

/** The e-mail address or the name of a person. A name from before a rule may be invisible. */
export const nameOf = ({ email, name, id }: Pick<Person, "email" | "name" | "id">): string => {
  const shown = email ?? name ?? "";
  return isVisible(shown) ? shown : `(${id})`;
};

export const wayIn = ({ t }: Pick<View, "t">, { email }: Pick<Person, "email">): string =>
  email === null ? t("own token") : "Cloudflare Access";

export const rowIdOf = ({ id }: Pick<Person, "id">): string => `row-${id}`;

type Named = ReturnType<typeof listNamed>;

/**
 * The rows of a list of people, each with a link to the page that ends their access. That page leads back to the list.
 *
 * @param named those whom the settings let in
 */
export function personRows(view: View, people: Person[], sites: ReadonlyMap<number, Site>, named: Named = []) {
  const { t } = view;
  const here = withParameter(view.here, "done");
  return {
    label: t("People"),
    head: [
      t("Name or e-mail address"),
      { label: t("Role"), phone: "top" as const },
      t("Site"),
      t("Way in"),
      t("Last used"),
      t("Ends"),
    ],
    rows: [
      ...people.map((person) => [
        <span class="pair">
          <bdi class="clip">{nameOf(person)}</bdi>
          <code class="hint appid" title={person.id}>
            {person.id}
          </code>
        </span>,
        roleText(view, person.role),
        <SiteOf siteId={person.siteId} sites={sites} />,
        wayIn(view, person),
        <LastUse at={person.lastUsedAt} />,
        <End at={person.expiresAt} />,
      ]),
      ...named.map(({ entry, role, setting }) => [
        <bdi class="clip">{entry}</bdi>,
        roleText(view, role),
        t("all"),
        <span class="pair">
          <span>Cloudflare Access</span>
          <small>{t("set by {0}", setting)}</small>
        </span>,
        "–",
        "–",
      ]),
    ],
    actions: people.map((person) => (
      <RowMenu label={t("Actions for {0}", nameOf(person))}>
        <AskLink href={withParameter(`${PEOPLE_PATH}/${person.id}/end`, "back", here)}>
          {t("End")}…<span class="unseen"> {nameOf(person)}</span>
        </AskLink>
      </RowMenu>
    )),
    ids: people.map(rowIdOf),
  };
}
