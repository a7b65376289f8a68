import type * as z from "zod/mini";
import { type Call, call, type Declaration, type HandlerResult } from "../http/call.ts";
import type { Site } from "../services/sites.ts";
import type { AdminContext } from "./env.ts";
import { readInput, readQuery } from "./read-input.ts";

/** What a call of the admin API declares in addition. openapi.json describes the same schemas that read the body and the query. */
type AdminDeclaration<Id, Body, Query> = Declaration & {
  /** The operationId in openapi.json. */
  id: Id;
  body?: z.ZodMiniType<Body>;
  /** An absent body stands for `{}`. */
  bodyOptional?: true;
  /** A field of the body whose integers count as the text of their digits. */
  digitsOf?: string;
  query?: z.ZodMiniType<Query>;
};

export type AdminCall<Id extends string = string> = Call<AdminContext> & AdminDeclaration<Id, unknown, unknown>;

/** The input of a call's handler: the site of the path, the body and the query, as the call declares them. */
interface Given<Scope, Body, Query> {
  site: Scope extends "site" ? Site : undefined;
  body: Body;
  query: Query;
}

/**
 * Makes a call of the admin API. An unknown site is refused before the body and the query are read.
 *
 * @throws Error as {@link call} does
 */
export function adminCall<
  const Id extends string,
  Scope extends Declaration["scope"],
  Body = undefined,
  Query = undefined,
>(
  declared: AdminDeclaration<Id, Body, Query> & { scope: Scope },
  handler: (c: AdminContext, given: Given<Scope, Body, Query>) => HandlerResult,
): AdminCall<Id> {
  const { body, bodyOptional, digitsOf, query } = declared;
  const readAndHandle = async (c: AdminContext, site: Site | undefined) =>
    handler(c, {
      site,
      body: body && (await readInput(c, body, { whenEmpty: bodyOptional && {}, digitsOf })),
      query: query && readQuery(c, query),
    } as Given<Scope, Body, Query>);
  return { ...declared, ...call<AdminContext>(declared, readAndHandle) };
}
