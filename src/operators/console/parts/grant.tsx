import { isVisible } from "../../../core/fields.ts";
import type { Role } from "../../access/role.ts";
import type { AuditAction } from "../../services/audit.ts";
import type { Site } from "../../services/sites.ts";
import { wholeNumber } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { useView, type View } from "../view.ts";
import type { Fields } from "./form.tsx";
import { Badge, type Fact, NameLink, Time } from "./parts.tsx";

/** What the pages of tokens and those of people have in common: a role, perhaps one site, and an end. */

export const PEOPLE_PATH = "/console/people";
export const TOKENS_PATH = "/console/tokens";

/** What a token or a person may do, where and for how long. Times are Unix seconds. */
export interface Grant {
  role: Role;
  siteId: number | null;
  expiresAt: number | null;
  lastUsedAt: number | null;
}

export type SitesById = ReadonlyMap<number, Pick<Site, "name">>;

const siteName = (id: number, name = ""): string => (isVisible(name) ? name : `(${id})`);

export function SiteOf({ siteId, sites }: { siteId: number | null; sites: SitesById }) {
  if (siteId === null) return <>{useView().t("all")}</>;
  return <NameLink href={`/console/sites/${siteId}`} name={siteName(siteId, sites.get(siteId)?.name)} />;
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
      <Time at={at} />
      <Badge kind="off" label={t("Expired")} />
    </span>
  );
}

/** The facts of a grant, for a page about it. */
export const grantFacts = (
  view: View,
  { role, siteId, expiresAt }: Omit<Grant, "lastUsedAt">,
  sites: SitesById,
): Fact[] => [
  [view.t("Role"), roleText(view, role)],
  [view.t("Site"), <SiteOf siteId={siteId} sites={sites} />],
  [view.t("Ends"), <End at={expiresAt} />],
];

/** The values of a form's fields of {@link grantFields}, as their schema takes them. */
export const readGrant = ({ role = "", site_id = "", expires_in_days = "" }: Record<string, string>) => ({
  role,
  site_id: wholeNumber(site_id),
  expires_in_days: wholeNumber(expires_in_days),
});

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
      hint: roles.map((each) => <span class="line">{t("{0}: {1}", roleText(view, each), roleMeans(view, each))}</span>),
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

/** A role in one word. */
export function roleText({ t }: Pick<View, "t">, role: Role): string {
  const texts: Record<Role, string> = {
    metrics: t("metrics"),
    viewer: t("viewer"),
    operator: t("operator"),
    owner: t("owner"),
  };
  return texts[role];
}

/** What only an owner may do, each with its rows in the audit log. A test compares these rows with those of the owners' calls. */
export const ownerActs = ({ t }: Pick<View, "t">): [text: string, ...actions: AuditAction[]][] => [
  [t("export a customer's data"), "customer.exported"],
  [t("erase a customer's data"), "customer.erasure_begun", "customer.erased"],
  [t("say how long sessions are kept"), "site.retention_set"],
  [t("set the next chat_id"), "site.first_chat_id_set"],
  [t("export a site"), "site.exported"],
  [t("delete a site"), "site.deletion_begun"],
  [t("make and delete tokens"), "token.created", "token.deleted"],
  [t("let people in and end their access"), "person.added", "person.ended", "operator.session_ended"],
  [t("settle restored homes"), "home.restored"],
  [t("re-seal secrets"), "secrets.resealed"],
  [t("end other people's console sessions"), "operator.session_ended"],
];

/** What a role may do. docs/operating/people.md has the same words, which a test compares. */
export function roleMeans({ t }: Pick<View, "t">, role: Role): string {
  const texts: Record<Role, string> = {
    metrics: t("read the metrics of the deployment, and nothing else: for a scraper such as Prometheus"),
    viewer: t("see everything but secrets and the paths of webhooks' URLs"),
    operator: t("also see these paths, change sites, apps, agents and webhooks, and send events again"),
    owner: t(
      "also {0}",
      ownerActs({ t })
        .map(([text]) => text)
        .join(t(", ")),
    ),
  };
  return texts[role];
}
