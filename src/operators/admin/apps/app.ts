import * as z from "zod/mini";
import type { AdminContext } from "../env.ts";
import { version } from "../rotation.ts";
import { appid, type JsonSchema, type NamedSchema, name, time } from "../words.ts";

/** The appid in the path. It may be an appid without an app. */
export const appidOf = (c: AdminContext): string => c.req.param("appid") ?? "";

export const appSchema = z.object({
  appid: z.string(),
  name: z.string(),
  version: z.string(),
  previous_expires_at: z.nullable(z.int()),
  revoked_at: z.nullable(z.int()),
  created_at: z.int(),
});

export const app = (): NamedSchema => ({
  name: "App",
  schema: appSchema,
  fields: {
    appid: appid(),
    name: appName(),
    version: version(),
    previous_expires_at: time("Until when the previous secret verifies; null when there is none."),
    revoked_at: revokedAt(),
    created_at: time("When it was created."),
  },
});

export const appName = (): JsonSchema => name("What the app is called", "Shop back end");

export const revokedAt = (): JsonSchema => time("When it was revoked; null while it is in use.");

export const appSecret = (): JsonSchema => ({
  description: "The secret. Shown in this answer and never again.",
  examples: ["d1f0a6c5b7e94f2f8a3c6d5e4b7a99018d2c3f4e5a6b7c8d9e0f1a2b3c4d5e6f"],
});
