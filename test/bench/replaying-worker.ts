/** Runs in workerd. Asks D1 what it is told to ask, as one call; with `?skip` it only reads what it is told. */
interface Env {
  DB: D1Database;
}

export default {
  async fetch(request, env) {
    const statements = (await request.json()) as { sql: string; values: unknown[] }[];
    if (!request.url.endsWith("?skip"))
      await env.DB.batch(statements.map(({ sql, values }) => env.DB.prepare(sql).bind(...values)));
    return Response.json({ code: 1, msg: "ok", data: "" });
  },
} satisfies ExportedHandler<Env>;
