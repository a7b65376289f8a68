import type { Role } from "../../../access/role.ts";
import type { View } from "../view.ts";

/** A role in one word. */
export function roleText({ t }: View, role: Role): string {
  const texts: Record<Role, string> = { viewer: t("viewer"), operator: t("operator"), owner: t("owner") };
  return texts[role];
}

/** What a role may do. */
export function roleMeans({ t }: View, role: Role): string {
  const texts: Record<Role, string> = {
    viewer: t("Sees everything except secrets, and changes nothing."),
    operator: t("Sees everything, changes sites, apps, agents and webhooks, and sends events again."),
    owner: t(
      "Does what an operator does, and also makes and deletes tokens, ends the sessions of others and settles restored homes.",
    ),
  };
  return texts[role];
}
