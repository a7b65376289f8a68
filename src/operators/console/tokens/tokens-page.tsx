import { ROLES } from "../../access/role.ts";
import { offeredSites, sitesOf } from "../../services/site-names.ts";
import { createToken, deleteToken, findToken, listTokens, newTokenSchema, type Token } from "../../services/tokens.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { grantFields, readGrant, type SitesById, TOKENS_PATH } from "../parts/grant.tsx";
import { endGrant, endGrantPage, grantPage, grantTable, newTokenPage } from "../parts/grant-page.tsx";
import type { Column } from "../parts/list.tsx";
import { Ago, Time } from "../parts/parts.tsx";
import { visibleName } from "../parts/unseen.tsx";
import type { View } from "../view.ts";

/** Answers the form that makes a token with the page that shows it. No later page can show it, because only its hash is stored. */
export async function postTokens(c: PageContext): Promise<Response> {
  const { ctx, view, t, form } = c.var;
  return formAction(c, {
    entered: enteredFields(view, newTokenSchema.safeParse({ name: form.name ?? "", ...readGrant(form) })),
    page: (filledForm) => tokensPage(c, filledForm),
    work: async ({ site_id: siteId, expires_in_days: expiresInDays, ...rest }) => {
      const made = await createToken(ctx, { ...rest, siteId, expiresInDays });
      const page = await newTokenPage(c, TOKENS_PATH, made, {
        title: t("The token was made"),
        warning: t("Whoever has it can do what its role may: keep it out of code, chats and tickets."),
      });
      return { page, again: await doneLocation(c, TOKENS_PATH, "token_not_shown") };
    },
  });
}

export async function tokensPage(c: PageContext, filledForm?: FilledForm): Promise<Response> {
  const { ctx, view, t } = c.var;
  const tokens = await listTokens(ctx, { cursor: c.req.query("cursor"), limit: 50 });
  const [offered, sites] = await Promise.all([offeredSites(ctx), sitesOf(ctx, tokens.items)]);
  const role = ROLES.find((each) => each === c.req.query("role"));
  const siteHint = t("A token with the role metrics or owner is for all sites.");
  const fields = {
    name: { label: t("Name"), hint: t("What will use it: “Nightly export”, say."), required: true, maxlength: 100 },
    ...grantFields(view, { roles: ROLES, role, offered, days: "90", siteHint }, filledForm),
  };
  const isOpen = role !== undefined || tokens.items.length === 0;
  return grantPage(c, {
    title: t("Tokens for programs"),
    path: TOKENS_PATH,
    note: (
      <>
        {t("A token lets a program call the admin API. It has a role, and opens one site or all of them.")}{" "}
        {t("For a program or a script, make a token with the role viewer:")}{" "}
        <a href={`${TOKENS_PATH}?role=viewer#make`}>{t("Make a token")}</a>
        <br />
        {t("For a scraper of the metrics, one with the role metrics:")}{" "}
        <a href={`${TOKENS_PATH}?role=metrics#make`}>{t("Make a token")}</a>
      </>
    ),
    add: { label: t("Make a token"), button: t("Make the token"), fields, isOpen },
    filled: filledForm,
    table: tokenTable(view, tokens.items, sites),
    empty: t("No tokens yet."),
    cursor: tokens.nextCursor,
  });
}

/** A table of tokens. @param sites those that tokens name */
export function tokenTable(view: View, tokens: Token[], sites: SitesById) {
  const { t } = view;
  const pathOf = (id: string) => `${TOKENS_PATH}/${id}/delete`;
  const made: Column = { label: t("Made"), phone: "hide" };
  const rows = tokens.map((token) => ({ ...token, name: visibleName(token), cell: <Ago at={token.createdAt} /> }));
  return grantTable(view, { label: t("Tokens"), name: t("Name"), cell: made, pathOf, end: t("Delete") }, rows, sites);
}

const idOf = (c: PageContext) => c.req.param("token_id") ?? "";

export async function deleteTokenPage(c: PageContext): Promise<Response> {
  const { t } = c.var;
  const token = await findToken(c.var.ctx, { id: idOf(c) });
  return endGrantPage(c, TOKENS_PATH, token, {
    title: t("Delete this token?"),
    text: t("From the next call on it opens nothing: programs that use it are answered 401. It cannot be undone."),
    name: [t("Name"), <bdi>{visibleName(token)}</bdi>],
    facts: [[t("Made"), <Time at={token.createdAt} />]],
    button: t("Delete"),
  });
}

export const postDeleteToken = (c: PageContext): Promise<Response> =>
  endGrant(c, TOKENS_PATH, {
    end: () => deleteToken(c.var.ctx, { id: idOf(c) }),
    unknown: "token_unknown",
    done: "token_deleted",
    before: "token_deleted_before",
  });
