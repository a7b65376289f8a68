import { ACTORS, AUDIT_ACTIONS, WHO_KINDS } from "../../operators/store/operator-schema.ts";
import { homeName, homesDown, pageSchema, TIME } from "./admin-schemas.ts";
import { exactly, integer, orNull, string, time } from "./components.ts";

const who = orNull(
  exactly(
    {
      kind: string("`root`: who has the ADMIN_TOKEN; `worker`: the Worker, by itself.", {
        enum: [...WHO_KINDS, "worker"],
        examples: ["token"],
      }),
      id: string("`root`, `worker`, the token's id, or the person's e-mail address.", {
        examples: ["tok_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"],
      }),
      name: string("What they were called then.", { examples: ["Nightly export"] }),
    },
    { description: "Who did it; null for a refused sign-in, and for older entries." },
  ),
);

/** The answers about the audit log. */
export const auditSchemas = {
  AuditEntry: exactly({
    home: homeName,
    id: integer("Higher is later, in one home.", { minimum: 1, examples: [17] }),
    site_id: orNull(integer("The site; null for what concerns a whole home.", { examples: [1] })),
    at: time("When.", TIME),
    actor: string("Whether it came through the admin API or the console, or the Worker did it by itself.", {
      enum: ACTORS,
    }),
    who,
    address: orNull(
      string("The network that the call came from: /24 of IPv4, /48 of IPv6.", { examples: ["192.0.2.0/24"] }),
    ),
    action: string("What was done.", { enum: AUDIT_ACTIONS }),
    subject: string("The id, the appid or the name of what it was done to; empty for several agents at once.", {
      examples: ["1"],
    }),
    request_id: orNull(
      string("The `x-request-id` of the call; null when the Worker did it, and for older entries.", {
        examples: ["019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12"],
      }),
    ),
    details: {
      type: "object",
      description:
        "More of it, different from action to action. What had a value before has `from` and `to`. Never a secret.",
      additionalProperties: true,
    },
  }),
  AuditPage: pageSchema("AuditEntry", { homes_down: homesDown }),
};
