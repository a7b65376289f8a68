import { pathId } from "../../http/path-id.ts";
import { agentChangeSchema, changeAgent, findAgent } from "../../services/agents.ts";
import { agentUnknown } from "../../services/refusals.ts";
import type { Site } from "../../services/sites.ts";
import { consolePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Field, Form, FormErrors } from "../parts/form.tsx";
import { rowId } from "./agent-table.tsx";

/** Answers the form that renames an agent, and the menus of the list that disable or enable an agent. */
export async function postAgent(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  const { name, status } = form;
  const id = pathId(c, "id", agentUnknown);
  const list = consolePath(form.back, `/console/sites/${site.id}/agents`);
  const row = { path: list, id: rowId(id) };
  return formAction(c, form, {
    values: { name: name ?? "", back: list },
    entered: enteredFields(c.var.view, agentChangeSchema.safeParse({ name, status })),
    page: (filledForm) => agentPage(c, site, filledForm),
    draft: name === undefined ? row : undefined,
    list,
    work: async (change) => {
      await changeAgent(c.var.ctx, { site, id, change });
      return doneLocation(c, list, change.status ?? "renamed", row.id);
    },
  });
}

export async function agentPage(c: PageContext, site: Site, filledForm?: FilledForm): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const id = pathId(c, "id", agentUnknown);
  const agent = await findAgent(c.var.ctx, { site, id });
  const path = `/console/sites/${site.id}/agents/${id}`;
  const list = consolePath(filledForm?.values.back ?? c.req.query("back"), `/console/sites/${site.id}/agents`);
  const body = (
    <>
      <FormErrors filled={filledForm} fields={{ name: t("Name") }} />
      <section class="card">
        <Form action={path}>
          <input type="hidden" name="back" value={list} />
          <Field
            label={t("Name")}
            name="name"
            value={filledForm?.values.name ?? agent.name}
            error={filledForm?.errors.name ?? filledForm?.errors.status ?? filledForm?.errors[""]}
            required
            maxlength={100}
          />
          <div class="buttons">
            <button type="submit">{t("Rename")}</button>
            <a class="button plain" href={list}>
              {t("Cancel")}
            </a>
          </div>
        </Form>
      </section>
    </>
  );
  const page = { title: t("Rename agent {0}", id), site: { ...site, tab: "agents" as const }, back: path, body };
  return showPage(c, { ...page, filled: filledForm });
}
