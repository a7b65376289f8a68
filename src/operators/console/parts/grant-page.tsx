import type { Child } from "hono/jsx";
import { unlessRefusedFor } from "../../../core/errors.ts";
import { sitesOf } from "../../services/site-names.ts";
import { consolePath, withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm, type FormResult } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import type { View } from "../view.ts";
import { askPage } from "./ask.tsx";
import { AskLink, type Fields, FieldsForm, Fold, FormErrors } from "./form.tsx";
import {
  End,
  type Grant,
  grantFacts,
  LastUse,
  PEOPLE_PATH,
  roleText,
  SiteOf,
  type SitesById,
  TOKENS_PATH,
} from "./grant.tsx";
import { type Column, List } from "./list.tsx";
import { ButtonLink, Card, type Fact, NoticeBox, RowMenu, TimeUntil } from "./parts.tsx";

/** The pages of people and of tokens: a form that makes one, a list that ends them, the page of a new token, and the question before an end. */

/** A row of a list of tokens or of people. `cell` is a cell that only one of the two lists has. */
interface GrantRow extends Grant {
  id: string;
  name: string;
  cell: Child;
}

/**
 * A table of tokens or of people, each with a link to the page that ends it. That page leads back to the table.
 *
 * @param kind `name` is the label of the first column; `end` is the text of the link, whose path `pathOf` gives
 */
export function grantTable(
  view: View,
  kind: { label: string; name: string; cell: Column; pathOf: (id: string) => string; end: string },
  grants: GrantRow[],
  sites: SitesById,
) {
  const { t } = view;
  const back = withParameter(view.here, "done");
  const role: Column = { label: t("Role"), phone: "top" };
  const lastUsed: Column = { label: t("Last used"), phone: "hide" };
  const ends: Column = { label: t("Ends"), named: true };
  return {
    label: kind.label,
    head: [kind.name, role, t("Site"), kind.cell, lastUsed, ends],
    rows: grants.map(({ id, name, role, siteId, cell, lastUsedAt, expiresAt }): Child[] => [
      <span class="pair">
        <bdi class="clip">{name}</bdi>
        <code class="hint appid off-phone" title={id}>
          {id}
        </code>
      </span>,
      roleText(view, role),
      <SiteOf siteId={siteId} sites={sites} />,
      cell,
      <LastUse at={lastUsedAt} />,
      <End at={expiresAt} />,
    ]),
    actions: grants.map(({ id, name }) => (
      <RowMenu label={t("Actions for {0}", name)}>
        <AskLink href={withParameter(kind.pathOf(id), "back", back)}>
          {kind.end}…<span class="unseen"> {name}</span>
        </AskLink>
      </RowMenu>
    )),
    ids: grants.map(({ id }) => `row-${id}`),
  };
}

/** Shows the list of people or of tokens, with the form that makes one. @param shown `note` stands above the form */
export function grantPage(
  c: PageContext,
  shown: {
    title: string;
    path: string;
    note: Child;
    add: { label: string; button: string; fields: Fields; isOpen: boolean };
    filled: FilledForm | undefined;
    table: ReturnType<typeof grantTable>;
    empty: Child;
    cursor: string | null;
  },
): Promise<Response> {
  const { t } = c.var;
  const { title, path, note, add, filled, table, ...list } = shown;
  const { label, button, fields, isOpen } = add;
  const form = (
    <Fold action={path} label={label} open={filled !== undefined || isOpen}>
      <section class="card" id="make">
        <FieldsForm action={path} fields={fields} filled={filled} button={button} />
      </section>
    </Fold>
  );
  const tabs = [
    [PEOPLE_PATH, t("People")],
    [TOKENS_PATH, t("Tokens for programs")],
  ];
  const body = (
    <>
      <nav class="tabs" aria-label={t("People and tokens")}>
        {tabs.map(([href, text]) => (
          <a href={href} aria-current={href === path ? "page" : undefined}>
            {text}
          </a>
        ))}
      </nav>
      <FormErrors filled={filled} fields={fields} />
      <p class="hint">{note}</p>
      <List path={path} add={form} {...table} {...list} />
    </>
  );
  return showPage(c, { title, section: "tokens", back: path, body, filled: filled && { ...filled, path } });
}

/** How long the page with a new token stays on the screen. */
const SHOWN_SECONDS = 600;

/**
 * Shows a new token of a program or of a person. It is shown only once.
 *
 * @param list the path of the page after it
 * @param texts `warning` says what whoever has the token can do
 */
export async function newTokenPage(
  c: PageContext,
  list: string,
  grant: Grant & { name: string | null; token: string },
  texts: { title: string; warning: string },
): Promise<Response> {
  const { ctx, view, t } = c.var;
  // The browser opens the list after this time, so that the token does not stay on the screen.
  c.header("refresh", `${SHOWN_SECONDS}; url=${list}`);
  const body = (
    <>
      <NoticeBox kind="note" title={t("Copy the token now")}>
        <p>{t("It is shown on this page alone, and stored nowhere: only its hash is kept.")}</p>
        <p>{texts.warning}</p>
      </NoticeBox>
      <Card
        facts={[
          [t("Name"), <bdi>{grant.name}</bdi>],
          ...grantFacts(view, grant, await sitesOf(ctx, [grant])),
          [t("Token"), grant.token, "token"],
          [t("Shown here until"), <TimeUntil at={view.now + SHOWN_SECONDS} />],
        ]}
      >
        <ButtonLink href={list} label={t("I have saved it")} />
      </Card>
    </>
  );
  return showPage(c, { title: texts.title, section: "tokens", back: list, body });
}

/** Asks before a token or somebody's access is ended. @param list the path of the list, unless the address names another page */
export async function endGrantPage(
  c: PageContext,
  list: string,
  grant: Grant & { id: string },
  { facts, ...texts }: { title: string; text: Child; name: Fact; facts: Fact[]; button: string },
): Promise<Response> {
  const { ctx, view, t } = c.var;
  const { name, ...question } = texts;
  const back = consolePath(c.req.query("back"), list);
  const lastUse: Fact = [t("Last used"), <LastUse at={grant.lastUsedAt} />];
  const grantRows = grantFacts(view, grant, await sitesOf(ctx, [grant]));
  return askPage(c, {
    ...question,
    section: "tokens",
    facts: [name, ["ID", <code>{grant.id}</code>], ...facts, lastUse, ...grantRows],
    hidden: { back },
    back,
  });
}

/** Answers the button that ends a token or somebody's access, and leads to the list that the question came from. */
export async function endGrant(
  c: PageContext,
  list: string,
  { end, unknown, done, before }: { end: () => Promise<void>; unknown: string; done: FormResult; before: FormResult },
): Promise<Response> {
  const back = consolePath(c.var.form.back, list);
  return buttonAction(c, {
    list: back,
    work: async () => {
      const ended = end().then(() => true);
      return doneLocation(c, back, (await ended.catch(unlessRefusedFor(unknown))) ? done : before);
    },
  });
}
