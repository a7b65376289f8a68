import type { Bindings } from "../../src/core/config.ts";
import { closedSecret } from "../../src/core/homes.ts";

/** The settings of a deployment in which these homes are closed. */
export const closedHomeVars = (...homes: string[]): Partial<Bindings> =>
  Object.fromEntries(homes.map((home) => [closedSecret(home), home]));
