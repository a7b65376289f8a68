import { describe, expect, it } from "vitest";

interface Schema {
  properties?: Record<string, Schema>;
}

const PAGES = import.meta.glob("../docs/**/*.md", { query: "?raw", import: "default", eager: true });
const [WRANGLER = ""] = Object.values(
  import.meta.glob("../node_modules/wrangler/config-schema.json", {
    query: "?raw",
    import: "default",
    eager: true,
  }),
);

/** The settings of observability in the pages' blocks of TOML, each as a path such as `traces.enabled`. */
const SETTINGS = Object.entries(PAGES).flatMap(([path, text]) =>
  [...String(text).matchAll(/^```toml\n(.*?)^```$/gms)].flatMap(([, block = ""]) =>
    [...block.matchAll(/^\[(?:env\.\w+\.)?observability((?:\.\w+)*)\]\n((?:(?!\[).*\n)*)/gm)].flatMap(
      ([, table = "", lines = ""]) =>
        [...lines.matchAll(/^(\w+) =/gm)].map(([, name]) => ({ path, setting: `${table}.${name}`.slice(1) })),
    ),
  ),
);

describe("settings of observability in the pages", () => {
  it("the installed wrangler knows each setting of observability that a page has to copy", () => {
    const { definitions } = JSON.parse(WRANGLER) as { definitions: { Observability: Schema } };
    const isKnown = (setting: string) =>
      setting
        .split(".")
        .reduce<Schema | undefined>((schema, name) => schema?.properties?.[name], definitions.Observability) !==
      undefined;
    expect(SETTINGS.map(({ setting }) => setting)).toEqual(expect.arrayContaining(["traces.enabled", "logs.enabled"]));
    expect(SETTINGS.filter(({ setting }) => !isKnown(setting))).toEqual([]);
  });
});
