import * as z from "zod/mini";
import { show } from "../../http/show.ts";
import { findCall } from "../../services/find-call.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, time } from "../words.ts";
import { findOrTell } from "./calls-around.ts";
import { caller, operation, refusal, refusalSchema, withWireName } from "./refusal.ts";

const refusedSchema = z.extend(refusalSchema, { chat_id: z.optional(z.int()) });

const acceptedSchema = z.object({
  outcome: z.enum(["ok", "repeated"]),
  chat_id: z.int(),
  at: z.int(),
  appid: z.string(),
  operation: z.string(),
});

export default adminCall(
  {
    id: "readCall",
    method: "get",
    path: "/sites/:site_id/requests/:request_id",
    role: "viewer",
    scope: "site",
    audit: [],
    response: z.xor([refusedSchema, acceptedSchema]),
  },
  async (c, { site }) => {
    const foundCall = await findOrTell(c, site, (requestId) => findCall(c.var.ctx, { site, requestId }));
    if (foundCall.refusal === undefined) {
      const { sessionId: chatId, ...accepted } = withWireName(foundCall.accepted);
      return c.json(show(acceptedSchema, { ...accepted, chatId }));
    }
    return c.json(
      show(refusedSchema, { ...withWireName(foundCall.refusal), chatId: foundCall.sessionId ?? undefined }),
    );
  },
);

export const documentation = (): CallDocumentation => {
  const chatId = (description: string) => ({ description, minimum: 1, examples: [900220] });
  return {
    summary: "Find a call of a site by its request id",
    chinese: "按请求 ID 查找站点的调用",
    description:
      "A refused call while the journal keeps it. An accepted call that opened a session as long as the session is there; another accepted call for 31 minutes. A request id holds its time, so the 404 of an id that is not found tells what was around it: `at`, `around` and `left_out`, and `homes_down` if homes do not answer that.",
    response: { name: "FoundCall" },
    parts: [
      {
        name: "RefusedCall",
        schema: refusedSchema,
        fields: {
          ...refusal(),
          chat_id: chatId(
            "There only when the call was done although it was refused: the session of a call whose answer was 503.",
          ),
        },
      },
      {
        name: "AcceptedCall",
        schema: acceptedSchema,
        fields: {
          outcome: {
            description:
              "`repeated`: an earlier call under the same Idempotency-Key was accepted, and its answer was given again.",
            examples: ["ok"],
          },
          chat_id: chatId("The session that it opened or changed."),
          at: time("When the call came."),
          appid: caller(),
          operation: operation(),
        },
      },
    ],
    answered: "The refused call, or what an accepted call came to.",
  };
};
