import { isVisible } from "../../../core/fields.ts";
import type { Site } from "../../services/sites.ts";
import type { Token } from "../../services/tokens.ts";
import { withParameter } from "../console-path.ts";
import { AskLink } from "../parts/form.tsx";
import { End, LastUse, SiteOf, TOKENS_PATH } from "../parts/grant.tsx";
import { Ago } from "../parts/parts.tsx";
import { roleText } from "../parts/role-texts.ts";
import { RowMenu } from "../parts/row-menu.tsx";
import type { View } from "../view.ts";

export const nameOf = ({ name, id }: Pick<Token, "name" | "id">): string => (isVisible(name) ? name : `(${id})`);

/** The rows of a list of tokens, each with a link to the page that deletes it. That page leads back to the list. */
export function tokenRows(view: View, tokens: Token[], sites: ReadonlyMap<number, Site>) {
  const { t } = view;
  const here = withParameter(view.here, "done");
  return {
    label: t("Tokens"),
    head: [
      t("Name"),
      { label: t("Role"), phone: "top" as const },
      t("Site"),
      { label: t("Made"), phone: "hide" as const },
      t("Last used"),
      t("Ends"),
    ],
    rows: tokens.map((token) => [
      <span class="pair">
        <bdi class="clip">{nameOf(token)}</bdi>
        <code class="hint appid" title={token.id}>
          {token.id}
        </code>
      </span>,
      roleText(view, token.role),
      <SiteOf siteId={token.siteId} sites={sites} />,
      <Ago at={token.createdAt} />,
      <LastUse at={token.lastUsedAt} />,
      <End at={token.expiresAt} />,
    ]),
    actions: tokens.map((token) => (
      <RowMenu label={t("Actions for {0}", nameOf(token))}>
        <AskLink href={withParameter(`${TOKENS_PATH}/${token.id}/delete`, "back", here)}>
          {t("Delete")}…<span class="unseen"> {nameOf(token)}</span>
        </AskLink>
      </RowMenu>
    )),
  };
}
