import { isRefusedFor } from "../../../core/errors.ts";
import { type AgentList, checkAgentList, importAgents, MOST_LISTED_AGENTS } from "../../services/agent-list.ts";
import { AGENT_STATUSES, checkAgents, createAgents, newAgentSchema, searchAgents } from "../../services/agents.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Field, type Fields, FieldsForm, Fold, Form, FormErrors, SendButton } from "../parts/form.tsx";
import { type FilterFields, List } from "../parts/list.tsx";
import { Card, EmptyState } from "../parts/parts.tsx";
import type { View } from "../view.ts";
import { AgentMenu, agentRows, rowId } from "./agent-page.tsx";

/** The agents of a site. @param filled the form to show again. @param list the list that was pasted into it */
export async function agentsPage(c: PageContext, site: Site, filled?: FilledForm, list?: AgentList): Promise<Response> {
  const { ctx, view, t } = c.var;
  const path = `/console/sites/${site.id}/agents`;
  const search = (c.req.query("q") ?? "").trim().slice(0, 100);
  const status = AGENT_STATUSES.find((each) => each === c.req.query("status"));
  const cursor = c.req.query("cursor");
  const { items, nextCursor } = await searchAgents(ctx, { site, search, status, cursor, limit: 50 });
  const isFiltered = search !== "" || status !== undefined;
  const hasNone = items.length === 0 && !isFiltered && cursor === undefined;
  const options = Object.entries({ normal: t("Normal"), disabled: t("Disabled") });
  const fields: FilterFields = {
    q: { label: t("Name or ID"), value: search, type: "search", maxlength: 100 },
    status: { label: t("Status"), value: status, options },
  };
  const noneFits = (
    <EmptyState title={t("No agent fits this search.")}>
      {nextCursor === null ? (
        <a href={path}>{t("Show all agents")}</a>
      ) : (
        <span>{t("A search looks at 10,000 agents for one page: the next page goes on.")}</span>
      )}
    </EmptyState>
  );
  const none = <EmptyState title={t("No agents yet.")}>{t("Sessions need at least one. Add them above.")}</EmptyState>;
  const body = (
    <List
      path={path}
      add={
        <Fold action={path} label={t("Add agents")} open={filled !== undefined || hasNone}>
          {addForms(view, path, filled, list)}
        </Fold>
      }
      filter={hasNone ? undefined : { fields }}
      {...agentRows(view, site.id, items)}
      actions={items.map((agent) => <AgentMenu siteId={site.id} agent={agent} />)}
      empty={isFiltered ? noneFits : none}
      cursor={nextCursor}
    />
  );
  return showPage(c, { title: t("Agents"), site: { ...site, tab: "agents" }, filled, body });
}

/** The two forms that add agents. A list that is shown again stands alone. */
function addForms(view: View, path: string, filled?: FilledForm, list: AgentList = { agents: [], bad: [] }) {
  const { t } = view;
  const fields: Fields = {
    id: { label: "ID", hint: t("The number your systems know the agent by."), required: true, maxlength: 16 },
    name: { label: t("Name"), required: true, maxlength: 100 },
  };
  const isList = filled?.values.lines !== undefined;
  return (
    <>
      <FormErrors filled={filled} fields={{ ...fields, lines: { label: t("Add many") } }} />
      <div class={isList ? "part" : "two"}>
        {!isList && (
          <Card title={t("Add an agent")}>
            <FieldsForm action={path} fields={fields} filled={filled} button={t("Add agent")} />
          </Card>
        )}
        <Card title={t("Add many")}>
          {list.bad.length > 0 && wrongLines(view, list)}
          {listForm(view, path, filled, list)}
        </Card>
      </div>
    </>
  );
}

/** A form that is shown again holds up to this many characters of the refused list. */
const KEPT_LIST_LENGTH = 120_000;

/** The height of the list's field in lines: at first, and when the list is shown again. */
const ROWS = { first: 6, again: 16 };

