import type { Defect } from "./defect.ts";

/** Defects of tokens for programs: how they are stored, end, are remembered, and how their use is noted. */
export const TOKEN_DEFECTS: Defect[] = [
  {
    name: "token-deleted-opens",
    what: "A deleted token goes on opening.",
    edits: [
      {
        file: "src/store/directory/admin-tokens.ts",
        find: ".where(and(isLive(id), eq(adminTokens.hash, hash)))",
        replace: ".where(and(eq(adminTokens.id, id), eq(adminTokens.hash, hash)))",
      },
    ],
  },
  {
    name: "token-any-opens",
    what: "The hash of a token is not compared: each text in the form of a token opens.",
    edits: [
      {
        file: "src/store/directory/admin-tokens.ts",
        find: ".where(and(isLive(id), eq(adminTokens.hash, hash)))",
        replace: ".where(and(isNull(adminTokens.deletedAt), sql`${id} <> ${hash}`))",
      },
    ],
  },
  {
    name: "token-memory-first",
    what: "An isolate opens for a token that it knows, and does not ask the directory.",
    edits: [
      {
        file: "src/services/identify.ts",
        find: "  let found: TokenFound | undefined;",
        replace: "  if (known !== undefined) return { identity: known };\n  let found: TokenFound | undefined;",
      },
    ],
  },
  {
    name: "token-memory-for-ever",
    what: "An isolate opens for a token that it once knew whenever the directory does not answer.",
    edits: [
      {
        file: "src/services/operator-memory.ts",
        find: "known !== undefined && known.until > this.#runtime.now() ? known.identity : undefined",
        replace: "known?.identity",
      },
    ],
  },
  {
    name: "token-memory-by-site",
    what: "While the directory does not answer, a token of one site sees all sites.",
    edits: [
      {
        file: "src/services/identify.ts",
        find: "return { identity: known };",
        replace: "return { identity: { ...known, onlySite: undefined } };",
      },
    ],
  },
  {
    name: "token-expiry-turned-round",
    what: "A token opens only after it has expired.",
    edits: [
      {
        file: "src/services/identify.ts",
        find: "expiresAt !== null && expiresAt <= now",
        replace: "expiresAt !== null && expiresAt > now",
      },
    ],
  },
  {
    name: "token-expiry-in-milliseconds",
    what: "The expiry is compared in milliseconds, so no token ever expires.",
    edits: [
      {
        file: "src/services/identify.ts",
        find: "expiresAt !== null && expiresAt <= now",
        replace: "expiresAt !== null && expiresAt * 1000 <= now",
      },
    ],
  },
  {
    name: "token-stored-as-text",
    what: "The directory stores the token instead of its hash.",
    edits: [
      {
        file: "src/services/tokens.ts",
        find: "{ ...row, hash, deletedAt: null }",
        replace: "{ ...row, name: `${row.name} ${token}`, hash, deletedAt: null }",
      },
    ],
  },
  {
    name: "token-in-the-log",
    what: "The log has each token that is refused.",
    edits: [
      {
        file: "src/services/identify.ts",
        find: "  const hash = await sha256(token);",
        replace:
          "  const hash = await sha256(token);\n  ctx.telemetry.warn({ warning: token, fault: hash.slice(0, 8) });",
      },
    ],
  },
  {
    name: "token-without-role",
    what: "A new token is stored as an owner's.",
    edits: [
      {
        file: "src/services/tokens.ts",
        find: "const row = { id: tokenIdOf(hash), name, role, siteId,",
        replace: 'const row = { id: tokenIdOf(hash), name, role: "owner" as const, siteId,',
      },
    ],
  },
  {
    name: "token-deleted-without-row",
    what: "The deletion of a token leaves no row in the audit log.",
    edits: [
      {
        file: "src/store/directory/admin-tokens.ts",
        find: '      auditOf(db, author, audited("token.deleted", token), ONE_ROW, CHANGED),\n',
        replace: "",
      },
    ],
  },
  {
    name: "token-used-ahead",
    what: "The last use of a token is the hour after it.",
    edits: [
      {
        file: "src/services/identify.ts",
        find: "const hour = hourOf(ctx.now);",
        replace: "const hour = hourOf(ctx.now) + 3_600;",
      },
    ],
  },
  {
    name: "token-used-by-another",
    what: "The use of a token is noted of every token.",
    edits: [
      {
        file: "src/store/directory/admin-tokens.ts",
        find: ".where(and(eq(adminTokens.id, id), isEarlier))",
        replace: ".where(isEarlier)",
      },
    ],
  },
  {
    name: "token-remembered-when-expired",
    what: "While the directory does not answer, a token that an isolate knows opens after it has expired.",
    edits: [
      {
        file: "src/services/operator-memory.ts",
        find: "Math.min(this.#runtime.now() + REMEMBERED_MS, (expiresAt ?? Number.POSITIVE_INFINITY) * 1000)",
        replace: "this.#runtime.now() + REMEMBERED_MS + Number(expiresAt) * 0",
      },
    ],
  },
];
