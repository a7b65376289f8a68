import type * as z from "zod/mini";
import { invalidInput } from "../../errors.ts";
import { fieldIssues } from "../../fields.ts";
import { parseJsonObject } from "../../parse-json.ts";
import { readBody, readChunks, requireJson } from "../read-body.ts";
import type { AdminContext } from "./env.ts";

/**
 * The JSON body of an admin call.
 *
 * @param whenEmpty what an absent body stands for, where a call needs none
 * @throws ServiceError `invalid_input` naming each bad field; what {@link readBody} throws
 */
export async function readInput<Output>(
  c: AdminContext,
  schema: z.ZodMiniType<Output>,
  whenEmpty?: Record<string, unknown>,
): Promise<Output> {
  // No call with a body takes a query: `rotate?overlap_seconds=0` must not pass for a rotation with the default.
  const [stray] = Object.keys(c.req.query());
  if (stray !== undefined) throw invalidInput([{ field: stray, message: "belongs in the body" }]);
  const { raw } = c.req;
  let bytes: ArrayBuffer;
  if (whenEmpty === undefined) bytes = await readBody(raw);
  else {
    // Over HTTP an absent body is an empty stream, and it has no media type.
    bytes = await readChunks(raw.body);
    if (bytes.byteLength === 0) return check(schema, whenEmpty);
    requireJson(raw);
  }
  const parsed = parseJsonObject(bytes);
  if (!parsed.ok) throw invalidInput([{ field: "", message: "the body must be a JSON object in UTF-8" }]);
  return check(schema, parsed.object);
}

/** @throws ServiceError `invalid_input` naming each bad parameter */
export function readQuery<Output>(c: AdminContext, schema: z.ZodMiniType<Output>): Output {
  return check(schema, c.req.query());
}

function check<Output>(schema: z.ZodMiniType<Output>, input: unknown): Output {
  const result = schema.safeParse(input);
  if (!result.success) throw invalidInput(fieldIssues(result.error));
  return result.data;
}
