import { ATTACK_DEFECTS } from "./defects/attacks.ts";
import { CLAIM_DEFECTS } from "./defects/claims.ts";
import type { Defect } from "./defects/defect.ts";
import { DELIVERY_DEFECTS } from "./defects/deliveries.ts";
import { ERASURE_DEFECTS } from "./defects/erasures.ts";
import { EVENT_DEFECTS } from "./defects/events.ts";
import { JOURNAL_DEFECTS } from "./defects/journal.ts";
import { OPERATION_DEFECTS } from "./defects/operations.ts";
import { OPERATOR_DEFECTS } from "./defects/operators.ts";
import { PLATFORM_DEFECTS } from "./defects/platform.ts";
import { POST_DEFECTS } from "./defects/posts.ts";
import { RETENTION_DEFECTS } from "./defects/retention.ts";
import { REVIEWED_DEFECTS } from "./defects/reviewed.ts";
import { TOKEN_DEFECTS } from "./defects/tokens.ts";
import { USAGE_DEFECTS } from "./defects/usage.ts";
import { WHO_DEFECTS } from "./defects/who.ts";
import { WEATHER_DEFECTS } from "./weather/defects.ts";

export type { Defect } from "./defects/defect.ts";

/** Every defect that `npm run simulate -- --defects` plants. */
export const DEFECTS: Defect[] = [
  ...REVIEWED_DEFECTS,
  ...CLAIM_DEFECTS,
  ...OPERATION_DEFECTS,
  ...ATTACK_DEFECTS,
  ...OPERATOR_DEFECTS,
  ...WHO_DEFECTS,
  ...TOKEN_DEFECTS,
  ...ERASURE_DEFECTS,
  ...RETENTION_DEFECTS,
  ...EVENT_DEFECTS,
  ...DELIVERY_DEFECTS,
  ...POST_DEFECTS,
  ...PLATFORM_DEFECTS,
  ...JOURNAL_DEFECTS,
  ...USAGE_DEFECTS,
  ...WEATHER_DEFECTS,
];
