import type { Child } from "hono/jsx";
import { isRefusedFor } from "../../../core/errors.ts";
import { consolePath, withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm, type FormResult } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { useView, type View } from "../view.ts";
import { AskLink, type Fields, FieldsForm, Fold, FormErrors } from "./form.tsx";
import { End, type Grant, LastUse, PEOPLE_PATH, SiteOf, type SitesById, TOKENS_PATH } from "./grant.tsx";
import { List } from "./list.tsx";
import { roleText } from "./role-texts.ts";
import { RowMenu } from "./row-menu.tsx";
import type { Column } from "./table.tsx";

/** The pages of people and of tokens: a form that makes one, and a list that ends them. */

/** Links between the page of people and that of tokens. */
function GrantTabs({ here }: { here: string }) {
  const { t } = useView();
  return (
    <nav class="tabs" aria-label={t("People and tokens")}>
      {[
        [PEOPLE_PATH, t("People")],
        [TOKENS_PATH, t("Tokens for programs")],
      ].map(([href, label]) => (
        <a href={href} aria-current={href === here ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}

/** A row of a list of tokens or of people. `cell` is a cell that only one of the two lists has. */
interface GrantRow extends Grant {
  id: string;
  name: string;
  cell: Child;
}

/**
 * The rows of a list of tokens or of people, each with a link to the page that ends it. That page leads back to the list.
 *
 * @param list `name` is the label of the first column, `pathOf` gives the path of the page that ends a row, `end` is the text of the link
 */
export function grantRows(
  view: View,
  list: { label: string; name: string; cell: Column; pathOf: (id: string) => string; end: string },
  grants: GrantRow[],
  sites: SitesById,
) {
  const { t } = view;
  const here = withParameter(view.here, "done");
  return {
    label: list.label,
    head: [list.name, { label: t("Role"), phone: "top" as const }, t("Site"), list.cell, t("Last used"), t("Ends")],
    rows: grants.map(({ id, name, role, siteId, cell, lastUsedAt, expiresAt }) => [
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
        <AskLink href={withParameter(list.pathOf(id), "back", here)}>
          {list.end}…<span class="unseen"> {name}</span>
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
    table: ReturnType<typeof grantRows>;
    empty: Child;
    cursor: string | null;
  },
): Promise<Response> {
  const { title, path, note, add, filled, table, empty, cursor } = shown;
  const { label, button, fields, isOpen } = add;
  const form = (
    <Fold action={path} label={label} open={filled !== undefined || isOpen}>
      <section class="card" id="make">
        <FieldsForm action={path} fields={fields} filled={filled} button={button} />
      </section>
    </Fold>
  );
  const body = (
    <>
      <GrantTabs here={path} />
      <FormErrors filled={filled} fields={fields} />
      <p class="hint">{note}</p>
      <List path={path} add={form} {...table} empty={empty} cursor={cursor} />
    </>
  );
  return showPage(c, { title, section: "tokens", back: path, body, filled: filled && { ...filled, path } });
}

/** Answers the button that ends a token or somebody's access, and leads to the list that the question came from. */
export async function endGrant(
  c: PageContext,
  grant: { list: string; end: () => Promise<void>; unknown: string; done: FormResult; before: FormResult },
): Promise<Response> {
  const form = await readForm(c);
  const back = consolePath(form.back, grant.list);
  return buttonAction(c, form, {
    draft: { path: c.req.path },
    list: back,
    work: async () => {
      try {
        await grant.end();
      } catch (error) {
        if (isRefusedFor(error, grant.unknown)) return doneLocation(c, back, grant.before);
        throw error;
      }
      return doneLocation(c, back, grant.done);
    },
  });
}
