import { CALLER_DEFECTS } from "./callers/defects.ts";
import { DELIVERY_DEFECTS } from "./deliveries/defects.ts";
import { ERASURE_DEFECTS } from "./erasure/defects.ts";
import { HOME_DEFECTS } from "./homes/defects.ts";
import { OPERATOR_DEFECTS } from "./operators/defects.ts";
import type { Defect } from "./planted-defect.ts";
import { SECRECY_DEFECTS } from "./secrecy/defects.ts";
import { WEATHER_DEFECTS } from "./weather/defects.ts";

/** Every defect that `npm run simulate -- --defects` plants. */
export const DEFECTS: Defect[] = [
  ...CALLER_DEFECTS,
  ...HOME_DEFECTS,
  ...OPERATOR_DEFECTS,
  ...ERASURE_DEFECTS,
  ...SECRECY_DEFECTS,
  ...DELIVERY_DEFECTS,
  ...WEATHER_DEFECTS,
];
