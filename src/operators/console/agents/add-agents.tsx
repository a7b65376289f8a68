import { type AgentList, MOST_LISTED_AGENTS } from "../../services/agent-list.ts";
import type { FilledForm } from "../forms/messages.ts";
import { Field, Form, FormErrors } from "../parts/form.tsx";
import type { View } from "../view.ts";
import { BadLines } from "./bad-lines.tsx";

/** A form that is shown again holds up to this many characters of the refused list. */
export const KEPT_LIST_LENGTH = 120_000;

/** The height of the list's field in lines: at first, and when the list is shown again. */
const ROWS = { first: 6, again: 16 };

interface ShownForm {
  view: View;
  path: string;
  filled: FilledForm | undefined;
  /** The pasted list, when it is shown again because some of its lines are wrong. */
  list: AgentList | undefined;
}

/** The two forms that add agents. After a list with wrong lines, only the form that corrects them is shown. */
export function AddAgents({ view, path, filled, list }: ShownForm) {
  const { t } = view;
  const isList = filled?.values.lines !== undefined;
  return (
    <>
      <FormErrors filled={filled} fields={{ name: t("Name"), id: "ID", lines: t("Add many") }} />
      <div class={isList ? "part" : "two"}>
        {!isList && <AddAgentForm view={view} path={path} filled={filled} />}
        <section class="card">
          <h2>{t("Add many")}</h2>
          {list !== undefined && list.bad.length > 0 ? (
            <CorrectListForm view={view} path={path} filled={filled} list={list} />
          ) : (
            <PasteListForm view={view} path={path} filled={filled} />
          )}
        </section>
      </div>
    </>
  );
}

function AddAgentForm({ view, path, filled }: Omit<ShownForm, "list">) {
  const { t } = view;
  const { values = {}, errors = {} } = filled ?? {};
  return (
    <section class="card">
      <h2>{t("Add an agent")}</h2>
      <Form action={path}>
        <Field
          label="ID"
          name="id"
          value={values.id}
          error={errors.id}
          hint={t("The number your systems know the agent by.")}
          required
          maxlength={16}
        />
        <Field label={t("Name")} name="name" value={values.name} error={errors.name} required maxlength={100} />
        <button type="submit">{t("Add agent")}</button>
      </Form>
    </section>
  );
}

function PasteListForm({ view, path, filled }: Omit<ShownForm, "list">) {
  const { t } = view;
  const { values = {}, errors = {} } = filled ?? {};
  return (
    <Form action={path}>
      <Field
        label={t("One agent a line: id, name")}
        name="lines"
        value={values.lines}
        error={errors.lines}
        rows={values.lines === undefined ? ROWS.first : ROWS.again}
        hint={t(
          "Paste it from a spreadsheet or a CSV file, with or without a header. Empty cells behind the name are ignored; any others make the line wrong. Up to {0} agents; all of them or none.",
          MOST_LISTED_AGENTS,
        )}
        required
        code
      />
      {/* The right lines of a list that was corrected before. They stay here, also when the reader changes the language. */}
      {values.right && <textarea name="right" hidden>{`\n${values.right}`}</textarea>}
      <CutOffNotice view={view} filled={filled} />
      <button type="submit">{t("Add all")}</button>
    </Form>
  );
}

/** A form with the wrong lines to correct. The right lines are sent with them. */
function CorrectListForm({ view, path, list, filled }: ShownForm & { list: AgentList }) {
  const { t } = view;
  const { agents, bad } = list;
  return (
    <>
      <p>
        <strong>{t("Right lines: {0}. Wrong lines: {1}.", agents.length, bad.length)}</strong>{" "}
        {t("No agent was added yet. Correct the wrong lines or delete them; all agents are then added together.")}
      </p>
      <BadLines view={view} bad={bad} />
      <Form action={path}>
        <Field
          label={t("The wrong lines")}
          name="lines"
          value={filled?.values.lines}
          error={filled?.errors.lines}
          rows={Math.min(Math.max(bad.length + 2, ROWS.first), ROWS.again)}
          code
        />
        <CutOffNotice view={view} filled={filled} />
        {agents.length > 0 && (
          <details>
            <summary>{t("The right lines ({0})", agents.length)}</summary>
            <Field label={t("They are added too")} name="right" value={filled?.values.right} rows={ROWS.again} code />
          </details>
        )}
        <div class="buttons">
          <button type="submit">{t("Add all")}</button>
          <a class="button plain" href={path}>
            {t("Cancel")}
          </a>
        </div>
      </Form>
    </>
  );
}

function CutOffNotice({ view, filled }: Pick<ShownForm, "view" | "filled">) {
  if (filled?.values.lines?.length !== KEPT_LIST_LENGTH) return null;
  return <p class="error">{view.t("The list is too long to come back whole: its end is cut off here.")}</p>;
}
