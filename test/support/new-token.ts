import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/d1";
import { systemRuntime } from "../../src/core/runtime.ts";
import { newTokenText } from "../../src/operators/access/token-text.ts";
import { sha256 } from "../../src/operators/services/digests.ts";
import { tokenIdOf } from "../../src/operators/services/tokens.ts";
import type { TokenRow } from "../../src/operators/store/directory/admin-tokens.ts";
import { adminTokens } from "../../src/operators/store/operator-schema.ts";
import { NOW } from "./test-runtime.ts";
import type { World } from "./world.ts";

/**
 * Stores a token, by default an operator's token for all sites. If `change` has an `id`, the returned token is not valid.
 *
 * @returns the token and its id
 */
export async function newToken(change: Partial<TokenRow> = {}): Promise<{ token: string; id: string }> {
  const token = newTokenText(systemRuntime, "program");
  const hash = await sha256(token);
  const row: TokenRow = {
    id: tokenIdOf(hash),
    hash,
    name: "Nightly",
    role: "operator",
    siteId: null,
    createdAt: NOW,
    expiresAt: null,
    lastUsedAt: null,
    deletedAt: null,
    ...change,
  };
  await drizzle(env.DB).insert(adminTokens).values(row);
  return { token, id: row.id };
}

/** Calls the admin API with a token, and reads the answer: JSON, or undefined without a body. */
export async function useToken(
  world: Pick<World, "fetch">,
  token: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: unknown }> {
  const answer = await world.fetch(
    new Request(`http://worker${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? undefined : (JSON.parse(text) as unknown) };
}
