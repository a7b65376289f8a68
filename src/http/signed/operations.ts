import { addAgents } from "../../operations/add-agents.ts";
import { type AddAgents, addAgentsSchema } from "../../operations/add-agents-schema.ts";
import { createSession } from "../../operations/create-session.ts";
import { type CreateSession, createSessionSchema } from "../../operations/create-session-schema.ts";
import type { SignedOperation } from "./route.ts";

/** Contract section 4.1. */
export const createGd: SignedOperation<CreateSession> = {
  schema: createSessionSchema,
  digitsOf: "sbs",
  run: createSession,
  answer: (sessionId) => ({ chat_id: sessionId }),
};

/** Contract section 4.2. */
export const addKf: SignedOperation<AddAgents> = {
  schema: addAgentsSchema,
  run: addAgents,
  answer: () => "",
};
