import { sitesOf } from "../../services/site-names.ts";
import { deleteToken, findToken } from "../../services/tokens.ts";
import { consolePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { askPage } from "../parts/ask.tsx";
import { grantFacts, LastUse, TOKENS_PATH } from "../parts/grant.tsx";
import { endGrant } from "../parts/grant-page.tsx";
import { Time } from "../parts/parts.tsx";
import { nameOf } from "./token-rows.tsx";

const idOf = (c: PageContext) => c.req.param("token_id") ?? "";

export async function deleteTokenPage(c: PageContext): Promise<Response> {
  const { ctx, view, t } = c.var;
  const token = await findToken(ctx, { id: idOf(c) });
  const back = consolePath(c.req.query("back"), TOKENS_PATH);
  return askPage(c, {
    title: t("Delete this token?"),
    section: "tokens",
    text: t("From the next call on it opens nothing: programs that use it are answered 401. It cannot be undone."),
    facts: [
      [t("Name"), <bdi>{nameOf(token)}</bdi>],
      ["ID", <code>{token.id}</code>],
      [t("Made"), <Time at={token.createdAt} />],
      [t("Last used"), <LastUse at={token.lastUsedAt} />],
      ...grantFacts(view, token, await sitesOf(ctx, [token])),
    ],
    hidden: { back },
    button: t("Delete"),
    keep: t("Keep it"),
    back,
  });
}

export const postDeleteToken = (c: PageContext): Promise<Response> =>
  endGrant(c, {
    list: TOKENS_PATH,
    end: () => deleteToken(c.var.ctx, { id: idOf(c) }),
    unknown: "token_unknown",
    done: "token_deleted",
    before: "token_deleted_before",
  });
