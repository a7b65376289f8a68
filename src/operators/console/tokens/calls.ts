import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { deleteTokenPage, postDeleteToken, postTokens, tokensPage } from "./tokens-page.tsx";

export const TOKENS_CALLS: ConsoleCall[] = [
  page("owner", "/tokens", tokensPage),
  form("owner", "/tokens", ["token.created"], postTokens),
  page("owner", "/tokens/:token_id/delete", deleteTokenPage),
  form("owner", "/tokens/:token_id/delete", ["token.deleted"], postDeleteToken),
];
