import type { Child } from "hono/jsx";
import { isRefusedFor } from "../../../core/errors.ts";
import { isVisible } from "../../../core/fields.ts";
import type { Role } from "../../access/role.ts";
import type { Site } from "../../services/sites.ts";
import { consolePath, withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm, type FormResult } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { useView, type View } from "../view.ts";
import { AskLink, type Fields } from "./form.tsx";
import { Badge, type FactRows, Facts, NoticeBox, Time, TimeUntil } from "./parts.tsx";
import { roleMeans, roleText } from "./role-texts.ts";
import { RowMenu } from "./row-menu.tsx";
import type { Column } from "./table.tsx";

/** What the pages of tokens and those of people have in common: a role, perhaps one site, and an end. */

export const PEOPLE_PATH = "/console/people";
export const TOKENS_PATH = "/console/tokens";

/** Links between the page of people and that of tokens. */
export function GrantTabs({ here }: { here: string }) {
  const { t } = useView();
  return (
    <nav class="tabs" aria-label={t("People and tokens")}>
      {[
        [PEOPLE_PATH, t("People")],
        [TOKENS_PATH, t("Tokens for programs")],
      ].map(([href, label]) => (
        <a href={href} aria-current={href === here ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}

/** What a token or a person may do, where and for how long. Times are Unix seconds. */
interface Grant {
  role: Role;
  siteId: number | null;
  expiresAt: number | null;
  lastUsedAt: number | null;
}

type SitesById = ReadonlyMap<number, Pick<Site, "name">>;

const siteName = (id: number, name = ""): string => (isVisible(name) ? name : `(${id})`);

export function SiteOf({ siteId, sites }: { siteId: number | null; sites: SitesById }) {
  if (siteId === null) return <>{useView().t("all")}</>;
  return (
    <a href={`/console/sites/${siteId}`}>
      <bdi>{siteName(siteId, sites.get(siteId)?.name)}</bdi>
    </a>
  );
}

/** The last use, as an hour: the exact time is not stored. */
export function LastUse({ at }: { at: number | null }) {
  const view = useView();
  return at === null ? <span class="hint">{view.t("Never")}</span> : view.hour(at);
}

export function End({ at }: { at: number | null }) {
  const { t, now } = useView();
  if (at === null) return <>{t("never")}</>;
  if (at > now) return <Time at={at} />;
  return (
    <span class="pair">
      <span class="off-phone">
        <Time at={at} />
      </span>
      <Badge kind="off" label={t("Expired")} />
    </span>
  );
}

/** A row of a list of tokens or of people. `cell` is a cell that only one of the two lists has. */
interface GrantRow extends Grant {
  id: string;
  name: string;
  cell: Child;
}

/**
 * The rows of a list of tokens or of people, each with a link to the page that ends it. That page leads back to the list.
 *
 * @param list `name` is the label of the first column, `pathOf` gives the path of the page that ends a row, `end` is the text of the link
 */
export function grantRows(
  view: View,
  list: { label: string; name: string; cell: Column; pathOf: (id: string) => string; end: string },
  grants: GrantRow[],
  sites: SitesById,
) {
  const { t } = view;
  const here = withParameter(view.here, "done");
  return {
    label: list.label,
    head: [list.name, { label: t("Role"), phone: "top" as const }, t("Site"), list.cell, t("Last used"), t("Ends")],
    rows: grants.map(({ id, name, role, siteId, cell, lastUsedAt, expiresAt }) => [
      <span class="pair">
        <bdi class="clip">{name}</bdi>
        <code class="hint appid off-phone" title={id}>
          {id}
        </code>
      </span>,
      roleText(view, role),
      <SiteOf siteId={siteId} sites={sites} />,
      cell,
      <LastUse at={lastUsedAt} />,
      <End at={expiresAt} />,
    ]),
    actions: grants.map(({ id, name }) => (
      <RowMenu label={t("Actions for {0}", name)}>
        <AskLink href={withParameter(list.pathOf(id), "back", here)}>
          {list.end}…<span class="unseen"> {name}</span>
        </AskLink>
      </RowMenu>
    )),
    ids: grants.map(({ id }) => `row-${id}`),
  };
}

/** The facts of a grant, for a page about it. */
export const grantFacts = (
  view: View,
  { role, siteId, expiresAt }: Omit<Grant, "lastUsedAt">,
  sites: SitesById,
): FactRows => [
  [view.t("Role"), roleText(view, role)],
  [view.t("Site"), <SiteOf siteId={siteId} sites={sites} />],
  [view.t("Ends"), <End at={expiresAt} />],
];

/** The values of a form's fields of {@link grantFields}, as typed and as their schema takes them. */
export function readGrant({ role = "", site_id = "", expires_in_days = "" }: Record<string, string>) {
  return {
    typed: { role, site_id, expires_in_days },
    entered: { role, site_id: wholeNumber(site_id), expires_in_days: wholeNumber(expires_in_days) },
  };
}

/**
 * The fields of a form that say what a token or a person may do, where and how long.
 *
 * @param offered the sites to choose from by name; undefined when there are too many, then their id is typed
 */
export function grantFields(
  view: View,
  given: {
    roles: readonly Role[];
    role?: Role | undefined;
    offered: Site[] | undefined;
    days: string;
    siteHint: string;
  },
  filled: FilledForm | undefined,
): Fields {
  const { t } = view;
  const { roles, role = "viewer", offered, days, siteHint } = given;
  const typedSite = filled?.values.site_id ?? "";
  const names = offered?.map(({ name }) => name) ?? [];
  const isAlone = (name: string) => names.indexOf(name) === names.lastIndexOf(name);
  const options = offered?.map(({ id, name }): [string, string] => [
    String(id),
    isVisible(name) && isAlone(name) ? name : `${siteName(id, name)} · ${id}`,
  ]);
  // Otherwise a form that is shown again would say "all sites" where another site was chosen.
  const isGone = typedSite !== "" && options?.every(([id]) => id !== typedSite);
  return {
    role: {
      label: t("Role"),
      value: role,
      options: roles.map((each) => [each, roleText(view, each)]),
      hint: roles.map((each) => (
        <span class="line">
          {roleText(view, each)}: {roleMeans(view, each)}
        </span>
      )),
    },
    site_id: options
      ? {
          label: t("Site"),
          hint: siteHint,
          options: [
            ["", t("All sites")],
            ...(isGone ? [[typedSite, `(${typedSite})`] as [string, string]] : []),
            ...options,
          ],
        }
      : {
          label: t("Site"),
          hint: `${t("The id of one site: there are too many to choose from. Left empty: all sites.")} ${siteHint}`,
          inputmode: "numeric",
          maxlength: 16,
        },
    expires_in_days: {
      label: t("Days"),
      value: days,
      hint: t("After so many days it stops. Left empty: never."),
      inputmode: "numeric",
      maxlength: 4,
    },
  };
}

/** How long the page with a new token stays on the screen. */
const SHOWN_SECONDS = 600;

/** Shows a new token. It is shown only once. @param made `warning` says what whoever has it can do, `list` is the path of the page after it */
export function newTokenPage(
  c: PageContext,
  made: { title: string; warning: Child; facts: FactRows; token: string; list: string },
): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const { title, warning, facts, token, list } = made;
  // The browser opens the list after this time, so that the token does not stay on the screen.
  c.header("refresh", `${SHOWN_SECONDS}; url=${list}`);
  const body = (
    <>
      <NoticeBox kind="note" title={t("Copy the token now")}>
        <p>{t("It is shown on this page alone, and stored nowhere: only its hash is kept.")}</p>
        <p>{warning}</p>
      </NoticeBox>
      <section class="card">
        <Facts
          rows={[
            ...facts,
            [t("Token"), token, "token"],
            [t("Shown here until"), <TimeUntil at={view.now + SHOWN_SECONDS} />],
          ]}
        />
        <a class="button" href={list}>
          {t("I have saved it")}
        </a>
      </section>
    </>
  );
  return showPage(c, { title, section: "tokens", back: list, body });
}

/** Answers the button that ends a token or somebody's access, and leads to the list that the question came from. */
export async function endGrant(
  c: PageContext,
  grant: { list: string; end: () => Promise<void>; unknown: string; done: FormResult; before: FormResult },
): Promise<Response> {
  const form = await readForm(c);
  const back = consolePath(form.back, grant.list);
  return buttonAction(c, form, {
    draft: { path: c.req.path },
    list: back,
    work: async () => {
      try {
        await grant.end();
      } catch (error) {
        if (isRefusedFor(error, grant.unknown)) return doneLocation(c, back, grant.before);
        throw error;
      }
      return doneLocation(c, back, grant.done);
    },
  });
}
