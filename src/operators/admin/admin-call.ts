import type * as z from "zod/mini";
import { type Call, call, type Declaration, type HandlerResult } from "../http/call.ts";
import { type ShownAnswer, show } from "../http/show.ts";
import type { Site } from "../services/sites.ts";
import type { AdminContext } from "./env.ts";
import { readInput, readQuery } from "./read-input.ts";

/** The declaration of a call of the admin API. openapi.json shows the same schemas that check the input and make the answer. */
type AdminDeclaration<Id, Body, Query, Answer> = Declaration & {
  id: Id;
  body?: z.ZodMiniType<Body>;
  /** An absent body means `{}`. */
  bodyOptional?: true;
  /** The name of a text field of the body that callers may also send as an integer. */
  exactField?: string;
  query?: z.ZodMiniType<Query>;
  /** The answer of a success. Without it, the answer is 204. */
  response?: Answer;
  /** The status of a success. Without it, the status is 200. */
  status?: 201 | 202;
};

export type AdminCall<Id extends string = string> = Call<AdminContext> &
  AdminDeclaration<Id, unknown, unknown, z.ZodMiniType>;

/** The input of a call's handler: the site of the path, the body and the query, as the call declares them. */
interface CallInput<Scope, Body, Query> {
  site: Scope extends "site" ? Site : undefined;
  body: Body;
  query: Query;
}

/**
 * Makes a call of the admin API. An unknown site is refused before the body and the query are read.
 *
 * @param handler gives the answer of the schema `response`, in the names of the code; or a Response, for another status or media type
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
    input: CallInput<Scope, Body, Query>,
  ) => Promise<ShownAnswer<z.output<Answer>> | Awaited<HandlerResult>>,
): AdminCall<Id> {
  const { body, bodyOptional, exactField, query, response, status } = declared;
  const readAndHandle = async (c: AdminContext, site: Site | undefined) => {
    const result = await handler(c, {
      site,
      body: body && (await readInput(c, body, { whenEmpty: bodyOptional && {}, exactField })),
      query: query && readQuery(c, query),
    } as CallInput<Scope, Body, Query>);
    if (result instanceof Response) return result;
    if (response === undefined) return c.body(null, 204);
    return c.json(show(response, result as ShownAnswer<z.output<Answer>>), status ?? 200);
  };
  return { ...declared, ...call<AdminContext>(declared, readAndHandle) };
}
