import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import type { Bindings } from "../../src/core/config.ts";
// Imported here, because otherwise the first test of each file would wait for this import.
import "../../src/operators/surfaces.ts";
import { NOW, runtimeAt } from "./test-runtime.ts";

export const ADMIN_TOKEN = env.ADMIN_TOKEN;

/** Bindings to replace and homes to add; undefined removes a binding. */
export type ReplacedBindings = { [Name in keyof Bindings]?: Bindings[Name] | undefined } & {
  [home: `HOME_${string}`]: D1Database | undefined;
};

export interface Answer {
  status: number;
  headers: Headers;
  envelope: { code: number; msg: string; data: unknown };
}

/**
 * Rate limits are off unless a test sets them, because all tests share one client address. The journal is off too, because it works
 * on for seconds.
 */
const unlimited = {
  APP_LIMIT: undefined,
  SITE_LIMIT: undefined,
  CLIENT_LIMIT: undefined,
  TOKEN_CHANGES: undefined,
  TOKEN_READS: undefined,
  JOURNAL: undefined,
} as unknown as Partial<Bindings>;

/** A Worker in one isolate, with empty caches and its own clock. `env` may be replaced binding by binding. */
export class Isolate {
  /** Unix seconds. A test may change it. */
  readonly clock = { now: NOW };
  readonly app = createApp(runtimeAt(() => this.clock.now * 1000));
  readonly env: Bindings;

  constructor(bindings: ReplacedBindings = {}) {
    this.env = { ...env, ...unlimited, ...bindings } as Bindings;
  }

  /** Sends any request and waits for its `waitUntil` work. */
  async fetch(request: Request): Promise<Response> {
    const context = createExecutionContext();
    const response = await this.app.fetch(request, this.env, context);
    await waitOnExecutionContext(context);
    return response;
  }

  admin(method: string, path: string, body?: unknown): Promise<Response> {
    return this.fetch(
      new Request(`http://worker${path}`, {
        method,
        headers: {
          authorization: `Bearer ${ADMIN_TOKEN}`,
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
  }

  /** Sends bytes unchanged, with exactly these headers and a content type of JSON. */
  async sendRaw(operation: string, body: BodyInit, headers: HeadersInit = {}): Promise<Answer> {
    const all = new Headers(headers);
    if (!all.has("content-type")) all.set("content-type", "application/json");
    const response = await this.fetch(
      new Request(`http://worker/openapi/chat/${operation}`, { method: "POST", headers: all, body }),
    );
    return { status: response.status, headers: response.headers, envelope: await response.json() };
  }
}
