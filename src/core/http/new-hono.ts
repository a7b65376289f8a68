import type { Env } from "hono";
import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import type { App } from "./request-context.ts";

/**
 * Hono with one router. Hono's default has three routers, and every cold start would load them. `hono/tiny` does not fit, because its
 * router ignores a slash at the end of a path: each call would have two addresses.
 */
export function newHono<E extends Env = App>(): Routes<E> {
  return new HonoBase<E>({ router: new TrieRouter() });
}

export type Routes<E extends Env = App> = HonoBase<E>;
