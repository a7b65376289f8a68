import { isVisible } from "../../../core/fields.ts";
import type { Site } from "../../services/sites.ts";
import type { Token } from "../../services/tokens.ts";
import { TOKENS_PATH } from "../parts/grant.tsx";
import { grantRows } from "../parts/grant-page.tsx";
import { Ago } from "../parts/parts.tsx";
import type { View } from "../view.ts";

export const nameOf = ({ name, id }: Pick<Token, "name" | "id">): string => (isVisible(name) ? name : `(${id})`);

/** The rows of a list of tokens. */
export function tokenRows(view: View, tokens: Token[], sites: ReadonlyMap<number, Site>) {
  const { t } = view;
  const list = {
    label: t("Tokens"),
    name: t("Name"),
    cell: { label: t("Made"), phone: "hide" as const },
    pathOf: (id: string) => `${TOKENS_PATH}/${id}/delete`,
    end: t("Delete"),
  };
  const rows = tokens.map((token) => ({ ...token, name: nameOf(token), cell: <Ago at={token.createdAt} /> }));
  return grantRows(view, list, rows, sites);
}
