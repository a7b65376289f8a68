import type * as z from "zod/mini";
import { type Call, call, type Declaration, type HandlerResult } from "../http/call.ts";
import { type Shown, show } from "../http/show.ts";
import type { Site } from "../services/sites.ts";
import type { AdminContext } from "./env.ts";
import { readInput, readQuery } from "./read-input.ts";

/** What a call of the admin API declares in addition. openapi.json describes the same schemas that read its input and make its answer. */
type AdminDeclaration<Id, Body, Query, Answer> = Declaration & {
  /** The operationId in openapi.json. */
  id: Id;
  body?: z.ZodMiniType<Body>;
  /** An absent body stands for `{}`. */
  bodyOptional?: true;
  /** A field of the body whose integers count as the text of their digits. */
  digitsOf?: string;
  query?: z.ZodMiniType<Query>;
  /** What a success answers; without it, 204. */
  response?: Answer;
  /** The status of a success; without it, 200. */
  status?: 201 | 202;
};

export type AdminCall<Id extends string = string> = Call<AdminContext> &
  AdminDeclaration<Id, unknown, unknown, z.ZodMiniType>;

/** The input of a call's handler: the site of the path, the body and the query, as the call declares them. */
interface Given<Scope, Body, Query> {
  site: Scope extends "site" ? Site : undefined;
  body: Body;
  query: Query;
}

/**
 * Makes a call of the admin API. An unknown site is refused before the body and the query are read.
 *
 * @param handler gives what the schema `response` shows, in the names of the code; or an answer of its own, when one of several
 *   statuses or another media type is due
 * @throws Error as {@link call} does
 */
export function adminCall<
  const Id extends string,
  Scope extends Declaration["scope"],
  Body = undefined,
  Query = undefined,
  Answer extends z.ZodMiniType = z.ZodMiniVoid,
>(
  declared: AdminDeclaration<Id, Body, Query, Answer> & { scope: Scope },
  handler: (
    c: AdminContext,
    given: Given<Scope, Body, Query>,
  ) => Promise<Shown<z.output<Answer>> | Awaited<HandlerResult>>,
): AdminCall<Id> {
  const { body, bodyOptional, digitsOf, query, response, status } = declared;
  const readAndHandle = async (c: AdminContext, site: Site | undefined) => {
    const result = await handler(c, {
      site,
      body: body && (await readInput(c, body, { whenEmpty: bodyOptional && {}, digitsOf })),
      query: query && readQuery(c, query),
    } as Given<Scope, Body, Query>);
    if (result instanceof Response) return result;
    if (response === undefined) return c.body(null, 204);
    return c.json(show(response, result as Shown<z.output<Answer>>), status ?? 200);
  };
  return { ...declared, ...call<AdminContext>(declared, readAndHandle) };
}
