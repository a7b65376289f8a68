import * as z from "zod/mini";
import { APPID } from "../../credentials/resolve-credentials.ts";
import { fieldIssues } from "../../fields.ts";
import { parseJsonObject } from "../../parse-json.ts";
import { idCursorSchema } from "../../services/page.ts";
import type { RequestContext } from "../context.ts";
import { readBody, readChunks, requireJson } from "../read-body.ts";
import { badInput, notFound } from "./problem.ts";

/**
 * The JSON body of an admin call.
 *
 * @param whenEmpty what an absent body stands for, where a call needs none
 * @throws Problem 400 naming each bad field; ServiceError for a wrong media type or too long a body
 */
export async function readInput<Output>(
  c: RequestContext,
  schema: z.ZodMiniType<Output>,
  whenEmpty?: Record<string, unknown>,
): Promise<Output> {
  // No call with a body takes a query: `rotate?overlap_seconds=0` must not pass for a rotation with the default.
  const [stray] = Object.keys(c.req.query());
  if (stray !== undefined) throw badInput([{ field: stray, message: "belongs in the body" }]);
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
  if (!parsed.ok) throw badInput([{ field: "", message: "the body must be a JSON object in UTF-8" }]);
  return check(schema, parsed.object);
}

/** @throws Problem 400 naming each bad parameter */
export function parseQuery<Output>(c: RequestContext, schema: z.ZodMiniType<Output>): Output {
  return check(schema, c.req.query());
}

/** The integer a list goes on after, or `start` for its first page. */
export function idCursor(cursor: string | undefined, start: number): number {
  return cursor === undefined ? start : check(idCursorSchema, cursor, "cursor");
}

const appidCursorSchema = z.string().check(z.regex(APPID, "is not a next_cursor"));

/** The appid a list goes on after; empty for its first page. */
export function appidCursor(cursor: string | undefined): string {
  return cursor === undefined ? "" : check(appidCursorSchema, cursor, "cursor");
}

/** An id in the path; what is not an id is not there. */
export function pathId(c: RequestContext, parameter: string, what: string): number {
  const id = c.req.param(parameter) ?? "";
  if (!/^[1-9]\d{0,15}$/.test(id) || !Number.isSafeInteger(Number(id))) throw notFound(what);
  return Number(id);
}

function check<Output>(schema: z.ZodMiniType<Output>, input: unknown, name?: string): Output {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw badInput(fieldIssues(result.error).map((issue) => (name === undefined ? issue : { ...issue, field: name })));
}
