import { isRefusedFor } from "../../../core/errors.ts";
import { PERSON_ROLES } from "../../access/role.ts";
import { identityOf } from "../../http/context.ts";
import { countOpenSessions } from "../../services/console-sessions.ts";
import {
  addPerson,
  endPerson,
  findPerson,
  identityOfPerson,
  isLastOwner,
  listNamed,
  listPeople,
  newPersonSchema,
  noWayIn,
  type Person,
  roleInSettings,
} from "../../services/people.ts";
import { offeredSites, sitesOf } from "../../services/site-names.ts";
import { docsPath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import type { Fields } from "../parts/form.tsx";
import { grantFields, PEOPLE_PATH, readGrant, roleText, type SitesById } from "../parts/grant.tsx";
import { endGrant, endGrantPage, grantPage, grantTable, newTokenPage } from "../parts/grant-page.tsx";
import { EmptyState, Time } from "../parts/parts.tsx";
import { visibleName } from "../parts/unseen.tsx";
import type { View } from "../view.ts";

const GUIDE = "operating/people#from-one-token-to-names-in-five-minutes";

/** The names of the field that says who it is, by the way in. The API has two fields, of which one is given. */
const WAYS = ["email", "name"] as const;

/** Answers the form that lets somebody in: with the list, or with the page that shows a token once. */
export async function postPeople(c: PageContext): Promise<Response> {
  const { ctx, view, t, form } = c.var;
  const { who = "", way: chosenWay = "" } = form;
  const way = WAYS.find((each) => each === chosenWay) ?? openWays(c)[0] ?? "name";
  const atWho = (errors: Record<string, string>) => {
    const { email, name, ...others } = errors;
    const error = way === "email" ? email : name;
    return { ...(error !== undefined && { who: error }), ...others };
  };
  const checked = enteredFields(view, newPersonSchema.safeParse({ [way]: who, ...readGrant(form) }));
  return formAction(c, {
    entered: "errors" in checked ? { errors: atWho(checked.errors) } : checked,
    page: (filledForm) => peoplePage(c, { ...filledForm, errors: atWho(filledForm.errors) }),
    refused: (error) =>
      isRefusedFor(error, "person_taken")
        ? { who: t("This address has access already: end its row in the list first.") }
        : undefined,
    work: async ({ site_id: siteId, expires_in_days: expiresInDays, ...rest }) => {
      const { token, ...person } = await addPerson(ctx, { ...rest, siteId, expiresInDays });
      if (token === undefined) return doneLocation(c, PEOPLE_PATH, "person_added", `row-${person.id}`);
      const title = t("{0} may come in", person.name ?? "");
      const address = `${new URL(c.req.url).origin}/console`;
      const warning = t("Give it to this person alone. They open {0}, paste it, and stay in for 12 hours.", address);
      const page = await newTokenPage(c, PEOPLE_PATH, { ...person, token }, { title, warning });
      return { page, again: await doneLocation(c, PEOPLE_PATH, "person_not_shown", `row-${person.id}`) };
    },
  });
}

/** The ways in that CONSOLE_SIGN_IN has here. */
const openWays = (c: PageContext) => WAYS.filter((way) => noWayIn(c.var.ctx)[way] === undefined);

/** The field that says who it is, after a choice of the way in where there are two. */
function whoFields({ t }: View, ways: readonly (typeof WAYS)[number][]): Fields {
  const who = { required: true, maxlength: 320 };
  if (ways.length > 1) {
    const options: [string, string][] = [
      ["email", t("By Cloudflare Access, under an e-mail address")],
      ["name", t("With a token of their own, under a name")],
    ];
    return { way: { label: t("Way in"), options }, who: { label: t("E-mail address or name"), ...who } };
  }
  return ways[0] === "email"
    ? { who: { label: t("E-mail address"), hint: t("They come by Cloudflare Access under it."), ...who } }
    : { who: { label: t("Name"), hint: t("They get a token of their own, which the next page shows once."), ...who } };
}

/** Who may come into the console: people whom owners let in, and those whom the settings name. */
export async function peoplePage(c: PageContext, filledForm?: FilledForm): Promise<Response> {
  const { ctx, view, t } = c.var;
  const cursor = c.req.query("cursor");
  const isFirst = cursor === undefined;
  const people = await listPeople(ctx, { cursor, limit: 50 });
  const [offered, sites] = await Promise.all([offeredSites(ctx), sitesOf(ctx, people.items)]);
  const ways = openWays(c);
  const siteHint = t("Somebody with the role owner sees all sites.");
  const fields = {
    ...whoFields(view, ways),
    ...grantFields(view, { roles: PERSON_ROLES, offered, days: "", siteHint }, filledForm),
  };
  return grantPage(c, {
    title: t("People"),
    path: PEOPLE_PATH,
    note: (
      <>
        {ways.includes("email")
          ? t("Who comes by Cloudflare Access must be allowed by its policy, too.")
          : t(
              "With Cloudflare Access in front of /console, people come under their own e-mail address, without a token:",
            )}{" "}
        <a href={docsPath(view, GUIDE)}>{t("the steps")}</a>
      </>
    ),
    add: {
      label: t("Let somebody in"),
      button: t("Let them in"),
      fields,
      isOpen: isFirst && people.items.length === 0,
    },
    filled: filledForm,
    table: personTable(view, people.items, sites, isFirst ? listNamed(ctx) : []),
    empty: (
      <EmptyState title={t("Nobody was let in yet.")}>
        {t("Until then, everybody signs in with the ADMIN_TOKEN, and may do everything.")}
      </EmptyState>
    ),
    cursor: people.nextCursor,
  });
}

/** A table of people. @param named those whom the settings let in: no page ends them */
export function personTable(view: View, people: Person[], sites: SitesById, named: ReturnType<typeof listNamed> = []) {
  const { t } = view;
  const kind = {
    label: t("People"),
    name: t("Name or e-mail address"),
    // On a phone the name shows it: an e-mail address comes by Access.
    cell: { label: t("Way in"), phone: "hide" as const },
    pathOf: (id: string) => `${PEOPLE_PATH}/${id}/end`,
    end: t("End"),
  };
  const persons = people.map((person) => ({ ...person, name: nameOf(person), cell: wayIn(view, person) }));
  const table = grantTable(view, kind, persons, sites);
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

/** The e-mail address or the name of a person. */
const nameOf = ({ email, name, id }: Person): string => visibleName({ id, name: email ?? name ?? "" });

const wayIn = ({ t }: View, { email }: Person): string => (email === null ? t("own token") : "Cloudflare Access");

const idOf = (c: PageContext) => c.req.param("person_id") ?? "";

/** Asks before somebody's access is ended, and says what ends with it. */
export async function endPersonPage(c: PageContext): Promise<Response> {
  const { ctx, view, t } = c.var;
  const person = await findPerson(ctx, { id: idOf(c) });
  const roleLeft = roleInSettings(ctx, person.email);
  const text = [
    t("They are signed out at once, in every browser, and do not come in by this row any more. It cannot be undone."),
    identityOf(c).who.id === identityOfPerson(person).who.id && t("It is your own access."),
    roleLeft &&
      t("The settings name this address too: after signing in again it has the role {0}.", roleText(view, roleLeft)),
    (await isLastOwner(ctx, person)) &&
      t("Nobody else is an owner: then only the ADMIN_TOKEN can let people in and end their access."),
  ];
  return endGrantPage(c, PEOPLE_PATH, person, {
    title: t("End this person's access?"),
    text: text.filter(Boolean).join(t(" ")),
    name: [person.email === null ? t("Name") : t("E-mail address"), <bdi>{nameOf(person)}</bdi>],
    facts: [
      [t("Way in"), wayIn(view, person)],
      [t("Open sessions that end"), String(await countOpenSessions(ctx, person))],
      [t("Let in on"), <Time at={person.createdAt} />],
    ],
    button: t("End the access"),
  });
}

export const postEndPerson = (c: PageContext): Promise<Response> =>
  endGrant(c, PEOPLE_PATH, {
    end: () => endPerson(c.var.ctx, { id: idOf(c) }),
    unknown: "person_unknown",
    done: "person_ended",
    before: "person_ended_before",
  });
