/** Loaded into wrangler by `npm start`: ends it, and workerd with it, when `npm start` was killed and could not do that itself. */
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();
