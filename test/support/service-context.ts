import { env } from "cloudflare:workers";
import { readConfig } from "../../src/config.ts";
import type { Bindings } from "../../src/core/config.ts";
import { CredentialResolver } from "../../src/credentials/resolve-credentials.ts";
import { newRequestId } from "../../src/request-id.ts";
import { ROOT } from "../../src/services/identity.ts";
import { OperatorMemory } from "../../src/services/operator-memory.ts";
import type { ServiceContext } from "../../src/services/service-context.ts";
import { WHOLE_LIMIT_MS } from "../../src/store/run-batch.ts";
import { consoleTelemetry } from "../../src/telemetry/telemetry.ts";
import { replacing } from "./replacing.ts";
import { runtimeAt } from "./test-runtime.ts";
import type { Replacements } from "./world.ts";

/**
 * The context that services take, at the test's own time (Unix seconds), on the real bindings or on replaced ones.
 * `published` collects the apps whose records were put into KV.
 */
export function contextAt(now: number, bindings: Replacements = {}): ServiceContext & { published: string[] } {
  const published: string[] = [];
  const CREDENTIALS = replacing(env.CREDENTIALS, {
    put: async (key: string) => void published.push(key.replace("app:", "")),
  });
  const runtime = runtimeAt(() => now * 1000);
  return {
    runtime,
    telemetry: consoleTelemetry,
    config: readConfig({ ...env, CREDENTIALS, ...bindings } as Bindings, consoleTelemetry),
    credentials: new CredentialResolver(runtime, consoleTelemetry),
    actor: "admin-api",
    identity: ROOT,
    address: null,
    memory: new OperatorMemory(runtime, consoleTelemetry),
    requestId: newRequestId(runtime),
    now,
    answerBy: runtime.elapsed() + WHOLE_LIMIT_MS,
    waitUntil: () => {},
    published,
  };
}
