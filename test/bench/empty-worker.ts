/** Runs in workerd. What HTTP alone costs: an answer of the usual size, nothing read and nobody asked. */
export default {
  fetch: () => Response.json({ code: 1, msg: "ok", data: { chat_id: 1 } }),
} satisfies ExportedHandler;
