import { systemRuntime as runtime } from "../../src/core/runtime.ts";
import { AccessKeys } from "../../src/operators/access/certs.ts";
import { type AccessVars, accessSettings } from "../../src/operators/access/settings.ts";
import { verifyAssertion } from "../../src/operators/access/verify-assertion.ts";
import { TELEMETRY } from "./console-telemetry.ts";

const keys = new AccessKeys(runtime, TELEMETRY);

/** Answers each request with the result of verifying its assertion. */
export default {
  async fetch(request, env, ctx) {
    const { access } = accessSettings(env);
    if (access === undefined) return new Response(null, { status: 500 });
    const waitUntil = (work: Promise<unknown>) => ctx.waitUntil(work);
    const assertion = request.headers.get("cf-access-jwt-assertion") ?? "";
    return Response.json(await verifyAssertion({ runtime, keys, waitUntil }, access, assertion));
  },
} satisfies ExportedHandler<AccessVars>;
