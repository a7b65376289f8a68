import type { AdminCallId } from "../../operators/admin/calls.ts";
import { type CallWords, QUERY_WORDS } from "./admin-call.ts";

/** The words for the calls about tokens, by operationId. */
export const tokenWords = {
  createToken: {
    summary: "Make a token for a program",
    description:
      "`ast_`, 32 random bytes in base62, and the CRC32 of the characters before it in base62. Only its hash is stored. Each call makes another token: when an answer was lost, delete the token that nobody has.",
    body: "NewToken",
    answer: { status: 201, schema: "IssuedToken" },
    description200: "The token was made. It is shown here only.",
  },
  listTokens: {
    summary: "List the tokens for programs",
    description: "Expired ones too, until they are deleted.",
    query: { ...QUERY_WORDS, cursor: { ...QUERY_WORDS.cursor, pattern: "^tok_[0-9a-f]{32}$" } },
    answer: { status: 200, schema: "TokenPage" },
    description200: "A page of tokens, by id.",
  },
  deleteToken: {
    summary: "Delete a token",
    description: "From the next call on it opens nothing.",
    answer: { status: 204 },
    refusals: [404],
    description200: "The token is deleted.",
  },
} satisfies Partial<Record<AdminCallId, CallWords>>;
