import { ROLES } from "../../access/role.ts";
import { offeredSites, sitesOf } from "../../services/site-names.ts";
import { createToken, listTokens, newTokenSchema } from "../../services/tokens.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { grantFacts, grantFields, newTokenPage, readGrant, TOKENS_PATH } from "../parts/grant.tsx";
import { grantPage } from "../parts/grant-page.tsx";
import { tokenRows } from "./token-rows.tsx";

const DEFAULT_DAYS = "90";

/** Answers the form that makes a token with the page that shows it. No later page can show it, because only its hash is stored. */
export async function postTokens(c: PageContext): Promise<Response> {
  const { ctx, view, t } = c.var;
  const form = await readForm(c);
  const { name = "" } = form;
  const { typed, entered } = readGrant(form);
  return formAction(c, form, {
    values: { name, ...typed },
    entered: enteredFields(view, newTokenSchema.safeParse({ name, ...entered })),
    page: (filledForm) => tokensPage(c, filledForm),
    list: TOKENS_PATH,
    work: async ({ site_id: siteId, expires_in_days: expiresInDays, ...rest }) => {
      const made = await createToken(ctx, { ...rest, siteId, expiresInDays });
      const page = await newTokenPage(c, {
        title: t("The token was made"),
        warning: t("Whoever has it can do what its role may: keep it out of code, chats and tickets."),
        facts: [[t("Name"), <bdi>{made.name}</bdi>], ...grantFacts(view, made, await sitesOf(ctx, [made]))],
        token: made.token,
        list: TOKENS_PATH,
      });
      return { page, again: await doneLocation(c, TOKENS_PATH, "token_not_shown") };
    },
  });
}

export async function tokensPage(c: PageContext, filledForm?: FilledForm): Promise<Response> {
  const { ctx, view, t } = c.var;
  const tokens = await listTokens(ctx, { cursor: c.req.query("cursor"), limit: 50 });
  const [offered, sites] = await Promise.all([offeredSites(ctx), sitesOf(ctx, tokens.items)]);
  const askedRole = ROLES.find((role) => role === c.req.query("role"));
  const siteHint = t("A token with the role metrics or owner is for all sites.");
  const fields = {
    name: { label: t("Name"), hint: t("What will use it: “Nightly export”, say."), required: true, maxlength: 100 },
    ...grantFields(view, { roles: ROLES, role: askedRole, offered, days: DEFAULT_DAYS, siteHint }, filledForm),
  };
  return grantPage(c, {
    title: t("Tokens for programs"),
    path: TOKENS_PATH,
    note: (
      <>
        {t("A token lets a program call the admin API. It has a role, and opens one site or all of them.")}{" "}
        {t("For a program or a script, make a token with the role viewer:")}{" "}
        <a href={`${TOKENS_PATH}?role=viewer#make`}>{t("Make a token")}</a>{" "}
        {t("For a scraper of the metrics, one with the role metrics:")}{" "}
        <a href={`${TOKENS_PATH}?role=metrics#make`}>{t("Make a token")}</a>
      </>
    ),
    add: {
      label: t("Make a token"),
      button: t("Make the token"),
      fields,
      isOpen: askedRole !== undefined || tokens.items.length === 0,
    },
    filled: filledForm,
    table: tokenRows(view, tokens.items, sites),
    empty: t("No tokens yet."),
    cursor: tokens.nextCursor,
  });
}
