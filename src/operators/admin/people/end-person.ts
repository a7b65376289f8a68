import { endPerson } from "../../services/people.ts";
import { adminCall } from "../admin-call.ts";
import type { CallDocumentation } from "../words.ts";

export default adminCall(
  {
    id: "endPerson",
    method: "delete",
    path: "/people/:person_id",
    role: "owner",
    scope: "deployment",
    audit: ["person.ended", "operator.session_ended"],
  },
  (c) => endPerson(c.var.ctx, { id: c.req.param("person_id") ?? "" }),
);

export const documentation = (): CallDocumentation => ({
  summary: "End somebody's access to the console",
  chinese: "结束一个人对控制台的访问",
  description:
    "Their open console sessions end with it, at once. Somebody whom CONSOLE_OWNERS, CONSOLE_OPERATORS or CONSOLE_VIEWERS name too signs in again, with the role of that setting.",
  refusals: [404],
  answered: "Their access has ended.",
});
