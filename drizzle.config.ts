import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: [
    "./src/store/schema.ts",
    "./src/store/operator-schema.ts",
    "./src/store/erasure-schema.ts",
    "./src/store/usage-schema.ts",
  ],
  out: "./migrations",
});
