import { isRefusedFor } from "../../../core/errors.ts";
import { deleteToken, findToken } from "../../services/tokens.ts";
import { consolePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Ask } from "../parts/ask.tsx";
import { Time } from "../parts/parts.tsx";
import { roleText } from "../parts/role-texts.ts";
import { ExpiryOf, LastUseOf, nameOf, SiteOf, TOKENS_PATH } from "./token-table.tsx";

const idOf = (c: PageContext) => c.req.param("token_id") ?? "";

export async function deleteTokenPage(c: PageContext): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const token = await findToken(ctx, { id: idOf(c) });
  const back = consolePath(c.req.query("back"), TOKENS_PATH);
  const body = (
    <Ask
      text={t("From the next call on it opens nothing: programs that use it are answered 401. It cannot be undone.")}
      facts={
        <>
          <dt>{t("Name")}</dt>
          <dd>
            <bdi>{nameOf(token)}</bdi>
          </dd>
          <dt>ID</dt>
          <dd>
            <code>{token.id}</code>
          </dd>
          <dt>{t("Role")}</dt>
          <dd>{roleText(view, token.role)}</dd>
          <dt>{t("Site")}</dt>
          <dd>
            <SiteOf view={view} token={token} />
          </dd>
          <dt>{t("Made")}</dt>
          <dd>
            <Time at={token.createdAt} />
          </dd>
          <dt>{t("Last used")}</dt>
          <dd>
            <LastUseOf view={view} token={token} />
          </dd>
          <dt>{t("Expires")}</dt>
          <dd>
            <ExpiryOf view={view} token={token} />
          </dd>
        </>
      }
      action={`${TOKENS_PATH}/${token.id}/delete`}
      hidden={{ back }}
      button={t("Delete")}
      keep={t("Keep it")}
      back={back}
    />
  );
  return showPage(c, { title: t("Delete this token?"), section: "tokens", body });
}

export async function postDeleteToken(c: PageContext): Promise<Response> {
  const form = await readForm(c);
  const id = idOf(c);
  const back = consolePath(form.back, TOKENS_PATH);
  return buttonAction(c, form, {
    draft: { path: `${TOKENS_PATH}/${id}/delete` },
    list: back,
    work: async () => {
      try {
        await deleteToken(c.var.ctx, { id });
      } catch (error) {
        if (isRefusedFor(error, "token_unknown")) return doneLocation(c, back, "token_deleted_before");
        throw error;
      }
      return doneLocation(c, back, "token_deleted");
    },
  });
}
