import type { Env } from "hono";
import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import type { App } from "./request-context.ts";

/**
 * Hono with one router. Hono's default has three, which every cold start would load. `hono/tiny` does not fit: its router ignores a
 * slash at the end of a path, so each call would have two addresses.
 */
export function newHono<E extends Env = App>(): Routes<E> {
  return new HonoBase<E>({ router: new TrieRouter() });
}

export type Routes<E extends Env = App> = HonoBase<E>;
