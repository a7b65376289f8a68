/** The process of warm-wrangler.ts: loads wrangler once, and runs a command for each message. */
import { createRequire, registerHooks } from "node:module";
import { Readable } from "node:stream";
import { WRANGLER } from "../../src/tools/cli/run-wrangler.ts";

interface WranglerRequest {
  args: string[];
  root: string;
  env: NodeJS.ProcessEnv;
  input: string;
}

export interface WranglerResult {
  exitCode: number;
  chunks: { stream: "stdout" | "stderr"; text: string }[];
}

// wrangler runs main() only as a program, and exports neither main nor FatalError. This hook exports both.
registerHooks({
  load(url, context, next) {
    const module = next(url, context);
    return url.endsWith("/wrangler-dist/cli.js")
      ? { ...module, source: `${module.source}\nObject.assign(exports, { main, FatalError });` }
      : module;
  },
});
const { main, FatalError } = createRequire(import.meta.url)(WRANGLER) as {
  main: (args: string[]) => Promise<void>;
  FatalError: new () => Error & { code?: number };
};

// wrangler closes the channel to its parent after a command.
const { send } = process;
process.disconnect = () => {};
process.on("disconnect", () => process.exit());
process.on("message", (request) => void run(request as WranglerRequest).then((result) => send?.call(process, result)));

async function run({ args, root, env, input }: WranglerRequest): Promise<WranglerResult> {
  const chunks: WranglerResult["chunks"] = [];
  for (const stream of ["stdout", "stderr"] as const) {
    process[stream].write = (chunk: string | Uint8Array) =>
      chunks.push({ stream, text: Buffer.from(chunk).toString() }) > 0;
  }
  Object.defineProperty(process, "stdin", { value: Readable.from([input]), configurable: true });
  process.env = env;
  process.chdir(root);
  process.exitCode = undefined;
  try {
    await main(args);
    return { exitCode: Number(process.exitCode ?? 0), chunks };
  } catch (error) {
    return { exitCode: (error instanceof FatalError && error.code) || 1, chunks };
  }
}
