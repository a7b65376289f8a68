import { type AgentList, type BadLine, MOST_LISTED_AGENTS } from "../../services/agent-list.ts";
import type { FilledForm } from "../forms/messages.ts";
import { Field, FieldsForm, Form, FormErrors } from "../parts/form.tsx";
import { useView, type View } from "../view.ts";

/** A form that is shown again holds up to this many characters of the refused list. */
export const KEPT_LIST_LENGTH = 120_000;

/** The height of the list's field in lines: at first, and when the list is shown again. */
const ROWS = { first: 6, again: 16 };

/** How many bad lines are shown at most, and how many characters of each. */
const SHOWN_LINES = 50;
const SHOWN_LINE_LENGTH = 120;

interface ShownForm {
  path: string;
  filled: FilledForm | undefined;
}

/**
 * The two forms that add agents. After a list with wrong lines, only the form that corrects them is shown.
 *
 * @param props `list` is the pasted list, when it is shown again because some of its lines are wrong
 */
export function AddAgents({ path, filled, list }: ShownForm & { list: AgentList | undefined }) {
  const { t } = useView();
  const fields = {
    id: { label: "ID", hint: t("The number your systems know the agent by."), required: true, maxlength: 16 },
    name: { label: t("Name"), required: true, maxlength: 100 },
  };
  const isList = filled?.values.lines !== undefined;
  return (
    <>
      <FormErrors filled={filled} fields={{ ...fields, lines: { label: t("Add many") } }} />
      <div class={isList ? "part" : "two"}>
        {!isList && (
          <section class="card">
            <h2>{t("Add an agent")}</h2>
            <FieldsForm action={path} fields={fields} filled={filled} button={t("Add agent")} />
          </section>
        )}
        <section class="card">
          <h2>{t("Add many")}</h2>
          {list !== undefined && list.bad.length > 0 ? (
            <CorrectListForm path={path} filled={filled} list={list} />
          ) : (
            <PasteListForm path={path} filled={filled} />
          )}
        </section>
      </div>
    </>
  );
}

function PasteListForm({ path, filled }: ShownForm) {
  const { t } = useView();
  const { lines, right } = filled?.values ?? {};
  return (
    <Form action={path}>
      <Field
        label={t("One agent a line: id, name")}
        name="lines"
        filled={filled}
        rows={lines === undefined ? ROWS.first : ROWS.again}
        hint={t(
          "Paste it from a spreadsheet or a CSV file, with or without a header. Empty cells behind the name are ignored; any others make the line wrong. Up to {0} agents; all of them or none.",
          MOST_LISTED_AGENTS,
        )}
        required
        code
      />
      {/* The right lines of a list that was corrected before. They stay here, also when the reader changes the language. */}
      {right && <textarea name="right" hidden>{`\n${right}`}</textarea>}
      <CutOffNotice filled={filled} />
      <button type="submit">{t("Add all")}</button>
    </Form>
  );
}

/** A form with the wrong lines to correct. The right lines are sent with them. */
function CorrectListForm({ path, filled, list: { agents, bad } }: ShownForm & { list: AgentList }) {
  const view = useView();
  const { t } = view;
  const hiddenCount = bad.length - SHOWN_LINES;
  return (
    <>
      <p>
        <strong>{t("Right lines: {0}. Wrong lines: {1}.", agents.length, bad.length)}</strong>{" "}
        {t("No agent was added yet. Correct the wrong lines or delete them; all agents are then added together.")}
      </p>
      <ul class="lines" tabindex={0} aria-label={t("Lines that cannot be used")}>
        {bad.slice(0, SHOWN_LINES).map(({ line, text, problem }) => (
          <li>
            {line > 0 && <>{t("Line {0}", line)} </>}
            <code>{text.length > SHOWN_LINE_LENGTH ? `${text.slice(0, SHOWN_LINE_LENGTH)}…` : text}</code>:{" "}
            {problemTexts(view)[problem]}
          </li>
        ))}
        {hiddenCount > 0 && <li>{t("And {0} more.", hiddenCount)}</li>}
      </ul>
      <Form action={path}>
        <Field
          label={t("The wrong lines")}
          name="lines"
          filled={filled}
          rows={Math.min(Math.max(bad.length + 2, ROWS.first), ROWS.again)}
          code
        />
        <CutOffNotice filled={filled} />
        {agents.length > 0 && (
          <details>
            <summary>{t("The right lines ({0})", agents.length)}</summary>
            <Field label={t("They are added too")} name="right" filled={filled} rows={ROWS.again} code />
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

function CutOffNotice({ filled }: { filled: FilledForm | undefined }) {
  const { t } = useView();
  if (filled?.values.lines?.length !== KEPT_LIST_LENGTH) return null;
  return <p class="error">{t("The list is too long to come back whole: its end is cut off here.")}</p>;
}

const problemTexts = ({ t }: View): Record<BadLine["problem"], string> => ({
  form: t("Is not “id, name”."),
  more: t("Has more than an id and a name. A name that holds a comma, a semicolon or a tab must stand in quotes."),
  quotes: t("The quotes do not end, or text follows them. A quote inside quotes is written twice."),
  id: t("The id must be a whole number from 1 to 9007199254740991."),
  name: t(
    "The name must have 1 to 100 characters, at least one of them visible and none a control character or direction override.",
  ),
  repeated: t("The id stands on an earlier line too."),
  taken: t("The site has an agent of this id."),
  too_many: t("A list holds {0} agents at most.", MOST_LISTED_AGENTS),
});
