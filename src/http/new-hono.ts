import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import type { App } from "./context.ts";

/** Hono with the one router that takes every path of ours; its default brings two more, and every cold start would pay for them. */
export function newHono(): HonoBase<App> {
  return new HonoBase<App>({ router: new TrieRouter() });
}

export type Routes = HonoBase<App>;
