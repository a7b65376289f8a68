import type { Defect } from "./defect.ts";
import { AGENT_DEFECTS } from "./operators-agents.ts";
import { APP_DEFECTS } from "./operators-apps.ts";
import { AUDIT_DEFECTS } from "./operators-audit.ts";
import { HOME_DEFECTS } from "./operators-homes.ts";
import { LIST_DEFECTS } from "./operators-lists.ts";
import { RESTORE_DEFECTS } from "./operators-restores.ts";
import { SEAL_DEFECTS } from "./operators-seals.ts";
import { SITE_DEFECTS } from "./operators-sites.ts";
import { WEBHOOK_DEFECTS } from "./operators-webhooks.ts";

/** Defects of operators' calls. */
export const OPERATOR_DEFECTS: Defect[] = [
  ...SITE_DEFECTS,
  ...APP_DEFECTS,
  ...AGENT_DEFECTS,
  ...WEBHOOK_DEFECTS,
  ...AUDIT_DEFECTS,
  ...HOME_DEFECTS,
  ...RESTORE_DEFECTS,
  ...SEAL_DEFECTS,
  ...LIST_DEFECTS,
];
