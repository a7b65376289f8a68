/**
 * Runs in workerd. The cost of HTTP alone: an answer of the usual size, without reading the request or calling a
 * binding.
 */
export default {
  fetch: () => Response.json({ code: 1, msg: "ok", data: { chat_id: 1 } }),
} satisfies ExportedHandler;
