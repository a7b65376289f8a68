import type { ServiceError } from "../errors.ts";
import type { RequestContext } from "./context.ts";

/** An id in the path. What is not an id is not there. @throws what `unknown` makes */
export function pathId(c: Pick<RequestContext, "req">, parameter: string, unknown: () => ServiceError): number {
  const id = c.req.param(parameter) ?? "";
  if (!/^[1-9]\d{0,15}$/.test(id) || !Number.isSafeInteger(Number(id))) throw unknown();
  return Number(id);
}
