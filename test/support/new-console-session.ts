import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/d1";
import { systemRuntime } from "../../src/core/runtime.ts";
import { type ConsoleSessionRow, sessionName } from "../../src/operators/store/directory/console-sessions.ts";
import { consoleSessions } from "../../src/operators/store/operator-schema.ts";
import { NOW } from "./test-runtime.ts";

/** Stores a console session whose cookie nobody has, by default a session of the ADMIN_TOKEN. @returns its name */
export async function newConsoleSession(change: Partial<ConsoleSessionRow> = {}): Promise<string> {
  const row: ConsoleSessionRow = {
    id: systemRuntime.bytes(32).toHex(),
    createdAt: NOW,
    expiresAt: NOW + 3600,
    whoKind: "root",
    whoId: "root",
    whoName: "ADMIN_TOKEN",
    browser: "Firefox, Linux",
    address: "192.0.2.0/24",
    lastUsedAt: NOW,
    endedAt: null,
    ...change,
  };
  await drizzle(env.DB).insert(consoleSessions).values(row);
  return sessionName(row.id);
}
