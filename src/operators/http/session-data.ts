import * as z from "zod/mini";
import { SESSION_FIELDS, type SessionField } from "../services/sessions.ts";
import { type CamelCase, camelCase } from "./show.ts";

type StoredFields = { [Column in (typeof SESSION_FIELDS)[number][0]]: unknown };

/** The fields of a session itself. SESSION_PROPERTIES has their words and types. */
export const sessionShape = Object.fromEntries(SESSION_FIELDS.map(([, name]) => [name, z.unknown()])) as Record<
  SessionField,
  z.ZodMiniUnknown
>;

/** The values of a session's fields, for `show`. */
export const sessionFields = (session: StoredFields) =>
  Object.fromEntries(SESSION_FIELDS.map(([column, name]) => [camelCase(name), session[column]])) as Record<
    CamelCase<SessionField>,
    unknown
  >;
