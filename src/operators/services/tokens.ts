import * as z from "zod/mini";
import { ROLES, type Role } from "../access/role.ts";
import { newTokenText } from "../access/token-text.ts";
import {
  insertToken,
  selectTokenById,
  selectTokens,
  selectUsableTokens,
  type TokenRow,
  updateTokenDeleted,
} from "../store/directory/admin-tokens.ts";
import { sha256 } from "./digests.ts";
import { fitsOneSite, type Grant, grantFields, newGrant } from "./grants.ts";
import { afterToken, type Page, type PageInput, pageOf } from "./page.ts";
import { tokenUnknown } from "./refusals.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";
import { operatorName } from "./token-names.ts";

/** A token as lists show it. Times are Unix seconds. */
export type Token = Omit<TokenRow, "hash" | "deletedAt">;

const ROLE_RULE = `must be ${ROLES.join(" or ")}`;

/** Body of POST /admin/tokens. */
export const newTokenSchema = z
  .strictObject({
    name: operatorName,
    role: z.enum(ROLES, ROLE_RULE),
    ...grantFields,
  })
  .check(fitsOneSite("a token"));

interface NewToken extends Grant {
  name: string;
  role: Role;
}

/** The id of a token: half of its hash, which does not reveal the token. @param hash in hex */
export const tokenIdOf = (hash: string): string => `tok_${hash.slice(0, 32)}`;

/**
 * Makes a new token for a program.
 *
 * @returns also the token's text, which no later answer shows
 * @throws ServiceError `invalid_input` for an unknown site
 */
export async function createToken(ctx: ServiceContext, input: NewToken): Promise<Token & { token: string }> {
  const { runtime, config } = ctx;
  const { name, role } = input;
  const grant = await newGrant(ctx, input);
  const token = newTokenText(runtime, "program");
  const hash = await sha256(token);
  const row = { id: tokenIdOf(hash), name, role, ...grant };
  await insertToken(runtime, config.directory, { ...row, hash, deletedAt: null }, authorOf(ctx));
  return { ...row, token };
}

/** A page of all tokens, expired ones too, by id. @throws ServiceError `invalid_input` for a malformed cursor */
export async function listTokens({ config }: ServiceContext, input: PageInput): Promise<Page<Token>> {
  const rows = await selectTokens(config.directory, afterToken(input), input.limit + 1);
  return pageOf(rows.map(publicToken), input.limit, ({ id }) => id);
}

const publicToken = ({ hash: _, deletedAt: _deleted, ...token }: TokenRow): Token => token;

/** How many tokens {@link listUsableTokens} returns at most. */
export const MOST_USABLE_TOKENS = 1_000;

/** The tokens that are valid now, those of owners first. An operator reads them to see which ones a restore has brought back. */
export async function listUsableTokens({ config, now }: ServiceContext): Promise<Token[]> {
  return (await selectUsableTokens(config.directory, now, MOST_USABLE_TOKENS)).map(publicToken);
}

/** @throws ServiceError `not_found` */
export async function findToken({ runtime, config }: ServiceContext, { id }: { id: string }): Promise<Token> {
  const row = await selectTokenById(runtime, config.directory, id);
  if (row === undefined) throw tokenUnknown();
  return publicToken(row);
}

/** Deletes a token: it is refused from the next call on. @throws ServiceError `not_found` */
export async function deleteToken(ctx: ServiceContext, { id }: { id: string }): Promise<void> {
  const { runtime, config } = ctx;
  if (!(await updateTokenDeleted(runtime, config.directory, id, authorOf(ctx)))) throw tokenUnknown();
}
