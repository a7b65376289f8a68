import { getTableConfig } from "drizzle-orm/sqlite-core";
import { describe, expect, it } from "vitest";
import { SITE_TABLES } from "../../../src/operators/store/site-tables.ts";
import { TABLES } from "../../support/tables.ts";

/** Tables with a site_id column that are not in SITE_TABLES, each with what happens to its rows when the site ends. */
const OTHERS = {
  home_sites: "the site itself, which goes last",
  site_deletions: "stays: a restore must not bring the site back",
  audit_log: "stays",
  app_routes: "in the directory: the appids are kept for 31 days",
  admin_tokens: "in the directory: deleted when nothing is left of the site",
  people: "in the directory: ended when nothing is left of the site",
  site_metrics: "in the directory: deleted when nothing is left of the site",
  erasure_receipts: "in the directory: deleted when nothing is left of the site",
};

describe("SITE_TABLES", () => {
  it("every table with a site_id is deleted at the site's end or is listed here with the reason", () => {
    const withSite = TABLES.filter(({ columns }) => columns.some(({ name }) => name === "site_id")).map(
      ({ name }) => name,
    );
    expect([...Object.keys(SITE_TABLES), ...Object.keys(OTHERS)].sort()).toEqual(withSite.sort());
  });

  it.each(Object.entries(SITE_TABLES))(
    "SITE_TABLES has the key columns of %s that follow site_id",
    (name, { table, key }) => {
      const { name: tableName, primaryKeys } = getTableConfig(table);
      const columns = primaryKeys[0]?.columns.map((column) => column.name);
      expect([tableName, ...key.map((column) => column.name)]).toEqual([name, ...(columns ?? []).slice(1)]);
    },
  );

  it("SITE_TABLES lists a table before the tables that it refers to", () => {
    const order = Object.keys(SITE_TABLES);
    for (const { table } of Object.values(SITE_TABLES)) {
      const { name, foreignKeys } = getTableConfig(table);
      for (const { reference } of foreignKeys) {
        const other = getTableConfig(reference().foreignTable).name;
        if (other !== "home_sites") expect(order.indexOf(name)).toBeLessThan(order.indexOf(other));
      }
    }
  });
});
