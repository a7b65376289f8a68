import { env } from "cloudflare:workers";
import { readConfig } from "../../src/config.ts";
import type { Bindings } from "../../src/core/config.ts";
import { CredentialResolver } from "../../src/core/credentials/resolve-credentials.ts";
import { newRequestId } from "../../src/core/request-id.ts";
import { WHOLE_LIMIT_MS } from "../../src/core/store/run-batch.ts";
import { ROOT } from "../../src/operators/services/identity.ts";
import { OperatorMemory } from "../../src/operators/services/operator-memory.ts";
import type { ServiceContext } from "../../src/operators/services/service-context.ts";
import { TELEMETRY } from "./console-telemetry.ts";
import { replacing } from "./replacing.ts";
import { runtimeAt } from "./test-runtime.ts";
import type { ReplacedBindings } from "./world.ts";

/**
 * The context that services take, at the test's time (Unix seconds), with the real bindings or replaced ones. `published` collects
 * the apps whose records were put into KV.
 */
export function contextAt(now: number, bindings: ReplacedBindings = {}): ServiceContext & { published: string[] } {
  const published: string[] = [];
  const CREDENTIALS = replacing(env.CREDENTIALS, {
    put: async (key: string) => void published.push(key.replace("app:", "")),
  });
  const runtime = runtimeAt(() => now * 1000);
  return {
    runtime,
    telemetry: TELEMETRY,
    config: readConfig({ ...env, CREDENTIALS, ...bindings } as Bindings, TELEMETRY),
    credentials: new CredentialResolver(runtime, TELEMETRY),
    actor: "admin-api",
    identity: ROOT,
    address: null,
    memory: new OperatorMemory(runtime, TELEMETRY),
    requestId: newRequestId(runtime),
    now,
    answerBy: runtime.elapsed() + WHOLE_LIMIT_MS,
    waitUntil: () => {},
    published,
  };
}