/** The form of a list. When lines are wrong, it corrects these, and the right lines are sent with them. */
function listForm({ t }: View, path: string, filled: FilledForm | undefined, { agents, bad }: AgentList) {
  const { lines, right } = filled?.values ?? {};
  const isWrong = bad.length > 0;
  const rows = isWrong ? Math.max(bad.length + 2, ROWS.first) : lines === undefined ? ROWS.first : ROWS.again;
  const hint = t(
    "Paste it from a spreadsheet or a CSV file, with or without a header. Empty cells behind the name are ignored; any others make the line wrong. Up to {0} agents; all of them or none.",
    MOST_LISTED_AGENTS,
  );
  return (
    <Form action={path}>
      <Field
        label={isWrong ? t("The wrong lines") : t("One agent a line: id, name")}
        name="lines"
        filled={filled}
        rows={Math.min(rows, ROWS.again)}
        hint={!isWrong && hint}
        required={!isWrong}
        code
      />
      {lines?.length === KEPT_LIST_LENGTH && (
        <p class="error">{t("The list is too long to come back whole: its end is cut off here.")}</p>
      )}
      {agents.length > 0 ? (
        <details>
          <summary>{t("The right lines ({0})", agents.length)}</summary>
          <Field label={t("They are added too")} name="right" filled={filled} rows={ROWS.again} code />
        </details>
      ) : (
        // The right lines of a list that was corrected before. They stay here, also when the reader changes the language.
        right && <textarea name="right" hidden>{`\n${right}`}</textarea>
      )}
      <SendButton label={t("Add all")} back={isWrong ? path : undefined} />
    </Form>
  );
}

/** How many bad lines are shown at most, and how many characters of each. */
const SHOWN_LINES = 50;
const SHOWN_LINE_LENGTH = 120;

function wrongLines(view: View, { agents, bad }: AgentList) {
  const { t } = view;
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
        {bad.length > SHOWN_LINES && <li>{t("And {0} more.", bad.length - SHOWN_LINES)}</li>}
      </ul>
    </>
  );
}

const problemTexts = ({ t }: View): Record<AgentList["bad"][number]["problem"], string> => ({
  form: t("Is not “id, name”."),
  more: t("Has more than an id and a name. A name that holds a comma, a semicolon or a tab must stand in quotes."),
  quotes: t("The quotes do not end, or text follows them. A quote inside quotes is written twice."),
  id: t("The id must be a whole number from 1 to 9007199254740991."),
  name: t("The name must have 1 to 100 characters, some visible, and no control character or direction override."),
  repeated: t("The id stands on an earlier line too."),
  taken: t("The site has an agent of this id."),
  too_many: t("A list holds {0} agents at most.", MOST_LISTED_AGENTS),
});

/** Answers the two forms that add agents: one agent by its fields, or many agents by a list. */
export const postAgents = async (c: PageContext, site: Site): Promise<Response> =>
  c.var.form.lines === undefined ? addOne(c, site) : addMany(c, site);

function addOne(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, t, form } = c.var;
  const { id = "", name = "" } = form;
  const values = { id, name: name.trim() };
  return formAction(c, {
    values,
    entered: enteredFields(view, newAgentSchema.safeParse({ ...values, id: /^\s*\d+\s*$/.test(id) ? Number(id) : id })),
    page: (filled) => agentsPage(c, site, filled),
    look: (agent) => checkAgents(ctx, { site, agents: [agent] }),
    refused: (error) =>
      isRefusedFor(error, "agent_taken") ? { id: t("The site has an agent of this id.") } : undefined,
    work: async (agent) => {
      await createAgents(ctx, { site, agents: [agent] });
      return doneLocation(c, c.req.path, "agent", rowId(agent.id));
    },
  });
}

function addMany(c: PageContext, site: Site): Promise<Response> {
  const { ctx, t, form } = c.var;
  const { lines = "", right = "" } = form;
  const input = { site, list: lines, right };
  return formAction(c, {
    values: { lines: lines.slice(0, KEPT_LIST_LENGTH), ...(right !== "" && { right }) },
    entered: { input },
    page: async ({ values, errors }) => {
      const list = await checkAgentList(ctx, input);
      const { agents, bad } = list;
      if (bad.length === 0) return agentsPage(c, site, { values, errors });
      // The lines beyond the limit were not read, so the form shows the list as it was sent.
      const tooMany = { lines: t("A list holds {0} agents at most.", MOST_LISTED_AGENTS) };
      if (bad.some(({ problem }) => problem === "too_many")) return agentsPage(c, site, { values, errors: tooMany });
      const linesOf = (entries: { text: string }[]) => entries.map(({ text }) => text).join("\r\n");
      const sorted = { lines: linesOf(bad).slice(0, KEPT_LIST_LENGTH), right: linesOf(agents) };
      const lineErrors = { lines: t("Lines that cannot be used: {0}.", bad.length) };
      return agentsPage(c, site, { values: sorted, errors: lineErrors }, list);
    },
    refused: (error) =>
      isRefusedFor(error, "agent_list_invalid", "agent_taken") ? { lines: t("Enter at least one line.") } : undefined,
    work: async (agentList) => {
      const count = await importAgents(ctx, agentList);
      return doneLocation(c, c.req.path, count === 1 ? "agent" : "agents", undefined, count);
    },
  });
}
