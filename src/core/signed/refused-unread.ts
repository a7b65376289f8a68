import { type Bindings, readDatabases } from "../config.ts";
import { APPID } from "../credentials/resolve-credentials.ts";
import type { Operation } from "../operations/operation.ts";
import { selectRoute } from "../store/app-routes.ts";
import { WHOLE_LIMIT_MS } from "../store/run-batch.ts";
import type { Stalls } from "../store/stalls.ts";
import { CLIENT_LIMIT_PERIOD, failureKey } from "./rate-limit.ts";
import { readFields } from "./read-fields.ts";
import type { RequestTools } from "./tools.ts";
import { noteApp } from "./verify-caller.ts";

/**
 * Finds the app of a call that a wrong setting refuses. The call is not verified, but its refusal belongs into the journal of the app's
 * site. Never rejects. When the app is not found, the refusal waits in the isolate until a later call finds it.
 *
 * @param client the address that look-ups of unknown appids are counted under
 */
export async function nameRefusedApp(
  { runtime, limits, stalls, trace, waitUntil }: Omit<RequestTools, "config"> & { stalls: Stalls },
  env: Bindings,
  operation: Operation,
  { body, client }: { body: () => Promise<ArrayBuffer>; client: string },
): Promise<void> {
  trace.operation = operation.name;
  try {
    const fields = readFields(await body(), operation.exactField);
    const { directory } = stalls.guardDatabases(readDatabases(env));
    if (!fields.ok || !APPID.test(fields.value.appid)) return;
    const { appid } = fields.value;
    trace.claimedAppid = appid;
    const unknown = failureKey("unknown", client);
    if (limits.isExceeded(unknown)) return;
    const route = await selectRoute(runtime, directory, appid, runtime.elapsed() + WHOLE_LIMIT_MS);
    if (route !== undefined) noteApp(trace, { ...route, appid, isRouted: true });
    else {
      delete trace.claimedAppid;
      waitUntil(limits.countLater(env.CLIENT_LIMIT, unknown, CLIENT_LIMIT_PERIOD));
    }
  } catch {
    // The caller gets the answer for the wrong setting in any case.
  }
}
