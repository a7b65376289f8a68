/** A Worker with only the two calls. All its imports are in src/core, as alone.test.ts checks. */
import { type Bindings, readCore } from "../../src/core/config.ts";
import { CredentialResolver } from "../../src/core/credentials/resolve-credentials.ts";
import { importKeyring, seal } from "../../src/core/credentials/sealed-secret.ts";
import { addCalls, rootApp } from "../../src/core/http/root-app.ts";
import { systemRuntime as runtime } from "../../src/core/runtime.ts";
import { NonceMemory } from "../../src/core/signed/nonce-memory.ts";
import { ExceededLimits } from "../../src/core/signed/rate-limit.ts";
import { Stalls } from "../../src/core/store/stalls.ts";
import { consoleTelemetry } from "../../src/core/telemetry/telemetry.ts";

const telemetry = consoleTelemetry("alone");
const stalls = new Stalls(runtime);
const app = rootApp({
  runtime,
  telemetry,
  credentials: new CredentialResolver(runtime, telemetry),
  nonces: new NonceMemory(runtime),
  limits: new ExceededLimits(runtime),
  stalls,
  notify: async () => {},
  configOf: (env) => stalls.guardDatabases(readCore(env)),
});
addCalls(app);

app.post("/seal", async (c) => {
  const { owner, secret } = await c.req.json();
  const keyring = await importKeyring(readCore(c.env).masterKeys);
  return c.text(await seal(runtime, keyring, owner, "current", secret));
});

export default app satisfies ExportedHandler<Bindings>;
