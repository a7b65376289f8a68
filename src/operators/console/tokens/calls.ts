import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { deleteTokenPage, postDeleteToken } from "./delete-token.tsx";
import { postTokens, tokensPage } from "./tokens-page.tsx";

const OWNER = { role: "owner", scope: "deployment" } as const;

export const TOKENS_CALLS: ConsoleCall[] = [
  call({ ...OWNER, method: "get", path: "/tokens", audit: [] }, (c) => tokensPage(c)),
  call({ ...OWNER, method: "post", path: "/tokens", audit: ["token.created"] }, postTokens),
  call({ ...OWNER, method: "get", path: "/tokens/:token_id/delete", audit: [] }, deleteTokenPage),
  call({ ...OWNER, method: "post", path: "/tokens/:token_id/delete", audit: ["token.deleted"] }, postDeleteToken),
];
