import { ROLES } from "../../access/role.ts";
import { createToken, listTokens, newTokenSchema } from "../../services/tokens.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Field, Fold, Form, FormErrors } from "../parts/form.tsx";
import { roleMeans, roleText } from "../parts/role-texts.ts";
import { MoreLink } from "../parts/table.tsx";
import { createdTokenPage } from "./made-token.tsx";
import { PeopleCard } from "./people-card.tsx";
import { TOKENS_PATH, TokenTable } from "./token-table.tsx";

const DEFAULT_DAYS = "90";

/** Answers the form that makes a token with the page that shows it. No later page can show it, because only its hash is stored. */
export async function postTokens(c: PageContext): Promise<Response> {
  const form = await readForm(c);
  const { name = "", role = "", site_id = "", expires_in_days = "" } = form;
  const numbers = { site_id: wholeNumber(site_id), expires_in_days: wholeNumber(expires_in_days) };
  return formAction(c, form, {
    values: { name, role, site_id, expires_in_days },
    entered: enteredFields(c.var.view, newTokenSchema.safeParse({ name, role, ...numbers })),
    page: (filledForm) => tokensPage(c, filledForm),
    list: TOKENS_PATH,
    work: async ({ site_id: siteId, expires_in_days: expiresInDays, ...rest }) => {
      const made = await createToken(c.var.ctx, { ...rest, siteId, expiresInDays });
      return { page: await createdTokenPage(c, made), again: await doneLocation(c, TOKENS_PATH, "token_not_shown") };
    },
  });
}

export async function tokensPage(c: PageContext, filledForm?: FilledForm): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const tokens = await listTokens(ctx, { cursor: c.req.query("cursor"), limit: 50 });
  const { values = {}, errors = {} } = filledForm ?? {};
  const askedRole = ROLES.find((role) => role === c.req.query("role"));
  const labels = { name: t("Name"), role: t("Role"), site_id: t("Site"), expires_in_days: t("Days") };
  const body = (
    <>
      <p class="lead">
        <a href="#people">{t("Let a colleague look and nothing else")}</a>
      </p>
      <FormErrors filled={filledForm} fields={labels} />
      <section class="part">
        <h2>{t("Tokens for programs")}</h2>
        <p class="hint">
          {t("A token lets a program call the admin API. It has a role, and opens one site or all of them.")}
        </p>
        <Fold
          action={TOKENS_PATH}
          label={t("Make a token")}
          open={filledForm !== undefined || askedRole !== undefined || tokens.items.length === 0}
        >
          <section class="card" id="make">
            <Form action={TOKENS_PATH}>
              <Field
                label={labels.name}
                name="name"
                value={values.name}
                error={errors.name}
                hint={t("What will use it: “Nightly export”, say.")}
                required
                maxlength={100}
              />
              <Field
                label={labels.role}
                name="role"
                value={values.role ?? askedRole ?? "viewer"}
                error={errors.role}
                options={ROLES.map((role) => [role, roleText(view, role)])}
                hint={ROLES.map((role) => (
                  <span class="line">
                    {roleText(view, role)}: {roleMeans(view, role)}
                  </span>
                ))}
              />
              <Field
                label={labels.site_id}
                name="site_id"
                value={values.site_id}
                error={errors.site_id}
                hint={t(
                  "The ID of the one site that it opens. Left empty: all sites. A token with the role metrics or owner is for all.",
                )}
                inputmode="numeric"
                maxlength={16}
              />
              <Field
                label={labels.expires_in_days}
                name="expires_in_days"
                value={values.expires_in_days ?? DEFAULT_DAYS}
                error={errors.expires_in_days}
                hint={t("After so many days it stops. Left empty: never.")}
                inputmode="numeric"
                maxlength={4}
              />
              <button type="submit">{t("Make the token")}</button>
            </Form>
          </section>
        </Fold>
        <TokenTable view={view} tokens={tokens.items} empty={t("No tokens yet.")} />
        <MoreLink path={TOKENS_PATH} cursor={tokens.nextCursor} />
      </section>
      <PeopleCard view={view} config={ctx.config} origin={new URL(c.req.url).origin} />
    </>
  );
  const page = { title: t("People and tokens"), section: "tokens" as const, back: TOKENS_PATH, body };
  return showPage(c, { ...page, filled: filledForm });
}
