import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { describe, expect, it, vi } from "vitest";
import { statement } from "../../../src/core/store/statement.ts";

/** Every module of the Worker. Importing them compiles each statement that is compiled when its module loads. */
const MODULES = import.meta.glob("../../../src/{core/operations,{core,events,operators}/store}/**/*.ts") as Record<
  string,
  () => Promise<unknown>
>;

/** The text that a statement gives to D1, and how many values it binds. */
function sourceOf(make: (db: D1Database, values: never) => unknown): { text: string; values: number } {
  let [text, values] = ["", 0];
  const bind = (...args: unknown[]) => {
    values = args.length;
  };
  const prepare = (sql: string) => {
    text = sql;
    return { bind };
  };
  make({ prepare } as never, {} as never);
  return { text, values };
}

describe("a compiled statement", () => {
  it("a compiled statement binds a value once, wherever its text has it", () => {
    const twice = statement<{ a: number; b: number }>((v) => sql`SELECT ${v.b}, ${v.a}, ${v.b}`);
    expect(sourceOf(twice)).toEqual({ text: "SELECT ?1,?2,?1", values: 2 });
  });

  it("a compiled statement keeps the blanks, the signs and the quotes of a string", () => {
    const text = sql`SELECT  'a  "b" ( = '' c ',  ${sql.identifier("seq")}  FROM ( SELECT 1 AS seq )`;
    expect(sourceOf(statement(() => text)).text).toBe(`SELECT 'a  "b" ( = '' c ',seq FROM(SELECT 1 AS seq)`);
  });

  it("a compiled statement refuses a value that is not a placeholder", () => {
    expect(() => statement(() => sql`SELECT ${"value"}`)).toThrow(TypeError);
  });

  it("D1 prepares each compiled statement", async () => {
    vi.resetModules();
    const sources: ReturnType<typeof sourceOf>[] = [];
    vi.doMock("../../../src/core/store/statement.ts", async (original) => {
      const real = await original<typeof import("../../../src/core/store/statement.ts")>();
      return {
        ...real,
        statement(write: Parameters<typeof real.statement>[0]) {
          const result = real.statement(write);
          sources.push(sourceOf(result));
          return result;
        },
      };
    });
    for (const load of Object.values(MODULES)) await load();
    vi.doUnmock("../../../src/core/store/statement.ts");
    vi.resetModules();
    expect(sources.length).toBeGreaterThan(60);
    for (const { text, values } of sources) {
      const query = env.DB.prepare(`EXPLAIN ${text}`).bind(...Array<null>(values).fill(null));
      await expect(query.all(), text).resolves.toBeDefined();
    }
  });
});
