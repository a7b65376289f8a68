import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: ["./src/core/store/*schema.ts", "./src/operators/store/*schema.ts"],
  out: "./migrations",
});
