import type { Violation } from "../rules.ts";
import addAgents, { documentation as addAgentsDocumentation } from "./add-agents.ts";
import createSession, { documentation as createSessionDocumentation } from "./create-session.ts";
import type { Documentation, Operation } from "./operation.ts";

/** Every signed operation, in the order of the documentation. test/core/operations/lists.test.ts fails when a file is missing here. */
export const OPERATIONS: readonly Operation[] = [createSession, addAgents];

/** The types of the events that sessions have. */
export const SESSION_EVENT_TYPES: readonly string[] = OPERATIONS.map(({ eventType }) => eventType);

/** The violation of an unknown path. It lists the calls. */
export const UNKNOWN_PATH: Violation = { rule: "known_path", values: [OPERATIONS.map(({ path }) => `POST ${path}`)] };

/** Every signed operation with its documentation. The Worker does not use this list, so its bundle leaves it out. */
export const DOCUMENTED: readonly { operation: Operation; documentation: Documentation }[] = [
  { operation: createSession, documentation: createSessionDocumentation },
  { operation: addAgents, documentation: addAgentsDocumentation },
];
