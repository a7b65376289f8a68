import { OPERATIONS } from "../../core/operations/index.ts";
import { REFUSAL_REASONS } from "../../core/signed/refusal-reasons.ts";
import { appid, TIME } from "./admin-schemas.ts";
import { exactly, integer, orNull, string, time } from "./components.ts";

const HOUR = TIME - (TIME % 3_600);

/** The answers about usage. */
export const usageSchemas = {
  Usage: exactly({
    items: {
      type: "array",
      description: "In the order of time. Without calls there is no item.",
      items: { $ref: "#/components/schemas/UsageItem" },
    },
    apps: {
      type: "array",
      description: "All apps of the site, or the one that was asked for.",
      items: { $ref: "#/components/schemas/LastUse" },
    },
    complete_until: orNull(time("All calls up to this time are counted; null before the first run of the cron.", TIME)),
  }),
  UsageItem: exactly({
    at: time("When the hour, or the day of UTC, begins.", HOUR),
    appid,
    operation: string("The call.", { enum: OPERATIONS.map(({ wireName }) => wireName), examples: ["create_gd"] }),
    outcome: string(
      "`ok`; `repeated`, when the answer to an earlier call with the same Idempotency-Key was given again; or why it was refused.",
      { enum: ["ok", "repeated", ...REFUSAL_REASONS], examples: ["ok"] },
    ),
    count: integer("How many calls.", { minimum: 1, examples: [1204] }),
  }),
  LastUse: exactly({
    appid,
    last_used_at: orNull(
      time(
        "The last counted call that a secret of the app has verified, as far as usage is kept; null when none is. It may have been used after `complete_until`.",
        TIME,
      ),
    ),
    previous_secret_used_at: orNull(
      time(
        "The last counted call that its previous secret has verified; null when none is counted, also without such a secret. It may have been used after `complete_until`.",
        TIME,
      ),
    ),
  }),
  Metrics: string("OpenMetrics 1.0, ends with `# EOF`.", {
    examples: [
      '# TYPE agent_session_calls counter\n# HELP agent_session_calls Signed calls of known apps.\nagent_session_calls_total{operation="create_gd",outcome="ok"} 1204\n# EOF\n',
    ],
  }),
};
