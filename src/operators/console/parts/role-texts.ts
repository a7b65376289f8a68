import type { Role } from "../../access/role.ts";
import type { AuditAction } from "../../services/audit.ts";
import type { View } from "../view.ts";

type Translator = Pick<View, "t">;

/** A role in one word. */
export function roleText({ t }: Translator, role: Role): string {
  const texts: Record<Role, string> = {
    metrics: t("metrics"),
    viewer: t("viewer"),
    operator: t("operator"),
    owner: t("owner"),
  };
  return texts[role];
}

/** What only an owner may do, each with its rows in the audit log. A test compares these rows with those of the owners' calls. */
export const ownerActs = ({ t }: Translator): [text: string, ...actions: AuditAction[]][] => [
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

/** What a role may do. docs/operating.md has the same words, which a test compares. */
export function roleMeans({ t }: Translator, role: Role): string {
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
