/** Runs in workerd. The least code that a Worker of this kind loads: hono with its router, and the schema of the tables. */
import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import * as eventSchema from "../../src/core/store/event-schema.ts";
import * as schema from "../../src/core/store/schema.ts";

const app = new HonoBase({ router: new TrieRouter() });
app.get("/tables", (c) => c.json(Object.keys({ ...schema, ...eventSchema })));

export default app;
