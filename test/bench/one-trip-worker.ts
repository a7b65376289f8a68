/** Runs in workerd. The least time over a distance: one D1 trip and nothing else. */
export default {
  async fetch(_request, env) {
    await env.DB.prepare("SELECT 1").first();
    return Response.json({ code: 1, msg: "ok", data: "" });
  },
} satisfies ExportedHandler<{ DB: D1Database }>;
