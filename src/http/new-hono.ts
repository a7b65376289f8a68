import type { Env } from "hono";
import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import type { App } from "./context.ts";

/**
 * Hono with the one router that takes every path here: its default brings two more, and every cold start would pay for them. Not
 * `hono/tiny`: its router takes a path with a slash at the end for the path without, so one call would have two addresses.
 */
export function newHono<E extends Env = App>(): Routes<E> {
  return new HonoBase<E>({ router: new TrieRouter() });
}

export type Routes<E extends Env = App> = HonoBase<E>;
