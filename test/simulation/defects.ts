import { ATTACK_DEFECTS } from "./defects/attacks.ts";
import { CLAIM_DEFECTS } from "./defects/claims.ts";
import type { Defect } from "./defects/defect.ts";
import { OPERATOR_DEFECTS } from "./defects/operators.ts";
import { REVIEWED_DEFECTS } from "./defects/reviewed.ts";

export type { Defect } from "./defects/defect.ts";

/** Every defect that `npm run simulate -- --defects` plants. */
export const DEFECTS: Defect[] = [...REVIEWED_DEFECTS, ...CLAIM_DEFECTS, ...ATTACK_DEFECTS, ...OPERATOR_DEFECTS];
