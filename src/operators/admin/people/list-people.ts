import { pageQuerySchema } from "../../services/page.ts";
import { listPeople } from "../../services/people.ts";
import { adminCall } from "../admin-call.ts";
import { pageSchema } from "../page.ts";
import { type CallDocumentation, page, pageQuery } from "../words.ts";
import { personSchema, personWords } from "./person.ts";

export default adminCall(
  {
    id: "listPeople",
    method: "get",
    path: "/people",
    role: "owner",
    scope: "deployment",
    audit: [],
    query: pageQuerySchema,
    response: pageSchema(personSchema),
  },
  (c, { query }) => listPeople(c.var.ctx, query),
);

export const documentation = (): CallDocumentation => ({
  summary: "List the people of the console",
  chinese: "列出可以进入控制台的人",
  description:
    "Expired ones too, until they are ended. Those whom only CONSOLE_OWNERS, CONSOLE_OPERATORS or CONSOLE_VIEWERS name are not here.",
  query: pageQuery("^per_[0-9a-f]{32}$"),
  response: page("PersonPage"),
  parts: [{ name: "Person", schema: personSchema, fields: personWords() }],
  answered: "A page of people, by id.",
});
