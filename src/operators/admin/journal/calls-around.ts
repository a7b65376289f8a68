import * as z from "zod/mini";
import { isRefusedFor, ServiceError } from "../../../core/errors.ts";
import { show } from "../../http/show.ts";
import { type CallsAround, callsAround } from "../../services/find-call.ts";
import type { Site } from "../../services/sites.ts";
import type { AdminContext } from "../env.ts";
import { refusalSchema, withWireName } from "./refusal.ts";

/** A refused call of any site. */
export const refusalOfSiteSchema = z.object({ site_id: z.int(), ...refusalSchema.shape });

const aroundSchema = z.object({ at: z.int(), around: z.array(refusalOfSiteSchema), left_out: z.int() });

const DETAILS: Record<CallsAround["time"], string> = {
  kept: "No call with this request id is known here. Its id holds the time `at`: `around` has the refused calls of that time, and `left_out` counts those that have no row so far.",
  too_old: "No call with this request id is known here. Its id holds the time `at`: refused calls are kept no longer.",
  ahead: "No call here had this request id: it holds the time `at`, which is in the future.",
};

/** Finds a call by the request id of the path. When it is not found, the 404 lists the calls around it, and the homes that do not answer. */
export async function findOrTell<Found>(
  c: AdminContext,
  site: Site | undefined,
  find: (requestId: string) => Promise<Found>,
): Promise<Found> {
  const requestId = c.req.param("request_id") ?? "";
  try {
    return await find(requestId);
  } catch (error) {
    if (!isRefusedFor(error, "call_unknown")) throw error;
    const { around, homesDown, ...found } = await callsAround(c.var.ctx, { requestId, site });
    const members = show(aroundSchema, { ...found, around: around.map(withWireName) });
    const errorContext = { ...error.context, detail: DETAILS[found.time], members };
    if (homesDown.length === 0) throw new ServiceError(error.code, errorContext);
    const detail = `${errorContext.detail} These homes do not answer, and theirs are missing: ${homesDown.join(", ")}.`;
    throw new ServiceError(error.code, { ...errorContext, detail, homesDown });
  }
}
