import { type SignedErrorCode, WIRE_ERRORS } from "../errors.ts";
import { FAILURES } from "../openapi/failures.ts";
import { DETAIL_EXAMPLES, meaningOf } from "./details.ts";
import { CALLERS, codeOf, type Program, RECEIVERS } from "./programs.ts";
import { callsOf, type OpenApi } from "./reference/openapi.ts";
import { type Field, fieldsOf, rulesBeside, typeText } from "./schema.ts";
import type { Texts } from "./texts.ts";

/** Tables of the pages in docs/ that come from the code. A page has `<!-- made: NAME -->` and `<!-- /made -->` around each of them. */

export interface TableInput {
  texts: Texts;
  openapi: OpenApi;
  /** The text of a file of the repository, by its path from the project's folder. */
  read: (path: string) => string;
  /** The way from the page to the project's folder: `../`. */
  up: string;
}

const MADE = /(<!-- made: (.*?) -->\n).*?(<!-- \/made -->)/gs;

/**
 * A page with its tables as the code has them now.
 *
 * @throws Error when the page names a table that there is none of
 */
export const withTables = (page: string, input: TableInput): string =>
  page.replaceAll(MADE, (_, start: string, name: string, end: string) => `${start}\n${tableOf(name, input)}\n${end}`);

function tableOf(name: string, input: TableInput): string {
  const [kind, which = ""] = name.split(" ");
  switch (kind) {
    case "fields":
      return fieldsTable(which, input);
    case "refusals":
      return refusalsTable(input);
    case "details":
      return detailsTable(input);
    case "callers":
      return `${programsTable(CALLERS, input)}\n${["create-session.sh", "create-session.py"].map((file) => codeBlock(file, input)).join("\n")}`;
    case "receivers":
      return programsTable(RECEIVERS, input);
    default:
      throw new Error(`there is no table ${name}`);
  }
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return `${[line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n")}\n`;
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
  return table([t("field"), t("type"), "", t("rule")], rows);
}

/** What a field is and what it may hold, in one line. */
function ruleOf(field: Field, texts: Texts, schemas: OpenApi["components"]["schemas"]): string {
  const { t } = texts;
  const said = t(String(field.schema.description ?? ""))
    .split(/\n\n+/)
    .map((paragraph) => paragraph.replace(/\n- /, t(" ")).replaceAll(/\n- /g, t("; ")).replaceAll("\n", t(" ")));
  const rules = rulesBeside(texts, field, schemas).join(t("; "));
  return [...said, ...(rules === "" ? [] : [capital(rules)])]
    .map((sentence) => (/[.。]$/.test(sentence) ? sentence : `${sentence}${t(".")}`))
    .join(t(" "));
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

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
  return table([t("answer"), t("cause"), t("cure")], rows).replaceAll("](/docs/", "](../docs/");
}

function detailsTable({ texts }: TableInput): string {
  const { t } = texts;
  const rows = DETAIL_EXAMPLES.flatMap(({ details }) =>
    details.map((detail) => [`\`${detail}\``, meaningOf(texts, detail)]),
  );
  return table(["`x-error-detail`", t("meaning")], rows);
}

function programsTable(programs: readonly Program[], { texts, up }: TableInput): string {
  const { t } = texts;
  const rows = programs.map(({ file, language, needs }) => [
    language,
    `[${file}](${up}src/client/examples/${file})`,
    /\d/.test(needs) ? t("{0} or later", needs) : needs.replaceAll(", ", t(", ")),
  ]);
  return table([t("language"), t("file"), t("needs")], rows);
}

const LANGUAGE: Record<string, string> = { sh: "sh", py: "python" };

function codeBlock(file: string, { read, texts }: TableInput): string {
  const language = LANGUAGE[file.split(".").at(-1) ?? ""] ?? "";
  const title = CALLERS.find((program) => program.file === file)?.language ?? file;
  return `**${title}**${texts.t(":")}\n\n\`\`\`${language}\n${codeOf(read(`src/client/examples/${file}`))}\`\`\`\n`;
}
