/** Runs in workerd. Sends the statements in the request's body to D1 as one call. With `?skip` it only reads the body. */
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
