import type * as z from "zod/mini";
import { invalidInput } from "../../core/errors.ts";
import { fieldIssues } from "../../core/fields.ts";
import { readBody, readBytes, requireJson } from "../../core/http/read-body.ts";
import { parseJsonObject } from "../../core/parse-json.ts";
import type { AdminContext } from "./env.ts";

/**
 * Reads the JSON body of an admin call.
 *
 * @param options `whenEmpty`: the input for an absent body. By default a body is required. `exactField`: see {@link parseJsonObject}
 * @throws ServiceError `invalid_input`, which names each bad field; and as {@link readBody} does
 */
export async function readInput<Output>(
  c: AdminContext,
  schema: z.ZodMiniType<Output>,
  { whenEmpty, exactField }: { whenEmpty?: Record<string, unknown> | undefined; exactField?: string | undefined } = {},
): Promise<Output> {
  // A call with a body refuses a query. Otherwise `rotate?overlap_seconds=0` would rotate with the default overlap.
  const [stray] = Object.keys(c.req.query());
  if (stray !== undefined) throw invalidInput([{ field: stray, message: "belongs in the body" }]);
  const { raw } = c.req;
  const { runtime } = c.var.isolate;
  let bytes: ArrayBuffer;
  if (whenEmpty === undefined) bytes = await readBody(runtime, raw);
  else {
    // A client that sends no body may still send an empty stream, which has no media type.
    bytes = await readBytes(runtime, raw);
    if (bytes.byteLength === 0) return check(schema, whenEmpty);
    requireJson(raw);
  }
  const parsed = parseJsonObject(bytes, exactField);
  if (!parsed.ok) throw invalidInput([{ field: "", message: "the body must be a JSON object in UTF-8" }]);
  return check(schema, parsed.object);
}

/** @throws ServiceError `invalid_input`, which names each bad parameter */
export function readQuery<Output>(c: AdminContext, schema: z.ZodMiniType<Output>): Output {
  return check(schema, c.req.query());
}

function check<Output>(schema: z.ZodMiniType<Output>, input: unknown): Output {
  const result = schema.safeParse(input);
  if (!result.success) throw invalidInput(fieldIssues(result.error));
  return result.data;
}
