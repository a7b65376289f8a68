import type { ServiceError } from "../../core/errors.ts";
import type { RequestContext } from "../../core/http/request-context.ts";

/** Reads an id from the path. @throws the error of `unknown`, when the text is not an id */
export function pathId(c: Pick<RequestContext, "req">, parameter: string, unknown: () => ServiceError): number {
  const id = c.req.param(parameter) ?? "";
  if (!/^[1-9]\d{0,15}$/.test(id) || !Number.isSafeInteger(Number(id))) throw unknown();
  return Number(id);
}
