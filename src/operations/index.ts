// Made by `npm run generate` from the files of src/operations/. Do not edit.

import addAgents, { documentation as addAgentsDocumentation } from "./add-agents.ts";
import createSession, { documentation as createSessionDocumentation } from "./create-session.ts";
import type { Documentation, Operation } from "./operation.ts";

/** Every signed operation. */
export const OPERATIONS: readonly Operation[] = [createSession, addAgents];

/** Every signed operation with what the documentation says of it. The Worker does not use it, so its bundle leaves it out. */
export const DOCUMENTED: readonly { operation: Operation; documentation: Documentation }[] = [
  { operation: createSession, documentation: createSessionDocumentation },
  { operation: addAgents, documentation: addAgentsDocumentation },
];
