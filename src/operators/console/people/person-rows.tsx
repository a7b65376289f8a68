import { isVisible } from "../../../core/fields.ts";
import type { listNamed, Person } from "../../services/people.ts";
import type { Site } from "../../services/sites.ts";
import { PEOPLE_PATH } from "../parts/grant.tsx";
import { grantRows } from "../parts/grant-page.tsx";
import { roleText } from "../parts/role-texts.ts";
import type { View } from "../view.ts";

/** The e-mail address or the name of a person. */
export function nameOf({ email, name, id }: Pick<Person, "email" | "name" | "id">): string {
  const shown = email ?? name ?? "";
  return isVisible(shown) ? shown : `(${id})`;
}

export const wayIn = ({ t }: Pick<View, "t">, { email }: Pick<Person, "email">): string =>
  email === null ? t("own token") : "Cloudflare Access";

type Named = ReturnType<typeof listNamed>;

/** The rows of a list of people. @param named those whom the settings let in: no page ends them */
export function personRows(view: View, people: Person[], sites: ReadonlyMap<number, Site>, named: Named = []) {
  const { t } = view;
  const list = {
    label: t("People"),
    name: t("Name or e-mail address"),
    // On a phone the name shows it: an e-mail address comes by Access.
    cell: { label: t("Way in"), phone: "hide" as const },
    pathOf: (id: string) => `${PEOPLE_PATH}/${id}/end`,
    end: t("End"),
  };
  const persons = people.map((person) => ({ ...person, name: nameOf(person), cell: wayIn(view, person) }));
  const table = grantRows(view, list, persons, sites);
  const ofSettings = named.map(({ entry, role, setting }) => [
    <span class="pair">
      <bdi class="clip">{entry}</bdi>
      <small class="hint">{t("set by {0}", setting)}</small>
    </span>,
    roleText(view, role),
    t("all"),
    "Cloudflare Access",
    "–",
    "–",
  ]);
  return { ...table, rows: [...table.rows, ...ofSettings] };
}
