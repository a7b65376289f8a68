import { describeViolations } from "../../core/describe-violations.ts";
import { type SignedErrorCode, WIRE_ERRORS } from "../../core/errors.ts";
import { DOCUMENTED, OPERATIONS } from "../../core/operations/index.ts";
import { eventName } from "../../operators/admin/events/event.ts";
import { FAILURES } from "../openapi/failures.ts";
import { meaningOf, VIOLATION_EXAMPLES } from "./error-details.ts";
import { markdownTable } from "./markdown-table.ts";
import { CALLER_RULES, CALLERS, codeOf, type Program, RECEIVER_RULES, RECEIVERS } from "./programs.ts";
import { callsOf, type OpenApi } from "./reference/openapi.ts";
import { type Field, fieldsOf, rulesBeside, typeText } from "./schema.ts";
import type { Texts } from "./texts.ts";

/**
 * The input of the tables and numbers that the code writes into a page. The page has `<!-- made: NAME -->` and `<!-- /made -->` around
 * each: on lines of their own around a table, and in one line around a number.
 */
export interface TableInput {
  texts: Texts;
  openapi: OpenApi;
  /** The texts of the bench's results, from number-tables.ts. */
  numbers: Record<string, string>;
  /** The text of a file of the repository, by its path from the project's folder. */
  readPage: (path: string) => string;
  /** The relative path from the page to the project's folder: `../`. */
  up: string;
}

const MADE_PART = /(<!-- made: ([\w. -]+?) -->)(\n?).*?(<!-- \/made -->)/gs;

/**
 * Writes the current tables and numbers into a page.
 *
 * @throws Error when the page names an unknown table or number
 */
export const withTables = (page: string, input: TableInput): string =>
  page.replaceAll(MADE_PART, (_, start: string, name: string, line: string, end: string) => {
    const made = madeBy(name, input);
    return line === "" ? `${start}${made}${end}` : `${start}\n\n${made}\n${end}`;
  });

/** A page without the text between the markers. */
export const withoutMade = (page: string): string => page.replaceAll(MADE_PART, "");

function madeBy(name: string, input: TableInput): string {
  const [kind, which = ""] = name.split(" ");
  switch (kind) {
    case "calls":
      return callsTable(input);
    case "fields":
      return fieldsTable(which, input);
    case "refusals":
      return refusalsTable(input);
    case "details":
      return detailsTable(input);
    case "events":
      return eventsTable(input);
    case "callers":
      return `${programsTable(CALLERS, input)}\n${["create-session.sh", "create-session.py"].map((file) => codeBlock(file, input)).join("\n")}`;
    case "caller-rules":
      return rulesList(CALLER_RULES, input);
    case "receivers":
      return programsTable(RECEIVERS, input);
    case "receiver-rules":
      return rulesList(RECEIVER_RULES, input);
    default: {
      const number = input.numbers[name];
      if (number === undefined) throw new Error(`there is no table or number ${name}`);
      return number;
    }
  }
}

function callsTable({ texts: { t } }: TableInput): string {
  const rows = DOCUMENTED.map(({ operation: { path }, documentation }) => [
    `\`POST ${path}\``,
    t(documentation.summary),
  ]);
  return markdownTable([t("call"), t("meaning")], rows);
}

function fieldsTable(name: string, { texts, openapi }: TableInput): string {
  const { t } = texts;
  const { schemas } = openapi.components;
  const body = callsOf(openapi).find((call) => call.name === name)?.requestBody?.content["application/json"];
  if (body === undefined) throw new Error(`there is no signed call ${name}`);
  const rows = fieldsOf(body.schema, schemas).map((field) => [
    `\`${field.name}\``,
    typeText(t, field.schema, schemas),
    t(field.required ? "required" : "optional"),
    ruleOf(field, texts, schemas),
  ]);
  return markdownTable([t("field"), t("type"), "", t("rule")], rows);
}

/** The description of a field and its rules, in one line. */
function ruleOf(field: Field, texts: Texts, schemas: OpenApi["components"]["schemas"]): string {
  const { t } = texts;
  const description = t(String(field.schema.description ?? ""))
    .split(/\n\n+/)
    .map((paragraph) => paragraph.replace(/\n- /, t(" ")).replaceAll(/\n- /g, t("; ")).replaceAll("\n", t(" ")));
  const rules = rulesBeside(texts, field, schemas).join(t("; "));
  return [...description, ...(rules === "" ? [] : [capitalise(rules)])]
    .map((sentence) => (/[.。]$/.test(sentence) ? sentence : `${sentence}${t(".")}`))
    .join(t(" "));
}

const capitalise = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function refusalsTable({ texts }: TableInput): string {
  const { t } = texts;
  const codes = Object.keys(WIRE_ERRORS) as SignedErrorCode[];
  const rows = codes.flatMap((code) => {
    const { status, message } = WIRE_ERRORS[code];
    const name = t(FAILURES[code].name);
    return FAILURES[code].causes.map(({ cause, cure }, index) => [
      index === 0 ? `${status} \`${message}\`${name === message ? "" : ` ${name}`}` : "",
      t(cause),
      t(cure),
    ]);
  });
  return markdownTable([t("answer"), t("cause"), t("cure")], rows).replaceAll("](/docs/", "](../docs/");
}

function detailsTable({ texts }: TableInput): string {
  const { t } = texts;
  const rows = VIOLATION_EXAMPLES.flatMap(({ violations }) =>
    violations.map((violation) => [`\`${describeViolations([violation])}\``, meaningOf(texts, violation)]),
  );
  return markdownTable(["`x-error-detail`", t("meaning")], rows);
}

/** The events that webhooks get, one a row, each with the fields of its data. */
function eventsTable({ texts: { t }, openapi }: TableInput): string {
  const events = callsOf(openapi).filter(({ kind }) => kind === "event");
  const rows = events.map(({ name, summary, description = "" }) => {
    const operation = OPERATIONS.find(({ eventType }) => eventType === name);
    const when = operation ? t("`{0}` was accepted.", operation.wireName) : t(summary) + t(".");
    const { properties = {} } = openapi.components.schemas[`${eventName(name)}Data`] ?? {};
    const sharedFields = operation ? ["seq", "appid"] : ["seq"];
    const fields = Object.keys(properties).filter((field) => !sharedFields.includes(field));
    return [`\`${name}\``, when + t(" ") + t(description), fields.map((field) => `\`${field}\``).join(t(", "))];
  });
  return markdownTable(["`type`", t("when"), t("`data`, in addition to `seq`")], rows);
}

const rulesList = (rules: Record<string, string>, { texts: { t } }: TableInput) =>
  Object.values(rules)
    .map((rule) => `- ${t(rule)}\n`)
    .join("");

function programsTable(programs: readonly Program[], { texts, up }: TableInput): string {
  const { t } = texts;
  const rows = programs.map(({ file, language, needs }) => [
    language,
    `[${file}](${up}src/client/examples/${file})`,
    /\d/.test(needs) ? t("{0} or later", needs) : needs.replaceAll(", ", t(", ")),
  ]);
  return markdownTable([t("language"), t("file"), t("needs")], rows);
}

const LANGUAGE: Record<string, string> = { sh: "sh", py: "python" };

function codeBlock(file: string, { readPage: read, texts }: TableInput): string {
  const language = LANGUAGE[file.split(".").at(-1) ?? ""] ?? "";
  const title = CALLERS.find((program) => program.file === file)?.language ?? file;
  return `**${title}**${texts.t(":")}\n\n\`\`\`${language}\n${codeOf(read(`src/client/examples/${file}`))}\`\`\`\n`;
}
